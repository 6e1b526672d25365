"""Notebooks through real kernels: side by side, failing, hanging, interrupted, killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from small import PARAMETERS, SHOW, built, cells, contents, make, notebook, outputs, put

from edition import kernel, leash, notebooks, nursery, overlay, place, run, sums

ROOT = Path(__file__).parents[1]


@pytest.fixture
def root(tmp_path):
    """A book of one notebook."""
    return make(tmp_path)


def several(root, **codes):
    """A book of notebooks of one cell each."""
    contents(root, *(f"book/{name}" for name in codes))
    for name, text in codes.items():
        put(root, f"book/{name}", notebook((name, text, [])))
    (root / "book" / "profiles.yml").write_text("full: {}\n")


def shown(root, name="book/a"):
    """The text that the last cell printed."""
    return "".join("".join(out["text"]) for out in cells(root, name)[-1]["outputs"])


def test_two_executions_are_byte_identical(root):
    chatter = "import sys, time\nprint('a', flush=True)\ntime.sleep(0.3)\nprint('b')"
    chatter += "\nheld = b'x' * 2**28"
    bar = "print('\\r 3.1 it/s', file=sys.stderr)"
    put(root, "book/a", notebook(PARAMETERS, SHOW, ("talk", f"{chatter}\n{bar}", [])))
    assert built(root, "-p", "book/a", "runs", "4") == 0
    first = outputs(root).read_bytes()
    outputs(root).unlink()
    assert built(root, "-p", "book/a", "runs", "4") == 0
    assert outputs(root).read_bytes() == first
    assert str(root) not in first.decode()
    status = json.loads((outputs(root).parents[1] / "status.json").read_text())["book/a"]
    assert 0.1 < status["cpu"] < 60 and status["seconds"] > 0.3
    assert 256 < status["peak_mb"] < 512


# --- side by side

WRITE = """import time
from edition import tables
for i in range(20):
    tables.write_csv(f"{name}/{{i}}", ["x"], [[i]])
    time.sleep(0.02)
"""


@pytest.mark.slow
def test_any_number_of_jobs_gives_the_same_bytes_and_knows_who_wrote_what(root):
    found = []
    for jobs in ("1", "3"):
        codes = {name: WRITE.format(name=name) for name in ("a", "b", "c")}
        several(root, **codes)
        assert built(root, "--jobs", jobs) == 0
        wrote = {n: notebooks.record(root, "full", f"book/{n}")["wrote"] for n in codes}
        for name, files in wrote.items():
            assert {file: made["cell"] for file, made in files.items()} == {
                f"{name}/{i}.csv": name for i in range(20)
            }
        done = {name: outputs(root, f"book/{name}").read_bytes() for name in codes}
        found.append((done, sums.sums(place.results(root, "full"))))
        for name in codes:
            outputs(root, f"book/{name}").unlink()
    assert found[0] == found[1]


def test_a_table_belongs_to_the_cell_that_wrote_it_last(root):
    first = (
        "from edition import tables\ntables.write_csv('t', 'x', [[1]])\ntables.write_text('u', '')"
    )
    put(
        root,
        "book/a",
        notebook(("one", first, []), ("two", "tables.write_csv('t', 'x', [[1]])", [])),
    )
    assert built(root) == 0
    wrote = notebooks.record(root, "full", "book/a")["wrote"]
    assert {file: made["cell"] for file, made in wrote.items()} == {"t.csv": "two", "u": "one"}


def test_a_failure_stops_what_runs_beside_it(root, capsys):
    fail = "import pathlib, time\nwhile not pathlib.Path('pid').exists(): time.sleep(0.1)\n1 / 0"
    child = "import subprocess, time\nproc = subprocess.Popen(['sleep', '99'])\n"
    child += "open('pid.part', 'w').write(str(proc.pid))\nimport os\nos.rename('pid.part', 'pid')"
    several(root, a=fail, b=f"{child}\ntime.sleep(99)", c="1")
    (root / "book" / "costs.yml").write_text("full: {book/a: 9, book/b: 8, book/c: 7}\n")
    began = time.monotonic()
    assert built(root, "--jobs", "2") == 1
    assert time.monotonic() - began < 60
    said = capsys.readouterr()
    assert said.err.startswith("book/a.ipynb failed in code cell 1") and "book/b" not in said.err
    assert "book/c" not in said.out
    assert not outputs(root, "book/b").exists()
    child = int((root / "pid").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


# --- results


RESULT = """from edition import tables
tables.write_csv("t", ["x"], [["y"]])
tables.write_text("t.json", '{"commit": "%s"}' % ("ab" * 20))
"""


@pytest.mark.slow
@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("x,z")])
def test_runs_again_when_a_result_is_gone_or_another(root, capsys, change):
    put(root, "book/a", notebook(PARAMETERS, ("write", RESULT, [])))
    assert built(root) == 0
    assert cells(root)[1]["outputs"] == []  # a path is not shown
    folder = place.results(root, "full")
    (folder / "t.json").write_text('{"commit": "%s-edited"}' % ("cd" * 20))
    assert built(root) == 0
    assert "unchanged" in capsys.readouterr().out
    change(folder / "t.csv")
    assert built(root) == 0
    assert "book/a: running" in capsys.readouterr().out
    assert (folder / "t.csv").read_text() == "x\ny\n"


def test_figures_are_pictures_and_vectors_without_a_date(root):
    text = "import matplotlib.pyplot as plt\nplt.plot([0, 1])\nplt.show()"
    put(root, "book/a", notebook(PARAMETERS, ("draw", text, [])))
    assert built(root) == 0
    data = cells(root)[1]["outputs"][0]["data"]
    assert {"image/png", "image/svg+xml"} <= set(data)
    assert "dc:date" not in "".join(data["image/svg+xml"])


# --- the kernel


def test_runs_at_the_root_with_its_own_python(root, monkeypatch):
    other = root / "kernels" / "python3"  # a kernelspec of another Python, found first
    other.mkdir(parents=True)
    spec = {"argv": ["false"], "display_name": "Other", "language": "python"}
    (other / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(root))
    text = "import os, sys\nprint(os.path.exists('_toc.yml'), os.getcwd(), sys.prefix)"
    several(root, a=text)
    here = os.getcwd()
    assert built(root) == 0
    assert shown(root) == f"True {root.resolve()} {sys.prefix}\n" and os.getcwd() == here


LEAKS = {
    "PYTHONOPTIMIZE": "1",
    "PYTHONWARNINGS": "default",
    "PYTHONSTARTUP": "nowhere.py",
    "PYTHONHASHSEED": "7",
    "PYTHONPATH": "/nowhere",
    "NUMBA_DISABLE_JIT": "1",
    "MPLBACKEND": "agg",
    "OPENBLAS_NUM_THREADS": "3",
    "OMP_NUM_THREADS": "3",
    "IPYTHONDIR": "nowhere",
    "BOOK_WROTE": "nowhere",
    "SOME_TOKEN": "secret",
}


LEAK = f"""import os
print([k for k, v in {LEAKS!r}.items() if os.environ.get(k) == v])
try:
    assert False
