"""The benches tell slow from fast, their C kernels play our game, a command is timed whole.

And the mutants: a change that no test notices is told, and those that are listed are there.
"""

import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[1] / "bench" / "run.py"
MUTANTS = BENCH.with_name("mutants.py")


@pytest.mark.slow
def test_a_checkout_whose_machine_is_slower_is_found_slower(tmp_path, capsys):
    """In processes of their own, whatever package this one has."""
    for folder in ("dueling", "bench"):
        shutil.copytree(BENCH.parents[1] / folder, tmp_path / folder)
    machines = tmp_path / "dueling" / "machines.py"
    head = '        """The arm of largest index."""\n'
    slow = "        for _ in range(99):\n            self.rng.random()\n"
    text = machines.read_text()
    assert head in text
    machines.write_text(text.replace(head, head + slow))
    bench = runpy.run_path(str(BENCH))
    ratio = bench["against"](tmp_path, 1, turns=1)
    assert list(ratio) == list(bench["ALGORITHMS"])
    assert max(ratio[name] for name in ("Sparring", "MultiSBM", "Doubler")) < 0.6
    assert all(0.3 < ratio[name] < 3 for name in ("IF", "BTMB"))  # these have no machine
    words = f"Sparring     takes {ratio['Sparring']:.3f} x the time that it takes in {tmp_path}"
    assert words in capsys.readouterr().out


def test_the_cost_of_checked_indices_is_shown(capsys):
    ratio = runpy.run_path(str(BENCH))["checked"](1)
    assert 0.3 < ratio < 10
    words = f"a machine whose indices are checked takes {ratio:.2f} x the time of UCB"
    assert words in capsys.readouterr().out


def test_the_c_kernels_have_the_reference_regret():
    kernels = runpy.run_path(str(BENCH))["c_kernels"]()
    if not kernels:
        pytest.skip("no C compiler here")
    for name, mean in (("C Sparring", 1355), ("C MultiSBM", 2421)):
        regret = [kernels[name]() for _ in range(100)]
        assert abs(np.mean(regret) - mean) < 4 * np.std(regret) / 10 + 0.01 * mean, name


def test_a_command_is_timed_with_all_that_it_starts(tmp_path, monkeypatch):
    build = runpy.run_path(str(BENCH.with_name("build.py")))
    monkeypatch.setenv("MAKEFLAGS", "-n")  # as under the make that runs the tests
    child = "import time; held = bytearray(300 * 2**20); time.sleep(1.2)"
    (tmp_path / "Makefile").write_text(f"all:\n\t'{sys.executable}' -c '{child}'; touch made\n")
    found = build["measured"](["make"], tmp_path)
    assert (tmp_path / "made").exists()
    assert 1 < found["seconds"] < 60 and 300 < found["peak_mb"] < 600
    with pytest.raises(SystemExit, match="make none failed"):
        build["measured"](["make", "none"], tmp_path)


def test_every_listed_survivor_is_a_mutant_of_the_code_as_it_is_and_has_a_reason():
    mutants = runpy.run_path(str(MUTANTS))["mutants"]
    for line in MUTANTS.with_name("survivors.txt").read_text().splitlines():
        told, _, reason = line.rpartition("  # ")
        file = told.partition(",")[0]
        source = (BENCH.parents[1] / file).read_bytes()
        assert reason and told in {mutant.describe(source) for mutant in mutants(file)}


SMALL = {
    "pyproject.toml": """
[tool.pytest.ini_options]
markers = ["built"]
[tool.coverage.run]
source = ["dueling"]
branch = true
""",
    "edition/__init__.py": "",
    "dueling/__init__.py": "N = 3\n",
    "dueling/sums.py": "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x + 2\n",
    "tests/test_sums.py": """
import dueling
from dueling.sums import f, g


def test_sums():
    assert f(dueling.N) == 4
    g(1)
""",
    "bench/survivors.txt": "dueling/sums.py, g: '2' -> '3' in 'return x + 2'  # nobody asks\n",
}


@pytest.mark.slow
def test_a_change_that_no_test_notices_is_told_with_its_reason(tmp_path, monkeypatch, capsys):
    """Also one of a line that runs before any test."""
    for name, text in SMALL.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    main = runpy.run_path(str(MUTANTS))["main"]
    monkeypatch.setitem(main.__globals__, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["mutants.py", "--jobs", "1"])
    main()
    *survivors, rate = capsys.readouterr().out.splitlines()
    assert sorted(survivors) == [
        "survived: dueling/sums.py, g: '+' -> ' - ' in 'return x + 2'  # ?",
        "survived: dueling/sums.py, g: '2' -> '3' in 'return x + 2'  # nobody asks",
        "survived: dueling/sums.py, g: 'x + 2' -> 'None' in 'return x + 2'  # ?",
    ]
    assert rate == "4 of 7 mutants killed (57.1 %); 1 survivors have a reason."
