"""The plumbing of the book: what runs again, what does not, and what is refused."""

import inspect
import json
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import psutil
import pytest

from edition import kernel, notebooks, overlay, place, run

ROOT = Path(__file__).parents[1]

PARAMETERS = ("set", "runs = 3", ["parameters"])
SHOW = ("show", "print(runs)\nobject()\nif not runs:\n    from dueling import game", [])


def notebook(*cells, prose="Words.", needs=(), reads=()):
    """A notebook of code cells (id, source, tags) after one cell of prose."""
    made = [{"cell_type": "markdown", "id": "prose", "metadata": {}, "source": prose}]
    for name, text, tags in cells:
        empty = {"outputs": [], "execution_count": None}
        cell = {"cell_type": "code", "id": name, "metadata": {"tags": tags}, "source": text}
        made.append(cell | empty)
    spec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    metadata = {"kernelspec": spec, "needs": list(needs), "reads": list(reads)}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def put(root, name, made):
    (root / f"{name}.ipynb").write_text(json.dumps(made))


@pytest.fixture
def root(tmp_path):
    """A book of one notebook."""
    for folder in ("book", "dueling"):
        (tmp_path / folder).mkdir()
    (tmp_path / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/a\n")
    (tmp_path / "book" / "profiles.yml").write_text("full: {}\nsmoke: {book/a: {runs: 1}}\n")
    (tmp_path / "dueling" / "game.py").write_text("from .engine import checks\n")
    (tmp_path / "dueling" / "engine").mkdir()
    (tmp_path / "dueling" / "engine" / "checks.py").write_text("")
    (tmp_path / "requirements.txt").write_text("numpy==2.0\n")
    put(tmp_path, "book/a", notebook(PARAMETERS, SHOW))
    return tmp_path


def built(root, *words):
    return run.main(["--root", str(root), "--profile", "full", *words])


def outputs(root, name="book/a", profile="full"):
    return notebooks.executed(root, profile, name)


@pytest.fixture
def executions(monkeypatch):
    """The names of the notebooks that would run; no kernel starts."""
    ran = []

    def fake(root, profile, name, parameters):
        ran.append(name)
        about = {
            "fingerprint": notebooks.fingerprint(root, name, parameters),
            "parameters": dict(parameters.get(name, {})),
        }
        made = notebooks.load(notebooks.source(root, name))
        place.write(
            notebooks.executed(root, profile, name),
            json.dumps(made | {"metadata": {"executed": about}}),
        )
        return {"seconds": 0.0, "peak_mb": 0}

    monkeypatch.setattr(run, "run", fake)
    return ran


# --- the repository


@pytest.mark.parametrize("name", notebooks.notebooks(ROOT))
def test_notebooks_are_kept_without_outputs(name):
    cells = notebooks.code(notebooks.load(notebooks.source(ROOT, name)))
    assert [cell["outputs"] for cell in cells] == [[]] * len(cells)
    assert [cell["execution_count"] for cell in cells] == [None] * len(cells)


@pytest.mark.parametrize("profile", ["full", "smoke"])
def test_profiles_name_real_parameters(profile):
    notebooks.chosen_parameters(ROOT, profile, [])


def test_lock_has_hashes_and_names_no_registry():
    lock = place.read(ROOT / "requirements.txt")
    pins = [line for line in lock.splitlines() if line[:1].isalnum()]
    assert pins and all("==" in line for line in pins)
    assert lock.count("--hash=sha256:") >= len(pins)
    assert "://" not in lock


def test_the_package_page_names_every_module():
    page = place.read(ROOT / "book" / "api.md").split()
    assert set(modules("dueling")) <= set(page)


def modules(package):
    """The dotted names of the modules of a package of this checkout."""
    files = [path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")]
    return [".".join(f.with_suffix("").parts) for f in files if f.stem != "__init__"]


def test_public_functions_have_types():
    """All but the texts that are compiled, which are written like the paper."""
    lacking = []
    for dotted in [*modules("dueling"), *modules("edition")]:
        module = import_module(dotted)
        for name, f in inspect.getmembers(module, inspect.isfunction):
            asked = inspect.signature(f).parameters.values()
            bare = [p.name for p in asked if p.annotation is p.empty and "VAR" not in p.kind.name]
            own = f.__module__ == module.__name__ and not name.startswith("_")
            text = hasattr(f, "compilable") or bare[-1:] in (["game"], ["bandit"])
            if own and not text and (bare or "return" not in f.__annotations__):
                lacking.append(f"{module.__name__}.{name}")
    assert lacking == []


# --- what runs again


def edit_prose(root):
    put(root, "book/a", notebook(PARAMETERS, SHOW, prose="Other words."))


def edit_code(root):
    put(root, "book/a", notebook(PARAMETERS, ("show", "print(-runs)", [])))


def edit_cell_id(root):
    put(root, "book/a", notebook(PARAMETERS, ("view", SHOW[1], [])))


def edit_package(root):
    (root / "dueling" / "game.py").write_text("K = 7\n")


def edit_what_it_imports(root):
    (root / "dueling" / "engine" / "checks.py").write_text("K = 7\n")


def add_module(root):
    """One that the notebook does not import."""
    (root / "dueling" / "links.py").write_text("")


def edit_lock(root):
    (root / "requirements.txt").write_text("numpy==2.1\n")


def edit_profile(root):
    (root / "book" / "profiles.yml").write_text("full: {book/a: {runs: 4}}\n")


def edit_nothing(root):
    pass


@pytest.mark.parametrize("change", [edit_nothing, edit_prose, add_module])
def test_skips_what_did_not_change(root, executions, change):
    assert built(root) == 0
    change(root)
    assert built(root) == 0
    assert executions == ["book/a"]


@pytest.mark.parametrize(
    "change", [edit_code, edit_cell_id, edit_package, edit_what_it_imports, edit_lock, edit_profile]
)
def test_runs_again_after(root, executions, change):
    assert built(root) == 0
    change(root)
    assert built(root) == 0
    assert executions == ["book/a", "book/a"]


def test_runs_again_after_a_change_of_the_style_of_figures(root, executions, monkeypatch):
    assert built(root) == 0
    monkeypatch.setattr(kernel, "STYLE", root / "matplotlibrc")
    kernel.STYLE.write_text("svg.hashsalt: other\n")
    assert built(root) == 0
    assert executions == ["book/a", "book/a"]


def test_runs_again_with_another_parameter_and_back(root, executions):
    for words in ([], ["-p", "book/a", "runs", "9"], ["-p", "book/a", "runs", "9"], []):
        assert built(root, *words) == 0
    assert executions == ["book/a"] * 3


def test_profiles_do_not_share_outputs(root, executions):
    assert built(root) == 0
    assert built(root, "--profile", "smoke") == 0
    assert built(root) == 0
    assert len(executions) == 2


def two(root, needs_of_a, needs_of_b=()):
    (root / "_toc.yml").write_text(
        "root: book/index\nparts:\n  - chapters:\n      - file: book/a\n      - file: book/b\n"
    )
    put(root, "book/a", notebook(PARAMETERS, SHOW, needs=needs_of_a))
    put(root, "book/b", notebook(PARAMETERS, needs=needs_of_b))


def test_runs_what_is_needed_first_and_again_after_it(root, executions):
    two(root, ["book/b"])
    assert built(root, "--only", "book/a") == 0
    assert executions == ["book/b", "book/a"]
    assert built(root, "-p", "book/b", "runs", "5") == 0
    assert executions[2:] == ["book/b", "book/a"]


def test_runs_again_after_a_change_of_the_data_it_reads(root, executions):
    put(root, "book/a", notebook(PARAMETERS, reads=["book/a.yml"]))
    for data in ("x: 1", "x: 1", "x: 2"):
        (root / "book" / "a.yml").write_text(data)
        assert built(root) == 0
    assert executions == ["book/a", "book/a"]


# --- what is refused


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-p", "book/a", "runz", "9"], "book/a has no parameter runz; its parameters are: runs."),
        (["-p", "book/z", "runs", "9"], "for book/z, which is not a notebook"),
        (["--only", "book/z"], "book/z is not a notebook of _toc.yml"),
        (["--profile", "tiny"], "There is no profile tiny"),
    ],
)
def test_refuses_what_it_does_not_know(root, executions, capsys, words, sentence):
    assert built(root, *words) == 1
    assert sentence in capsys.readouterr().err
    assert executions == []