except AssertionError:
    print("asserted")
"""


def test_nothing_of_the_user_s_environment_leaks_in(root, monkeypatch):
    several(root, a=LEAK)
    for name, value in LEAKS.items():
        monkeypatch.setenv(name, value)
    assert built(root, "--", "sh", "-c", 'test -z "$PYTHONOPTIMIZE$SOME_TOKEN"') == 0
    assert shown(root) == "[]\nasserted\n"


@pytest.mark.parametrize(
    ("found", "disabled"),
    [
        (["X86_V3"], ""),
        (["X86_V3", "X86_V4", "AVX512_ICL"], "X86_V4 AVX512_ICL"),
        (["ASIMD"], None),
    ],
)
def test_newer_processors_round_as_older_ones(monkeypatch, found, disabled):
    monkeypatch.setattr(kernel, "vectors", lambda: found)
    told = kernel.environment("full")
    assert told["OPENBLAS_NUM_THREADS"] == "1"
    assert kernel.arithmetic().get("NPY_DISABLE_CPU_FEATURES") == disabled
    assert ("OPENBLAS_CORETYPE" in kernel.arithmetic()) == (disabled is not None)


def test_a_kernel_uses_the_common_vector_extensions_alone():
    if kernel.COMMON not in kernel.vectors():
        pytest.skip("not an x86-64-v3 processor: NumPy is taken as it is")
    ask = "from edition import kernel; print(*kernel.vectors())"
    command = [sys.executable, "-W", "error", "-c", ask]
    environment = kernel.environment("full")
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == [kernel.COMMON], done.stderr


# --- failures


def test_failure_is_shown_and_the_last_good_output_stays(root, capsys):
    assert built(root) == 0
    good = outputs(root).read_bytes()
    put(root, "book/a", notebook(PARAMETERS, ("show", "print(runs)\n1 / 0", [])))
    assert built(root) == 1
    said = capsys.readouterr().err
    assert "book/a.ipynb failed in code cell 2" in said
    assert "    1 / 0" in said and "ZeroDivisionError: division by zero" in said
    assert len(said.splitlines()) <= 40
    assert outputs(root).read_bytes() == good


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import os\nos._exit(1)", "Kernel died"),
        ("import sys\nsys.exit(0)", "SystemExit"),
        ("raise SystemExit", "SystemExit"),
        ("import sys\nsys.exit('no')", "SystemExit: no"),
    ],
)
def test_a_cell_that_ends_its_kernel_fails(root, capsys, text, reason):
    put(root, "book/a", notebook(PARAMETERS, ("end", text, []), ("after", "1", [])))
    assert built(root) == 1
    said = capsys.readouterr().err
    assert "book/a.ipynb failed in code cell 2" in said and reason in said
    assert not outputs(root).exists()


@pytest.mark.slow
def test_a_cell_that_hangs_is_stopped_and_named(root, capsys):
    hang = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(99)"
    put(root, "book/a", notebook(PARAMETERS, ("hang", hang, [])))
    began = time.monotonic()
    assert built(root, "--limit", "2") == 1
    assert time.monotonic() - began < 60
    said = capsys.readouterr().err
    assert "book/a.ipynb failed in code cell 2" in said and "time.sleep(99)" in said
    assert "It ran for more than 2 s and was stopped" in said


STATE = """import os, signal, subprocess, sys
import matplotlib.pyplot as plt
print(os.getcwd(), sys.path, os.getsid(0) == os.getpid())
print(sorted({*os.environ} - {"JPY_PARENT_PID"}))
print([signal.getsignal(s) for s in (signal.SIGINT, signal.SIGCHLD, signal.SIGTERM)])
print(subprocess.run(["false"]).returncode, sys.stdin.closed)
plt.plot([0, 1])
plt.show()
"""


def test_a_warm_kernel_is_like_a_cold_one(root, monkeypatch):
    seen = []
    for pays in (2, 1):  # with one notebook: cold, then warm
        monkeypatch.setattr(run, "PAYS", pays)
        text = "import sys\nprint('sympy' in sys.modules)\nif not runs:\n    import sympy"
        loaded = ("loaded", text, [])
        put(root, "book/a", notebook(PARAMETERS, ("state", STATE, []), loaded))
        assert built(root) == 0
        seen.append([cell["outputs"] for cell in cells(root)])
        outputs(root).unlink()
    (*cold, was_cold), (*warm, was_warm) = seen
    assert cold == warm
    assert [out[0]["text"] for out in (was_cold, was_warm)] == [["False\n"], ["True\n"]]


def test_a_warm_kernel_that_dies_is_noticed(root, monkeypatch, capsys):
    monkeypatch.setattr(run, "PAYS", 1)
    put(root, "book/a", notebook(PARAMETERS, ("end", "import os\nos._exit(1)", [])))
    assert built(root) == 1
    assert "Kernel died" in capsys.readouterr().err


def test_a_warm_process_that_dies_is_named(root, monkeypatch, capsys):
    monkeypatch.setattr(run, "PAYS", 1)
    monkeypatch.setattr(nursery, "leashed", lambda command: [sys.executable, "-c", "0"])
    assert built(root) == 1
    said = capsys.readouterr().err
    assert "book/a.ipynb failed before its first cell" in said
    assert "the process that kernels are forked from has ended" in said


# --- processes


def start(root, *words):
    """A build in a process of its own, which heeds signals even where this one ignores them."""
    command = [sys.executable, "-m", "edition.run", "--root", str(root), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, preexec_fn=heed)


def heed():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(path):
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


SLEEP = "import pathlib, time\npathlib.Path('begun-{name}').touch()\ntime.sleep({seconds})"


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(("names", "processes"), [("ab", 2), ("abcd", 3)])  # warm: a third, forked
def test_the_end_of_a_build_leaves_no_file_and_no_kernel(root, stop, names, processes):
    several(root, **{name: SLEEP.format(name=name, seconds=99) for name in names})
    build = start(root, "--jobs", "2")
    while len(list(root.glob("begun-*"))) < 2:
        time.sleep(0.05)
        assert build.poll() is None
    kernels = psutil.Process(build.pid).children(recursive=True)
    assert len(kernels) == processes
    build.send_signal(stop)
    _, said = build.communicate(timeout=20)
    gone, alive = psutil.wait_procs(kernels, timeout=5)
    assert len(gone) == processes and not alive
    if stop != signal.SIGKILL:
        assert build.returncode == 130
        assert said == "Interrupted: the last good outputs are in place.\n"
    assert [path.name for path in (root / "_build").rglob("*") if path.is_file()] == [".lock"]


#: Two that send a signal, as files and names.
SIGNALLED = (
    "test_run.py::test_the_end_of_a_build_leaves_no_file_and_no_kernel[ab-2-2]",
    "test_simulate.py::test_ctrl_c_stops_at_once_and_leaves_no_process[2]",
)


@pytest.mark.slow
@pytest.mark.parametrize("one", SIGNALLED)
def test_under_nohup_an_interruption_is_tested_all_the_same(one):
    """As with `nohup make test &`, where a shell ignores both signals for all that it starts."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "slow"]
    trap = ["sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh", *command, f"tests/{one}"]
    told = subprocess.run(trap, cwd=ROOT, capture_output=True, text=True).stdout
    assert "1 passed" in told, told


