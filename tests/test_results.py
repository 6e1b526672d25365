"""Result: what it holds, one small file, whole or refused."""

import io
import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from functools import partial
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import Ten, other_checkout, plain, same

from dueling import (
    BTMB,
    UCB,
    Algorithm,
    Cardinal,
    Doubler,
    MultiSBM,
    Preferences,
    Result,
    Single,
    Sparring,
    Utilities,
    bernoulli,
    logit,
    scenario,
    simulate,
)
from dueling.engine import provenance, results
from dueling.reductions import sparring
from dueling.structured import Box, ConfidenceBall1, LinearDoubler, LinearUtilities
from edition import sums


@pytest.fixture(scope="module")
def result():
    return plain("arith/linear", "Sparring", T=100, runs=4, realised=True)


# Counts and statistics


def test_statistics_by_hand(result):
    assert np.array_equal(result.mean(), result.regret.mean(axis=0))
    want = [np.std(column, ddof=1) / 2 for column in result.regret.T]
    assert np.allclose(result.error(), want)
    assert result.regret.shape == result.realised.shape == (4, 8)
    assert result.checkpoints.tolist() == [1, 2, 4, 8, 16, 32, 64, 100]


def test_one_run_has_no_standard_error():
    one = plain("YJ", "IF", runs=1)
    with pytest.raises(ValueError, match="runs is 1; it must be at least 2 for a standard error"):
        one.error()
    assert re.fullmatch(r"IF2.* on YJ: 1 run, T = 40, regret [\d.]+, median .*", repr(one))


def test_quantiles(result):
    assert np.array_equal(result.quantile(0.5), np.median(result.regret, axis=0))
    assert np.array_equal(result.quantile([0, 1])[1], result.regret.max(axis=0))
    for q in (-0.1, 1.5, np.nan, "half", [0.1, 2]):
        with pytest.raises(ValueError, match=r"q is .*; it must be a number in \[0, 1\]"):
            result.quantile(q)


# How it looks


def shown(**curves):
    """A result of two runs over T = 1000 with these curves."""
    about = {"algorithm": "Mine", "scenario": "a <game>", "T": 1000}
    arrays = {name: np.array(curve, float) for name, curve in curves.items()}
    return Result(np.array([10, 1000]), arrays, about)


def test_a_line_says_it_all():
    line = "Mine on a <game>: 2 runs, T = 1000, regret 1340 ± 5, median 1340, worst 1345"
    assert repr(shown(regret=[[1, 1335], [2, 1345]])) == line
    assert (
        repr(shown(plays=[[1], [2]])) == "Mine on a <game>: 2 runs, T = 1000, no regret, but plays"
    )
    early = Result(np.array([10]), {"regret": np.array([[0.25], [0.35]])}, {"T": 1000})
    assert repr(early).endswith("regret 0.3 ± 0.05, median 0.3, worst 0.35 at t = 10")


def test_a_notebook_shows_the_line_and_a_curve():
    text = shown(regret=[[1, 1335], [2, 1345]])._repr_html_()
    drawn = ElementTree.fromstring(text)
    assert "Mine on a <game>: 2 runs" in drawn.text
    svg = drawn.find("svg")
    assert svg.get("role") == "img" and "Mean regret" in svg.get("aria-label")
    points = [p.split(",") for p in svg.find("polyline").get("points").split()]
    (x0, y0), (x1, y1) = np.array(points, float)
    assert (x0, x1) == (0, 240) and y1 < 1 < 59 < y0  # up and to the right
    assert shown(plays=[[1], [2]])._repr_html_().endswith("no regret, but plays")


def test_a_curve_of_one_point_or_no_height_is_drawn():
    flat = Result(np.array([5]), {"regret": np.zeros((2, 1))}, {})
    assert "nan" not in flat._repr_html_()