def test_refuses_a_circle(root, executions, capsys):
    two(root, ["book/b"], ["book/a"])
    assert built(root) == 1
    assert "in a circle" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["/home/ann", "/home/José/Bücher"])
def test_outputs_do_not_tell_where_the_checkout_is(place):
    output = {"output_type": "stream", "text": f"{place}/dueling/game.py at 0x7f at ünder"}
    scrubbed = run.scrub(output, Path(place))
    assert scrubbed["text"] == "dueling/game.py at 0x0 at ünder"


# --- with a real kernel


def test_two_executions_are_byte_identical(root):
    chatter = "import sys, time\nprint('a', flush=True)\ntime.sleep(0.3)\nprint('b')"
    bar = "print('\\r 3.1 it/s', file=sys.stderr)"
    put(root, "book/a", notebook(PARAMETERS, SHOW, ("talk", f"{chatter}\n{bar}", [])))
    assert built(root, "-p", "book/a", "runs", "4") == 0
    first = outputs(root).read_bytes()
    outputs(root).unlink()
    assert built(root, "-p", "book/a", "runs", "4") == 0
    assert outputs(root).read_bytes() == first
    assert str(root) not in first.decode()
    assert set(json.loads((outputs(root).parents[1] / "status.json").read_text())) == {"book/a"}


