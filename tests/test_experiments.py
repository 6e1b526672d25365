"""The experiment notebooks: bad parameters, interrupted runs, the same files again."""

import sys
from pathlib import Path

import pytest

from dueling import compiled

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import execute  # noqa: E402

NAMES = ["book/tour", *(n for n in execute.notebooks(ROOT) if n.startswith("book/experiments/"))]
SIMULATING = [n for n in NAMES if not n.endswith("/claims")]


# --- parameters


def begin(name, **given):
    """Run a notebook up to the cell that checks its parameters, with some of them given."""
    namespace = {"__name__": "notebook", "In": [], "Out": {}}
    for cell in execute.code(execute.load(execute.source(ROOT, name))):
        exec(cell["source"], namespace)
        if "parameters" not in cell["metadata"].get("tags", []):
            return namespace
        namespace |= given


@pytest.fixture
def no_work(monkeypatch):
    """Any game that is played fails the test."""

    def started(*_):
        raise AssertionError("work started")

    monkeypatch.setattr(compiled, "run", started)


@pytest.mark.parametrize("name", SIMULATING)
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"runs": 0}, "runs is 0; it must be a whole number >= "),
        ({"runs": 2.5}, "runs is 2.5; it must be a whole number >= "),
        ({"workers": -1}, "workers is -1; it must be a whole number >= 1"),
        ({"seed": "x"}, "seed is 'x'; it must be a whole number >= 0"),
        ({"runz": 9}, "runz is not a parameter of this notebook: .*runs"),
    ],
)
def test_a_bad_parameter_stops_at_once(name, given, sentence, no_work):
    with pytest.raises(ValueError, match=sentence):
        begin(name, **given)


@pytest.mark.parametrize("name", SIMULATING)
def test_good_parameters_become_whole(name, no_work):
    assert type(begin(name, runs=30.0)["runs"]) is int


def test_a_bad_horizon_is_named(no_work):
    with pytest.raises(ValueError, match=r"horizon is 1\.5; it must be a whole number >= 64"):
        begin("book/experiments/figure", horizon=1.5)