def test_a_table_for_pandas(result):
    frame = result.to_frame()
    assert list(frame) == ["scenario", "algorithm", "run", "t", "regret", "realised"]
    assert len(frame) == 4 * 8 and set(frame["scenario"]) == {"arith/linear"}
    last = frame[frame["t"] == 100]
    assert last["run"].tolist() == [0, 1, 2, 3]
    assert np.array_equal(last["regret"], result.regret[:, -1])


def test_a_plot_is_the_mean_in_a_band(result):
    ax = result.plot(band=(0.25, 0.75), color="red")
    (line,) = ax.lines
    assert np.array_equal(line.get_ydata(), result.mean()) and line.get_color() == "red"
    low, high = result.quantile((0.25, 0.75))
    edge = ax.collections[0].get_paths()[0].vertices
    assert edge[:, 1].max() == high.max() and edge[:, 1].min() == low.min()
    assert result.plot(ax, band=None) is ax and len(ax.lines) == 2 and len(ax.collections) == 1
    assert ax.get_xscale() == "log" and line.get_label() == "Sparring(UCB, alpha=3)"
    for one in (0.1, (0.1, 0.5, 0.9)):
        with pytest.raises(ValueError, match=r"band is .*; it must be two shares of the runs"):
            result.plot(ax, band=one)


@pytest.mark.parametrize(
    "module, call", [("pandas", Result.to_frame), ("matplotlib.pyplot", Result.plot)]
)
def test_what_is_not_installed_is_asked_for(result, monkeypatch, module, call):
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(ImportError, match=f"needs {name}, which is not installed; pip install"):
        call(result)


def test_pulls_and_advances(result):
    duels = result.plays.sum(axis=1)
    assert np.array_equal(result.advances, duels.sum(axis=2))
    assert np.array_equal(result.pulls, duels.sum(axis=2) + duels.sum(axis=1))
    assert (result.pulls.sum(axis=1) == 200).all()


def test_pulls_of_a_cardinal_bandit():
    result = plain(Cardinal([0.5, 0.4]), Single(UCB), T=30, runs=2)
    assert (result.pulls.sum(axis=1) == 30).all() and result.pulls.shape == (2, 2)
    with pytest.raises(ValueError, match="a cardinal bandit's result: no left arms; see its pulls"):
        result.advances.sum()


def test_what_was_not_asked_for_is_not_there():
    result = plain("arith/linear", "Sparring", T=10, runs=2)
    with pytest.raises(ValueError, match=r"holds .*but no realised; simulate\(.*realised=True"):
        result.realised.sum()
    with pytest.raises(ValueError, match="holds regret, but no plays"):
        Result(result.checkpoints, {"regret": result.regret}, {}).pulls.sum()


# Files


def test_round_trip(result, tmp_path):
    path = result.save(tmp_path / "deep" / "file.npz")
    back = Result.load(path)
    assert same(result, back) and back.about == result.about
    assert path.stat().st_size < 10_000


def test_results_may_be_sought_and_collected(result, tmp_path):
    """Arrays have no one truth: a result is itself alone."""
    back = Result.load(result.save(tmp_path / "file.npz"))
    assert result not in [back] and result in [back, result] and len({result, back}) == 2


def test_any_name_is_kept(result, tmp_path):
    path = result.save(str(tmp_path / "no suffix"))
    assert path.name == "no suffix" and same(result, Result.load(str(path)))


def test_the_same_result_gives_the_same_bytes(result, tmp_path):
    again = plain("arith/linear", "Sparring", T=100, runs=4, realised=True, chunk=1)
    one, two = result.save(tmp_path / "1"), again.save(tmp_path / "2")
    assert one.read_bytes() == two.read_bytes()


