"""Paired comparisons, Holm's correction, the paper's three sentences; what the notebooks share."""

import os
import platform
import shutil
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from conftest import Ten
from scipy import stats

import dueling
from dueling import (
    ALGORITHMS,
    UCB,
    Preferences,
    Result,
    Sparring,
    Uniform,
    Utilities,
    compare,
    simulate,
)
from dueling.engine import comparison
from dueling.engine.comparison import holm, paired, signs
from edition import backmatter, notebook, place, store, tables
from edition.sentences import sentences, tally, verdict


def test_paired_is_the_paired_t_test():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=30), rng.normal(size=30)
    mean, p = paired(a, b)
    assert mean == pytest.approx((a - b).mean()) and p == pytest.approx(
        stats.ttest_rel(a, b).pvalue
    )
    assert paired(a, a) == (0.0, 1.0)
    assert paired(a + 1, a) == (pytest.approx(1.0), pytest.approx(0.0))
    assert paired([3.0, 3.0], [1.0, 1.0]) == (2.0, 0.0)  # no spread at all


def test_holm_steps_down_and_stops():
    assert holm([0.001, 0.02, 0.004, 0.9], level=0.01).tolist() == [True, False, False, False]
    assert holm([0.001, 0.003, 0.9], level=0.01).tolist() == [True, True, False]


@pytest.mark.parametrize("level", [0, 1, 1.01, -0.5, float("nan"), None])
def test_the_level_is_a_probability_of_error(level):
    for decide in (lambda: holm([0.5], level), lambda: signs({"s": {"a": [1, 2]}}, level)):
        with pytest.raises(
            ValueError, match=rf"^level is {level!r}; it must be a number in \(0, 1"
        ):
            decide()


def test_one_in_a_hundred_families_errs_by_default():
    """Without a level: 0.01, of which three comparisons share the first third."""
    assert holm([0.0033, 0.0034, 1]).tolist() == [True, True, False]
    assert holm([0.0034, 0.0034, 1]).tolist() == [False, False, False]
    runs = {"a": [1, 0, 1, 1, 1], "b": [0, 0, 0, 0, 0]}  # p = 0.016
    assert signs({"s": runs})["s", "a", "b"] == 0 and signs({"s": runs}, 0.02)["s", "a", "b"] == 1
    results = {("s", a): Result([1], {"regret": np.array([r]).T}, {}) for a, r in runs.items()}
    both = comparison.Comparison(results)
    assert both.signs()["s", "a", "b"] == 0 and both.signs(0.02)["s", "a", "b"] == 1


def test_the_three_sentences():
    rng = np.random.default_rng(2)
    level = {"Sparring": 1, "MultiSBM": 2, "IF": 3, "Doubler": 4, "BTMB": 5}
    clear = {a: v + 0.1 * rng.normal(size=50) for a, v in level.items()}
    swapped = clear | {"IF": clear["IF"] - 2.5}
    blurred = {a: v + 100 * rng.normal(size=50) for a, v in level.items()}
    found = signs({"clear": clear, "swapped": swapped, "blurred": blurred})
    assert sentences(found, "clear") == {"R1": "holds", "R2": "holds", "R3": "holds"}
    assert sentences(found, "swapped") == {"R1": "fails", "R2": "holds", "R3": "fails"}
    assert sentences(found, "blurred") == {"R1": "open", "R2": "open", "R3": "open"}
    assert verdict([-1, 0]) == "open"
    counts = tally({"clear": clear, "swapped": swapped, "blurred": blurred})
    assert counts["R1"] == {"holds": 1, "open": 1, "fails": 1}
    assert counts["R2"] == {"holds": 2, "open": 1, "fails": 0}


# Several algorithms on several games

GAMES = ["arith/linear", Utilities([0.9, 0.1], name="clear")]


@pytest.fixture(scope="module")
def several():
    return compare(GAMES, ["MultiSBM", Uniform()], T=300, runs=12, compiled=False, workers=1)


def test_a_comparison_is_what_simulate_gives(several):
    """With common random numbers: the runs do not know of each other."""
    alone = simulate(GAMES[1], Uniform(), 300, 12, compiled=False)
    assert np.array_equal(several["clear", "Uniform"].regret, alone.regret)
    pairs = [
        (g, a) for g in ("arith/linear", "clear") for a in ("MultiSBM(UCB, alpha=3)", "Uniform")
    ]
    assert list(several.results) == pairs


def test_the_trial_of_a_comparison_shows_no_progress(capsys):
    compare(GAMES, [Uniform()], T=30, runs=2, compiled=False, workers=1, progress=False)
    assert capsys.readouterr().err == ""


