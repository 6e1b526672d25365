"""Result: what it holds, one small file, whole or refused."""

import io
import json
import pickle
import subprocess
import zipfile
from functools import partial

import numpy as np
import pytest
from conftest import Ten, other_checkout, plain, same

from dueling import (
    BTMB,
    UCB,
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
from dueling.structured import Box, ConfidenceBall1, LinearDoubler, LinearUtilities


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
    return np.array(json.dumps({"format": results.FORMAT, "arrays": arrays}))


ONE, CURVE = np.ones(1), np.ones((3, 1))
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
    "a curve too short": npz(about=head("regret"), checkpoints=np.ones(2), regret=CURVE),
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


def test_results_of_other_games_are_told_apart(tmp_path):
    other = simulate("YJ", MultiSBM(UCB), 20, 2, seed=3, compiled=False, workers=1, permute=False)
    about = Result.load(other.save(tmp_path / "file")).about
    assert about["seed"] == 3 and about["regret"] == "preference" and about["permute"] is False