def test_about_holds_the_provenance(result):
    about = json.loads(json.dumps(result.about))
    assert about["scenario"] == "arith/linear" and about["algorithm"] == "Sparring(UCB, alpha=3)"
    assert (about["T"], about["runs"], about["seed"]) == (100, 4, 2014)
    assert (about["regret"], about["permute"], about["common"]) == ("average", True, True)
    assert about["realised"] is True
    assert about["parameters"] == {"alpha": 3.0, "ties": "random"}  # the default is told too
    assert about["digest"] == scenario("arith/linear").digest
    assert set(about["versions"]) >= {"dueling", "numpy", "numba", "scipy"}
    assert about["python"].count(".") == 2 and about["machine"]
    assert about["commit"] == "unknown" or len(about["commit"].removesuffix("-edited")) == 40


@pytest.mark.parametrize(
    "game, algorithm, told",
    [
        (Utilities([0.8, 0.3], logit, bernoulli), "IF", {"link": "logit", "law": "bernoulli"}),
        (Preferences([[0.5, 0.2], [0.8, 0.5]]), "IF", {"P": [[0.5, 0.2], [0.8, 0.5]]}),
        (Cardinal([0.8, 0.3]), Single(UCB), {"mu": [0.8, 0.3]}),
        (
            LinearUtilities(Box([-1, 0], [1, 1]), [0.2, 0.1], 0.4),
            LinearDoubler(ConfidenceBall1),
            {"link": "linear", "mu": [0.2, 0.1], "offset": 0.4, "low": [-1.0, 0.0]},
        ),
    ],
)
def test_a_reader_s_own_game_is_in_its_file(game, algorithm, told, tmp_path):
    about = Result.load(plain(game, algorithm, T=5, runs=1).save(tmp_path / "r")).about
    assert about["game"].items() >= told.items()


def test_all_parameters_are_told():
    def of(algorithm):
        return algorithm.settings()

    assert of(Sparring(UCB, right=partial(UCB, alpha=1)))["right"]["alpha"] == 1
    assert of(LinearDoubler(ConfidenceBall1))["memory"] == "average"
    assert of(Doubler(Ten)) == {} and of(BTMB())["scale"] == 3.0
    assert of(Doubler(lambda K=2, rng=None, x=1: Ten(K, rng))) == {
        "x": 1
    }  # K and rng are the run's


def test_a_partial_is_called_by_its_function_and_settings():
    def maker(K, rng, scale=1.0):
        return Ten(K, rng)

    wide = partial(maker, scale=2.0)
    assert str(Doubler(wide)) == "Doubler(maker, scale=2)"
    assert str(Doubler(wide, scale=3)) == "Doubler(maker, scale=3)"
    assert str(Sparring(UCB, right=partial(UCB, alpha=1))) == "Sparring(UCB, UCB(alpha=1))"
    assert str(Algorithm.of(sparring, wide, Ten)) == "sparring(maker(scale=2), Ten)"
    assert plain("YJ", Doubler(wide), T=20).about["algorithm"] == "Doubler(maker, scale=2)"


def test_provenance_holds_what_json_can():
    given = {"P": np.eye(2), "n": np.int64(3), "flag": np.True_, "f": json.dumps, "o": 1j}
    held = provenance.provenance(given)
    assert [held[k] for k in given] == [[[1.0, 0.0], [0.0, 1.0]], 3, True, "dumps", "1j"]


def test_flags_and_numbers_of_numpy_are_saved(tmp_path):
    result = plain("YJ", BTMB(scale=np.float64(2.5)), permute=np.True_, seed=np.int64(4))
    back = Result.load(result.save(tmp_path / "file")).about
    assert back["permute"] is True and back["parameters"]["scale"] == 2.5