def test_the_kill_of_a_build_ends_its_renderer(root):
    several(root)
    render = (
        "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(99)"
    )
    build = start(root, "--", sys.executable, "-c", render)
    wait_for(root / "pid")
    renderer = psutil.Process(build.pid).children()[0]
    build.kill()
    build.wait(5)
    assert psutil.wait_procs([renderer], timeout=5)[1] == []


def test_a_leash_whose_holder_is_gone_starts_nothing(root):
    command = [sys.executable, leash.__file__, "1", "touch", "begun"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "The build that started this is gone.\n"
    assert not (root / "begun").exists()


def test_a_second_build_waits_for_what_a_killed_one_left(root):
    """A renderer's own child is not on the leash; it holds the lock."""
    several(root)
    child = "(touch begun; until test -e go; do sleep 0.1; done; touch rendered) & wait"
    first = start(root, "--", "sh", "-c", child)
    wait_for(root / "begun")
    first.kill()
    first.wait(5)
    second = start(root, "--", "test", "-e", "rendered")
    assert "waiting" in second.stdout.readline()
    (root / "go").touch()
    second.communicate(timeout=60)
    assert second.returncode == 0


@pytest.mark.slow
def test_a_second_build_waits(root):
    several(root, a=SLEEP.format(name="a", seconds=1))
    first = start(root, "--", "sh", "-c", "sleep 5; touch rendered")
    wait_for(root / "begun-a")
    second = start(root, "--", "test", "-e", "rendered")
    said, _ = second.communicate(timeout=60)
    assert first.wait(30) == 0 and second.returncode == 0
    assert "waiting" in said and "book/a: unchanged" in said


def test_the_next_command_has_the_profile_and_its_own_exit_status(root):
    several(root)
    assert built(root, "--", "sh", "-c", 'test "$BOOK_PROFILE" = full && exit 7') == 7


def test_the_time_of_the_next_command_is_told(root, capfd):
    several(root)
    assert built(root, "--", "sh", "-c", "echo pages; exit 7") == 7
    assert capfd.readouterr().out == "pages\n"
    assert built(root, "--", "sh", "-c", "echo pages; sleep 1") == 0
    assert capfd.readouterr().out in {f"pages\nAfter the notebooks: {n} s.\n" for n in range(1, 60)}


def test_a_next_command_that_is_not_there_is_named(root, capfd):
    several(root)
    assert built(root, "--", "no-such-command") == 1
    assert capfd.readouterr().err == "no-such-command cannot be run: No such file or directory.\n"


def test_the_next_command_does_not_run_after_a_failure(root):
    several(root, a="1 / 0")
    assert built(root, "--", "touch", "rendered") == 1
    assert not (root / "rendered").exists()


# --- the overlay


def test_overlay_shows_the_outputs(root):
    assert built(root) == 0
    put(root, "book/a", notebook(PARAMETERS, SHOW, prose="Other words."))
    overlaid = overlay.overlaid(root, "full", "book/a")["cells"]
    assert [cell["id"] for cell in overlaid] == ["prose", "set", "show"]
    assert overlaid[0]["source"] == "Other words."
    assert "".join(overlaid[2]["outputs"][0]["text"]) == "3\n"


def test_overlay_shows_parameters_that_are_not_the_edition_s(root):
    assert built(root, "-p", "book/a", "runs", "4") == 0
    overlaid = overlay.overlaid(root, "full", "book/a")["cells"]
    assert [cell["id"] for cell in overlaid] == ["prose", "set", "injected-parameters", "show"]


@pytest.mark.parametrize(
    ("codes", "packages"),
    [
        (["import sympy as sp, sys"] * 2, ["sympy"]),
        (["from edition.witness import Ledger\nimport dueling.game"] * 2, ["dueling", "edition"]),
        (["import z3", "import numpy", "from numpy import pi"], ["numpy"]),
        (["print('dueling')", "%time import dueling", "import dueling"], []),
    ],
)
def test_a_warm_process_imports_what_two_notebooks_import(codes, packages):
    assert nursery.worthwhile(codes, 2) == packages