def test_the_table_of_a_comparison(several):
    frame = several.to_frame()
    assert list(frame) == ["game", "algorithm", "regret", "error", "median", "worst", "place"]
    result = several["clear", "Uniform"]
    row = frame[(frame["game"] == "clear") & (frame["algorithm"] == "Uniform")].iloc[0]
    assert row["regret"] == result.mean()[-1] and row["error"] == result.error()[-1]
    assert row["median"] == np.median(result.regret[:, -1])
    assert row["worst"] == result.regret[:, -1].max()
    assert frame["place"].tolist() == [1, 2, 1, 2]  # both games tell them apart
    head, *lines = repr(several).splitlines()
    assert head.split() == list(frame) and len(lines) == 4
    assert lines[3].split()[:2] == ["clear", "Uniform"] and lines[3].split()[-1] == "2"
    assert several._repr_html_().count("<tr>") == 5 and "<td>clear</td>" in several._repr_html_()


def test_the_signs_of_a_comparison(several):
    final = several.final()
    assert several.signs() == signs(final)
    assert several.signs()["clear", "MultiSBM(UCB, alpha=3)", "Uniform"] == -1
    assert set(several.signs(level=1e-300).values()) == {0}


def test_the_plot_of_a_comparison(several):
    left, right = several.plot()
    assert (left.get_title(), right.get_title()) == ("arith/linear", "clear")
    assert [len(ax.lines) for ax in (left, right)] == [2, 2] and left.get_legend()
    again = several.plot([left, right], band=None)
    assert len(left.lines) == 4 and len(left.collections) == 2 and again[0] is left


def test_one_game_and_one_algorithm_are_welcome():
    one = compare("YJ", "IF", T=20, runs=2, compiled=False)
    assert (
        repr(one).splitlines()[1].startswith("YJ    IF2(scale=4)") and one.rows()[0]["place"] == 1
    )


@pytest.mark.parametrize(
    "algorithms", [ALGORITHMS, ALGORITHMS.values(), (name for name in ALGORITHMS)]
)
def test_several_algorithms_may_come_in_any_collection(algorithms):
    rows = compare("YJ", algorithms, T=20, runs=2, compiled=False).rows()
    assert [row["algorithm"] for row in rows] == [repr(a) for a in ALGORITHMS.values()]


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: compare("YJ", ["IF", "IF"]),
            r"IF2\(scale=4\) on YJ is there twice; give each its",
        ),
        (lambda: compare("YJ", ["IF", "Thompson"]), "algorithm is the machine Thompson"),
        (lambda: compare(["YJ", "yj"], "IF"), "scenario is 'yj'; did you mean"),
        (lambda: compare("YJ", "IF", runs=1), "runs is 1; it must be a whole number >= 2"),
        (lambda: compare("YJ", "IF", regret="none"), "holds plays, but no regret"),
        (lambda: compare(["YJ"], "IF", regret="average"), "regret is 'average'; did you mean"),
        (lambda: compare(np.eye(3), "IF"), "scenario is an array"),
    ],
)
def test_a_mistake_shows_before_the_first_pair_is_played(call, words, monkeypatch):
    def trial(game, algorithm, T, runs, *rest, **options):
        assert runs == 1 and T <= 40, "work started"
        return simulate(game, algorithm, T, runs, *rest, **options | {"compiled": False})

    monkeypatch.setattr(comparison, "simulate", trial)
    with pytest.raises(ValueError, match=words):
        call()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "book").mkdir()
    monkeypatch.chdir(tmp_path / "book")
    monkeypatch.delenv("BOOK_PROFILE", raising=False)
    return tmp_path


def test_results_go_to_the_checkout_by_profile(checkout, monkeypatch):
    assert tables.folder() == checkout / "_build" / "results"
    monkeypatch.setenv("BOOK_PROFILE", "smoke")
    assert tables.folder() == checkout / "_build" / "results-smoke"


def test_a_table_comes_back(checkout):
    tables.write("t", {"name": ["a", "b,c"], "value": np.array([0.1, 2.0])}, {"what": "x"})
    back = tables.read("t")
    assert back["name"].tolist() == ["a", "b,c"] and back["value"].tolist() == [0.1, 2.0]
    assert '"what": "x"' in (tables.folder() / "t.json").read_text()


def test_a_table_that_is_not_there_yet_is_named_with_what_writes_it(checkout):
    with pytest.raises(place.Refusal, match=r"There is no t.csv in results yet: make book"):
        tables.read("t")
    shutil.copy(Path(__file__).parents[1] / "_toc.yml", checkout)
    with pytest.raises(place.Refusal, match=r"There is no ledgers/game.json in results yet"):
        backmatter.ledgers()


def stored(**changed):
    settings = {"T": 30, "runs": 3, "seed": 1, "workers": 1} | changed
    return store.stored("here", "arith/linear", "IF", **settings)


def test_a_stored_result_is_not_simulated_again(checkout, monkeypatch):
    first = stored()
    with monkeypatch.context() as patch:
        patch.setattr(store, "simulate", None)
        assert np.array_equal(stored(workers=2).regret, first.regret)
        with pytest.raises(TypeError):
            stored(seed=2)
        patch.setattr(store, "source", lambda *things: "another text")
        with pytest.raises(TypeError):
            stored()