def test_commit_is_unknown_without_git(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    assert provenance.commit(tmp_path) == "unknown"


def test_commit_is_not_that_of_a_checkout_around_the_package(tmp_path):
    """Installed into an environment that lies inside some other project's checkout."""
    git = other_checkout(tmp_path)
    assert provenance.commit(tmp_path) == "unknown"
    (tmp_path / "pyproject.toml").touch()
    subprocess.run((*git, "add", "pyproject.toml"), check=True)
    assert provenance.commit(tmp_path).endswith("-edited")


def test_a_package_that_is_not_installed_is_told_so():
    assert provenance._version("surely-no-such-package") == "not installed"
    assert provenance._version("numpy") == np.__version__


def npz(**arrays):
    np.savez(file := io.BytesIO(), **arrays)
    return file.getvalue()


def npy():
    np.save(file := io.BytesIO(), np.zeros(3))
    return file.getvalue()


def zipped():
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("a.txt", "b")
    return file.getvalue()


def head(*arrays):
    settings = {"scenario": "s", "algorithm": "a", "regret": "preference", "T": 1, "runs": 3}
    return np.array(json.dumps({"format": results.FORMAT, "arrays": arrays, **settings}))


ONE, CURVE = np.ones(1, int), np.ones((3, 1))
OLD = np.array(json.dumps({"format": "dueling result 0"}))
FOREIGN = {
    "text": b"run,regret\n1,2\n",
    "empty": b"",
    "pickle": pickle.dumps({"regret": [1.0]}),
    "npy": npy(),
    "zip": zipped(),
    "npz": npz(regret=np.zeros(3)),
    "other json": npz(about=np.array("[1, 2]"), checkpoints=np.ones(1)),
    "other format": npz(about=OLD, checkpoints=np.ones(1)),
    "objects": npz(about=np.array([{}], dtype=object)),
    "an array is missing": npz(about=head("plays", "regret"), checkpoints=ONE, regret=CURVE),
    "an array too many": npz(about=head("regret"), checkpoints=ONE, regret=CURVE, plays=ONE),
    "a curve too short": npz(about=head("regret"), checkpoints=np.arange(2), regret=CURVE),
}


def test_the_head_of_the_foreign_files_is_ours(tmp_path):
    """So those of them that miss an array are refused for that alone."""
    path = tmp_path / "ours"
    path.write_bytes(npz(about=head("regret"), checkpoints=ONE, regret=CURVE))
    assert np.array_equal(Result.load(path).regret, CURVE)


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_refused(kind, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(FOREIGN[kind])
    with pytest.raises(ValueError, match=r"foreign is not a whole result .*Result.load reads"):
        Result.load(path)


def forged(result, about=(), **arrays):
    """The result with some settings and arrays replaced; those of value None are left out."""
    held = {name: array for name, array in (result.arrays | arrays).items() if array is not None}
    rounds = held.pop("checkpoints", result.checkpoints)
    return Result(rounds, held, result.about | dict(about))


def moved(plays):
    """The plays with one duel of the first run moved to another pair of arms."""
    plays = plays.copy()
    pair = np.argwhere(plays[0])[0]
    plays[(0, *pair)] -= 1
    plays[0, 0, 5, 5] += 1
    return plays


FORGERIES = {
    "regret is int64; it must be float64": lambda r: {"regret": r.regret.astype(int)},
    "regret has shape .* at 8 checkpoints": lambda r: {"regret": r.regret[:, 1:]},
    "realised has shape .* there are 4 runs": lambda r: {"realised": r.realised[1:]},
    "regret has a number that is not finite": lambda r: {"regret": r.regret * np.nan},
    "average regret falls": lambda r: {"regret": r.regret[:, ::-1].copy()},
    "average regret falls ": lambda r: {"regret": np.c_[r.regret[:, :-1], r.regret[:, -2] - 0.5]},
    "regret is not that of the plays": lambda r: {"regret": r.regret * 0.9},
    "regret is not that of the plays ": lambda r: {"plays": moved(r.plays)},
    "plays is float64; it must be int64": lambda r: {"plays": r.plays * 1.0},
    "plays has a negative count": lambda r: {"plays": r.plays - 1},
    "plays of a run sum to 200; T is 100": lambda r: {"plays": r.plays * 2},
    "plays has shape": lambda r: {"plays": r.plays[:, 0]},
    "plays has 5 arms; its game has 6": lambda r: {"plays": r.plays[..., :5, :5]},
    "checkpoints are float64": lambda r: {"checkpoints": r.checkpoints * 1.0},
    "strictly increasing": lambda r: {"checkpoints": r.checkpoints[::-1].copy()},
    "exceed the horizon T = 50": lambda r: {"about": {"T": 50}},
    "T is '100'; it must be a whole": lambda r: {"about": {"T": "100"}},
    "there are 5 runs": lambda r: {"about": {"runs": 5}},
    "scenario is None; it must be a name": lambda r: {"about": {"scenario": None}},
    "regret is there, but its settings": lambda r: {"about": {"regret": "none"}},
    "realised is there, but its settings": lambda r: {"about": {"realised": False}},
    "it holds no array": lambda r: dict.fromkeys(r.arrays),
    "plays is of type <U1": lambda r: {"plays": np.full((4, 2, 6, 6), "x")},
}


@pytest.mark.parametrize("words", FORGERIES)
def test_a_forged_result_is_refused(result, words, tmp_path):
    path = forged(result, **FORGERIES[words](result)).save(tmp_path / "forged")
    with pytest.raises(ValueError, match=rf"is not a whole result .*\(.*{words.strip()}.*\); Res"):
        Result.load(path)


def test_regret_without_plays_lies_within_what_a_round_can_cost(tmp_path):
    """Of YJ, which has no utilities, with plays as well."""
    duels = plain("YJ", "Sparring", T=100, runs=4)
    utility = plain("arith/linear", "IF", T=100, runs=4)
    for result, kept, factor, words in (
        (utility, {"plays": None}, 1e9, "average regret is above 0.6"),
        (utility, {"plays": None}, -1, "average regret falls"),
        (duels, {"plays": None}, 1e9, "preference regret is above 0.5 a round"),
        (duels, {}, -1, "preference regret is negative"),
    ):
        path = forged(result, regret=result.regret * factor, **kept).save(tmp_path / "forged")
        with pytest.raises(ValueError, match=words):
            Result.load(path)
    path = forged(duels, regret=duels.regret - 1, plays=None).save(tmp_path / "forged")
    with pytest.raises(ValueError, match="preference regret is negative"):
        Result.load(path)


TABLES = ("preference", "copeland", "borda")


@pytest.mark.parametrize(
    ("game", "regret"), [*product(["YJ", "arith/logit"], TABLES), ("arith/logit", "average")]
)
def test_a_regret_that_its_plays_do_not_cost_is_refused(game, regret, tmp_path):
    result = plain(game, "Sparring", T=100, runs=4, regret=regret)
    assert Result.load(result.save(tmp_path / "true")).runs == 4
    path = forged(result, regret=result.regret / 2).save(tmp_path / "forged")
    with pytest.raises(ValueError, match="regret is not that of the plays"):
        Result.load(path)


def rewritten(path, change):
    """The file with some of its members changed, as another program would write them."""
    with np.load(path) as file:
        members = dict(file)
    path.write_bytes(npz(**members | change(members)))
    return path


def test_arrays_of_another_checksum_are_refused(result, tmp_path):
    """Half of a regret is a possible one; without plays nothing else tells."""
    path = forged(result, plays=None).save(tmp_path / "file")
    halved = rewritten(path, lambda members: {"regret": members["regret"] / 2})
    with pytest.raises(ValueError, match="its arrays are not those of its checksum"):
        Result.load(halved)


def test_a_file_from_before_there_were_checksums_is_read(result, tmp_path):
    def older(members):
        about = json.loads(str(members["about"]))
        assert len(about.pop("checksum")) == 64
        return {"about": np.array(json.dumps(about, sort_keys=True))}

    path = rewritten(result.save(tmp_path / "new.npz"), lambda members: {})
    before = sums.sum_of(path)
    assert sums.sum_of(rewritten(path, older)) == before
    back = Result.load(path)
    assert same(back, result) and "checksum" not in back.about


@pytest.mark.parametrize("kept", [["regret"], ["plays"], ["realised", "plays"]])
def test_a_part_of_a_result_is_no_forgery(result, kept, tmp_path):
    part = forged(result, **dict.fromkeys(set(result.arrays) - set(kept)))
    assert same(Result.load(part.save(tmp_path / "part")), part)


@pytest.mark.parametrize(
    "game, algorithm, options",
    [
        (Utilities([0.8, 0.3, 0.5], logit, bernoulli), "IF", {"regret": "choice"}),
        (Utilities([0.8, 0.3, 0.5], logit, bernoulli), "IF", {"regret": "preference"}),
        ("YJ", "BTMB", {"regret": "none"}),
        (Preferences([[0.6, 0.7], [0.5, 0.6]], biased=True), "IF", {}),
        (Cardinal([0.8, 0.3]), Single(UCB), {"checkpoints": [3, 20]}),
        (
            LinearUtilities(Box([-1, 0], [1, 1]), [0.2, 0.1], 0.4),
            LinearDoubler(ConfidenceBall1),
            {},
        ),
    ],
)
def test_every_kind_of_result_comes_back(game, algorithm, options, tmp_path):
    result = plain(game, algorithm, **options)
    assert same(Result.load(result.save(tmp_path / "r")), result)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match="is not a whole result"):
        Result.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        Result.load(tmp_path / "nothing")


def test_every_truncation_is_refused(result, tmp_path):
    path = result.save(tmp_path / "file")
    data = path.read_bytes()
    for length in [*range(0, len(data), 37), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match="is not a whole result"):
            Result.load(path)


def test_a_damaged_file_is_refused_or_read_as_it_was(result, tmp_path):
    path = result.save(tmp_path / "file")
    data = path.read_bytes()
    refused = 0
    for at in range(0, len(data) - 400, 11):  # the arrays; the directory of the zip comes after
        path.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
        try:
            assert same(Result.load(path), result)
        except ValueError as error:
            assert "is not a whole result" in str(error)
            refused += 1
    assert refused > 20


def test_an_interrupted_save_leaves_the_old_file(result, tmp_path, monkeypatch):
    path = result.save(tmp_path / "file")
    before = path.read_bytes()

    def interrupt(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupt)
    with pytest.raises(KeyboardInterrupt):
        plain("YJ", "IF").save(path)
    assert path.read_bytes() == before and same(Result.load(path), result)
    assert list(tmp_path.iterdir()) == [path]


def test_a_result_is_on_the_disk_before_it_has_its_name(result, tmp_path, monkeypatch):
    path, synced = tmp_path / "file", []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append((number, path.exists())))
    result.save(path)
    assert [exists for _, exists in synced] == [False] and path.exists()


def test_results_of_other_games_are_told_apart(tmp_path):
    other = simulate("YJ", MultiSBM(UCB), 20, 2, seed=3, compiled=False, workers=1, permute=False)
    about = Result.load(other.save(tmp_path / "file")).about
    assert about["seed"] == 3 and about["regret"] == "preference" and about["permute"] is False


def test_realised_regret_may_fall_and_is_loaded(tmp_path):
    game = Utilities([0.6, 0.5], law=bernoulli, name="coins")
    result = plain(game, "Sparring", T=60, runs=5, realised=True, checkpoints=range(1, 61))
    assert (np.diff(result.arrays["realised"], axis=1) < 0).any()
    result.save(tmp_path / "r.npz")
    assert same(Result.load(tmp_path / "r.npz"), result)


def test_the_checkout_is_the_one_around_the_package():
    file = provenance.ROOT / "dueling" / "engine" / "provenance.py"
    assert file.is_file() and file.samefile(provenance.__file__)