WRITE = """from pathlib import Path
folder = Path("_build/results")
folder.mkdir(parents=True, exist_ok=True)
for name, text in [("t.csv", "x,y"), ("t.json", '{"commit": "%s"}' % ("ab" * 20))]:
    (folder / name).write_text(text)
folder / "t.csv"
"""


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("x,z")])
def test_runs_again_when_a_result_is_gone_or_another(root, capsys, change):
    put(root, "book/a", notebook(PARAMETERS, ("write", WRITE, [])))
    assert built(root) == 0
    wrote = notebooks.record(root, "full", "book/a")["wrote"]
    assert {file: made["cell"] for file, made in wrote.items()} == dict.fromkeys(
        ["t.csv", "t.json"], "write"
    )
    assert notebooks.code(notebooks.load(outputs(root)))[1]["outputs"] == []  # a path is not shown
    folder = place.results(root, "full")
    (folder / "t.json").write_text('{"commit": "%s-edited"}' % ("cd" * 20))
    assert built(root) == 0
    assert "unchanged" in capsys.readouterr().out
    change(folder / "t.csv")
    assert built(root) == 0
    assert "book/a: running" in capsys.readouterr().out
    assert (folder / "t.csv").read_text() == "x,y"


def test_figures_are_pictures_and_vectors_without_a_date(root):
    text = "import matplotlib.pyplot as plt\nplt.plot([0, 1])\nplt.show()"
    put(root, "book/a", notebook(PARAMETERS, ("draw", text, [])))
    assert built(root) == 0
    data = notebooks.code(notebooks.load(outputs(root)))[1]["outputs"][0]["data"]
    assert {"image/png", "image/svg+xml"} <= set(data)
    assert "dc:date" not in "".join(data["image/svg+xml"])


def test_streams_are_one_piece_without_progress_bars():
    def said(name, text):
        return {"output_type": "stream", "name": name, "text": text}

    cut = [said("stdout", "a"), said("stderr", "\r 3 it/s"), said("stdout", "b")]
    assert run.merge(cut) == [said("stdout", "ab")]