@pytest.mark.parametrize(
    ("module", "name", "value", "again"),
    [
        (platform, "python_version_tuple", ("3", "99", "0"), True),
        (platform, "python_version", "3.11.99", False),  # another patch of this Python
        (store, "provenance", {"versions": {"numpy": "0"}}, True),
    ],
)
def test_a_stored_result_is_of_these_versions(checkout, monkeypatch, module, name, value, again):
    stored()
    with monkeypatch.context() as patch:
        patch.setattr(store, "simulate", None)
        patch.setattr(module, name, lambda *words: value)
        with pytest.raises(TypeError) if again else nullcontext():
            stored()


class Mine(Uniform):
    """An algorithm of the reader's own."""


@pytest.mark.parametrize("own", [Ten, lambda K, rng: UCB(K, rng), partial(Ten)])
def test_a_machine_of_the_readers_own_is_not_stored(checkout, own):
    """Two texts of one name would share a file."""
    for algorithm in (Sparring(own), Sparring(UCB, right=own), Mine()):
        with pytest.raises(ValueError, match="to be stored it must be one of the package, and so"):
            store.stored("here", "YJ", algorithm, T=30, runs=3, workers=1)
    later = Sparring(UCB, right=partial(UCB, alpha=1))
    assert (
        len(store.stored("here", "YJ", later, T=30, runs=3, workers=1, compiled=False).regret) == 3
    )


class Scored(Preferences):
    """A game of the reader's own: a table of the package, and another measure."""

    def measure(self, game, regret=None):
        return {"regret": 2 * super().measure(game, regret)["regret"]}


def test_a_game_of_the_readers_own_is_not_stored(checkout):
    """Two measures of one table and name would share a file."""
    own = Scored([[0.5, 0.4], [0.6, 0.5]], name="game")
    words = r"scenario is Scored\(game: .*\); to be stored it must be one of the package"
    with pytest.raises(ValueError, match=words):
        store.stored("here", own, "IF", T=30, runs=3, workers=1, compiled=False)


SOURCES = """
import sys
from dueling import Sparring, UCB, scenario
from edition import store
from pathlib import Path
import dueling
print(Path(dueling.__file__).parents[1])
print(store.source(scenario("YJ"), Sparring(UCB)), store.source("YJ", "Sparring"))
"""


def test_a_file_of_a_copy_that_is_edited_changes_the_source(tmp_path):
    """Of the text that decides a simulation; not of hints, and not of pages."""
    root = Path(dueling.__file__).parents[1]
    for package in ("dueling", "edition"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / package, tmp_path / package, ignore=ignored)

    def source(edited=None):
        if edited:
            with (tmp_path / edited).open("a") as file:
                file.write("# edited\n")
        command = [sys.executable, "-c", SOURCES]
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        folder, *sums = done.stdout.split()
        assert Path(folder) == tmp_path
        return sums

    (first, named), (other, also_named) = source(), source("dueling/machines.py")
    assert first != other and named != also_named and first != named
    engine = source("dueling/engine/blocks.py")
    assert other != engine[0] and also_named != engine[1]
    experiment = source("dueling/section7.py")
    assert experiment[0] == engine[0] and experiment[1] != engine[1]  # it says what a name means
    for file in ("engine/hints", "engine/simulation", "engine/comparison", "later/battle"):
        with (tmp_path / "dueling" / f"{file}.py").open("a") as text:
            text.write("# edited\n")
    assert source("dueling/__init__.py") == source("edition/stills.py") == experiment


def test_another_default_of_simulate_makes_another_file(checkout, monkeypatch):
    stored()
    monkeypatch.setitem(store.USUAL, "permute", False)
    monkeypatch.setattr(store, "simulate", None)
    with pytest.raises(TypeError):
        stored()


@pytest.mark.parametrize("folder", ["..", "../there", "a/../../there", "/there"])
def test_nothing_is_stored_outside_of_the_results(checkout, folder):
    with pytest.raises(ValueError, match=f"name is '{folder}/.*; it must lead to a file inside"):
        store.stored(folder, "YJ", "IF", T=30, runs=3, workers=1)
    assert not (checkout / "_build").exists()


def test_a_name_with_dots_and_slashes_stays_inside_the_folder(checkout):
    climbing = Preferences([[0.5, 0.4], [0.6, 0.5]], name="../../up")
    store.stored("here", climbing, "IF", T=30, runs=3, workers=1, compiled=False)
    (path,) = (path for path in checkout.rglob("*") if path.suffix == ".npz")
    assert path.parent == tables.folder() / "here"


def test_a_broken_file_is_simulated_again(checkout):
    first = stored()
    (path,) = (tables.folder() / "here").iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert np.array_equal(stored().regret, first.regret)
    assert Result.load(path).arrays.keys() == {"regret"}


def test_two_executions_store_the_same_bytes(checkout):
    stored()
    (path,) = (tables.folder() / "here").iterdir()
    bytes_ = path.read_bytes()
    path.unlink()
    stored()
    assert path.read_bytes() == bytes_


def test_style_is_set():
    with mpl.rc_context():
        notebook.style()
        assert mpl.rcParams["axes.grid"]
        assert not mpl.rcParams["axes.spines.top"] and not mpl.rcParams["axes.spines.right"]
    assert len(store.source()) == 64
