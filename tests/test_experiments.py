"""The experiment notebooks: bad parameters, interrupted runs, the same files again."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from dueling import Result, Utilities, bernoulli, deterministic
from dueling.engine import compiled
from edition import notebooks, run, store, tables
from edition.release import again

ROOT = Path(__file__).parents[1]

NAMES = ["book/tour", *(n for n in notebooks.notebooks(ROOT) if n.startswith("book/experiments/"))]
SIMULATING = [n for n in NAMES if not n.endswith(("/claims", "/linear"))]


# --- parameters


def begin(name, **given):
    """Run a notebook up to the cell that checks its parameters, with some of them given."""
    namespace = {"__name__": "notebook", "In": [], "Out": {}}
    for cell in notebooks.code(notebooks.load(notebooks.source(ROOT, name))):
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


# --- stored results


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOK_PROFILE", raising=False)
    return tmp_path


def four(scenario="arith/linear", **changed):
    """Four small results, as a notebook stores them."""
    settings = {"T": 30, "runs": 3, "seed": 1, "workers": 1} | changed
    names = ("Sparring", "MultiSBM", "IF", "BTMB")
    return {a: store.stored("here", scenario, a, **settings).regret for a in names}


def files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_an_interrupted_run_continues_where_it_stopped(checkout, monkeypatch):
    played, real = [], store.simulate

    def stops(scenario, algorithm, **settings):
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(algorithm)
        return real(scenario, algorithm, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(store, "simulate", stops)
        with pytest.raises(KeyboardInterrupt):
            four()
    first = files(tables.folder())
    assert len(first) == 2, "what was done is kept, and nothing half done"
    monkeypatch.setattr(store, "simulate", lambda *a, **k: played.append(a[1]) or real(*a, **k))
    assert len(four()) == 4 and played == ["Sparring", "MultiSBM", "IF", "BTMB"]
    assert first.items() <= files(tables.folder()).items()


def test_a_failed_run_leaves_the_last_good_result(checkout, monkeypatch):
    four()
    good = files(tables.folder())
    monkeypatch.setattr(store, "source", lambda *things: "another text")
    monkeypatch.setattr(store, "simulate", None)
    with pytest.raises(TypeError):
        four()
    assert files(tables.folder()) == good


def test_another_game_of_the_same_name_is_simulated_again(checkout):
    def game(bad):
        return Utilities([0.9, bad], name="mine")

    near, far = (four(scenario=game(bad))["MultiSBM"] for bad in (0.8, 0.1))
    assert not np.array_equal(near, far)
    again = four(scenario=game(0.8))["MultiSBM"]
    assert np.array_equal(again, near)


def test_another_law_of_the_utilities_is_another_game(checkout):
    """The same duels, but another utility of the chosen arm."""
    settings = {"T": 30, "runs": 3, "workers": 1, "regret": "choice", "compiled": False}
    sure, random = (
        store.stored("here", Utilities([0.9, 0.2], law=law, name="mine"), "IF", **settings).regret
        for law in (deterministic, bernoulli)
    )
    assert (random < sure).all()


def test_what_is_kept_is_part_of_a_result(checkout):
    four()
    settings = {"T": 30, "runs": 3, "seed": 1, "workers": 1}
    more = store.stored("here", "arith/linear", "IF", keep=("regret", "plays"), **settings)
    assert more.plays.sum() == 3 * 30


def test_the_sample_that_is_simulated_again(checkout, capsys):
    assert again.main([]) == 1 and "make book first" in capsys.readouterr().err
    four()
    store.stored("here", Utilities([0.9, 0.1], name="arith/linear"), "IF", T=30, runs=3, workers=1)
    assert len(again.named(tables.folder())) == 4, "a game of the reader's own is left out"
    assert again.main([]) == 0 and "4 of 4 results" in capsys.readouterr().out
    assert again.main(["--rounds", "100"]) == 0 and "1 of 1 results" in capsys.readouterr().out
    (tables.folder() / "here" / "broken.npz").write_bytes(b"no")
    path = again.named(tables.folder())[0]
    found = Result.load(path)
    Result(found.checkpoints, {"regret": found.regret + 1e-9}, found.about).save(path)
    assert again.main([]) == 1 and "does not come out again" in capsys.readouterr().err


# --- whole notebooks


def alone(root, name):
    """A book of this one notebook, with the smoke profile."""
    (root / name).parent.mkdir(parents=True)
    (root / "_toc.yml").write_text(f"root: book/index\nchapters:\n  - file: {name}\n")
    smoke = notebooks.profile_parameters(ROOT, "smoke")[name]
    profiles = root / "book" / "profiles.yml"
    profiles.write_text(yaml.safe_dump({"full": {}, "smoke": {name: smoke}}))
    (root / "requirements.txt").touch()
    shutil.copy(notebooks.source(ROOT, name), notebooks.source(root, name))
    return root


@pytest.mark.built
def test_the_smoke_profile_gives_the_same_files_again(tmp_path, monkeypatch):
    monkeypatch.delenv("BOOK_PROFILE", raising=False)
    name, results = "book/experiments/beyond", []
    for workers in ("1", "2"):
        root = alone(tmp_path / workers, name)
        words = ["--root", str(root), "--profile", "smoke", "-p", name, "workers", workers]
        assert run.main(words) == 0
        results.append(files(root / "_build" / "results-smoke"))
    assert results[0] == results[1] and len(results[0]) > 50


def test_papermill_stops_at_a_bad_parameter(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("BOOK_PROFILE", raising=False)
    root = alone(tmp_path, "book/experiments/beyond")
    words = ["--root", str(root), "--profile", "smoke", "-p", "book/experiments/beyond", "runs"]
    assert run.main([*words, "0"]) == 1
    said = capsys.readouterr().err
    assert "failed in code cell 2" in said and "runs is 0; it must be a whole number >= 2" in said
    assert not (root / "_build" / "results-smoke").exists()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_offers_for_download_it_writes(name):
    cells = notebooks.load(notebooks.source(ROOT, name))["cells"]
    code = "\n".join(c["source"] for c in cells if c["cell_type"] == "code")
    prose = "\n".join(c["source"] for c in cells if c["cell_type"] == "markdown")
    for file in re.findall(r"/_build/results/([\w./-]+)\.(?:csv|json)", prose):
        assert f'"{file}"' in code


# --- what a page tells a reader first

CHAPTERS = [n for n in notebooks.notebooks(ROOT) if "/back/" not in n]
HEAD = (
    r"you need:?\*",
    r"you will know:?\*",
    r"\*(?:Reading )?time:?\*:?[^.]*(?:minutes|hour)",
    r"\*The short path\* \(\w+ minutes\):",
)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_page_says_what_it_needs_what_it_gives_how_long_it_takes_and_a_short_path(name):
    opening = notebooks.load(notebooks.source(ROOT, name))["cells"][0]["source"]
    assert [words for words in HEAD if not re.search(f"(?i){words}", opening)] == []