def test_runs_at_the_root_with_its_own_python(root, monkeypatch):
    monkeypatch.setenv("HERE", str(root.resolve()))
    other = root / "kernels" / "python3"  # a kernelspec of another Python, found first
    other.mkdir(parents=True)
    spec = {"argv": ["false"], "display_name": "Other", "language": "python"}
    (other / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(root))
    text = "import os, sys\nprint(os.getcwd() == os.environ['HERE'], sys.prefix)"
    put(root, "book/a", notebook(("where", text, [])))
    (root / "book" / "profiles.yml").write_text("full: {}\n")
    assert built(root) == 0
    shown = notebooks.code(notebooks.load(outputs(root)))[0]["outputs"][0]["text"]
    assert "".join(shown) == f"True {sys.prefix}\n"


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


def test_a_dead_kernel_is_a_failure_of_its_cell(root, capsys):
    put(root, "book/a", notebook(PARAMETERS, ("die", "import os\nos._exit(1)", [])))
    assert built(root) == 1
    assert "book/a.ipynb failed in code cell 2" in capsys.readouterr().err


def start(root, *words):
    command = [sys.executable, "-m", "edition.run", "--root", str(root), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path):
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_interruption_leaves_no_file_and_no_kernel(root, stop):
    text = "import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(60)"
    put(root, "book/a", notebook(PARAMETERS, ("sleep", text, [])))
    build = start(root)
    wait_for(root / "begun")
    kernels = psutil.Process(build.pid).children(recursive=True)
    build.send_signal(stop)
    assert build.wait(20) == 130
    gone, alive = psutil.wait_procs(kernels, timeout=5)
    assert gone and not alive
    assert [path.name for path in (root / "_build").rglob("*") if path.is_file()] == [".lock"]


def test_a_second_build_waits(root):
    text = "import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(1)"
    put(root, "book/a", notebook(PARAMETERS, ("sleep", text, [])))
    first = start(root, "--", "sh", "-c", "sleep 5; touch rendered")
    wait_for(root / "begun")
    second = start(root, "--", "test", "-e", "rendered")
    said, _ = second.communicate(timeout=30)
    assert first.wait(20) == 0 and second.returncode == 0
    assert "waiting" in said and "book/a: unchanged" in said


def test_the_next_command_does_not_run_after_a_failure(root):
    put(root, "book/a", notebook(PARAMETERS, ("fail", "1 / 0", [])))
    (root / "book" / "profiles.yml").write_text("full: {}\n")
    assert built(root, "--", "touch", "rendered") == 1
    assert not (root / "rendered").exists()


# --- the overlay


def test_overlay_shows_the_outputs(root):
    assert built(root) == 0
    edit_prose(root)
    cells = overlay.overlaid(root, "full", "book/a")["cells"]
    assert [cell["id"] for cell in cells] == ["prose", "set", "show"]
    assert cells[0]["source"] == "Other words."
    assert "".join(cells[2]["outputs"][0]["text"]) == "3\n"


def test_overlay_shows_parameters_that_are_not_the_edition_s(root):
    assert built(root, "-p", "book/a", "runs", "4") == 0
    cells = overlay.overlaid(root, "full", "book/a")["cells"]
    assert [cell["id"] for cell in cells] == ["prose", "set", "injected-parameters", "show"]


def test_overlay_refuses_what_was_not_executed(root):
    with pytest.raises(notebooks.Refusal, match="not executed yet"):
        overlay.overlaid(root, "full", "book/a")


@pytest.mark.parametrize("change", [edit_code, edit_package, edit_lock])
def test_overlay_refuses_what_is_stale(root, executions, change):
    assert built(root) == 0
    change(root)
    with pytest.raises(notebooks.Refusal, match="changed since its execution"):
        overlay.overlaid(root, "full", "book/a")


def test_overlay_refuses_another_cell_s_output(root, executions):
    assert built(root) == 0
    done = notebooks.load(outputs(root))
    done["cells"][2]["source"] = "print(0)"
    outputs(root).write_text(json.dumps(done))
    with pytest.raises(notebooks.Refusal, match="cell show is not the one"):
        overlay.overlaid(root, "full", "book/a")
