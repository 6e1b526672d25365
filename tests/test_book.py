"""The plumbing of the book: what runs again, what does not, and what is refused."""

import errno
import gc
import inspect
import json
import os
import pkgutil
import platform
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import joblib
import nbformat
import pytest
import yaml
from small import PARAMETERS, SHOW, built, contents, make, notebook, outputs, put

from edition import (
    execute,
    kernel,
    notebooks,
    overlay,
    place,
    run,
    scrub,
    sources,
    sphinx,
    sums,
    tables,
)
from edition.progress import Progress, span
from edition.sphinx import about, pages, play, previews
from edition.sphinx import outputs as page_outputs
from edition.wasm import bundle

ROOT = Path(__file__).parents[1]


@pytest.fixture
def root(tmp_path):
    """A book of one notebook."""
    return make(tmp_path)


@pytest.fixture
def executions(monkeypatch):
    """The names of the notebooks that would run; no kernel starts."""
    ran = []

    def fake(root, profile, name, about, kernel, limit):
        ran.append(name)
        made = nbformat.read(notebooks.source(root, name), 4)
        place.write(notebooks.executed(root, profile, name), execute.settle(made, root, about))

    monkeypatch.setattr(run, "execute", fake)
    return ran


# --- the repository


@pytest.mark.parametrize("name", notebooks.notebooks(ROOT))
def test_notebooks_are_kept_without_outputs(name):
    cells = notebooks.code(notebooks.load(notebooks.source(ROOT, name)))
    assert [cell["outputs"] for cell in cells] == [[]] * len(cells)
    assert [cell["execution_count"] for cell in cells] == [None] * len(cells)


@pytest.mark.parametrize("name", notebooks.notebooks(ROOT))
def test_no_code_is_kept_from_the_page(name):
    """The switch "Code" shows all of it: a cell may be folded, and none is removed."""
    cells = notebooks.load(notebooks.source(ROOT, name))["cells"]
    tags = {tag for cell in cells for tag in cell["metadata"].get("tags", [])}
    assert [tag for tag in tags if tag.startswith("remove")] == []


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
    """The packages that are installed stay the same."""
    (root / "requirements.txt").write_text("numpy==2.1\n")


def edit_profile(root):
    (root / "book" / "profiles.yml").write_text("full: {book/a: {runs: 4}}\n")


def edit_nothing(root):
    pass


@pytest.mark.parametrize("change", [edit_nothing, edit_prose, add_module, edit_lock])
def test_skips_what_did_not_change(root, executions, change):
    assert built(root) == 0
    change(root)
    assert built(root) == 0
    assert executions == ["book/a"]


@pytest.mark.parametrize(
    "change", [edit_code, edit_cell_id, edit_package, edit_what_it_imports, edit_profile]
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


def test_runs_again_after_a_change_of_what_is_kept_of_outputs(root, executions, monkeypatch):
    assert built(root) == 0
    monkeypatch.setattr(notebooks, "KEPT", root / "scrub.py")
    notebooks.KEPT.write_text("# another rule\n")
    assert built(root) == 0
    monkeypatch.setitem(kernel.ALIKE, "PYTHONHASHSEED", "1")
    assert built(root) == 0
    assert executions == ["book/a"] * 3


@pytest.mark.parametrize(("python", "times"), [(("3", "99", "0"), 2), (None, 1)])
def test_another_python_runs_again_and_its_patch_release_does_not(
    root, executions, monkeypatch, python, times
):
    assert built(root) == 0
    other = python or (*platform.python_version_tuple()[:2], "99")
    monkeypatch.setattr(platform, "python_version_tuple", lambda: other)
    assert built(root) == 0
    assert executions == ["book/a"] * times


def test_another_installed_version_runs_again(root, executions, monkeypatch):
    assert built(root) == 0
    notebooks.installed.cache_clear()
    monkeypatch.setattr(notebooks, "version", lambda name: "0.0")
    assert built(root) == 0
    notebooks.installed.cache_clear()
    assert executions == ["book/a", "book/a"]


def test_a_new_linter_runs_no_notebook_again():
    known = notebooks.installed((place.root() / "requirements.txt").read_text())
    assert {"numpy", "numba", "llvmlite", "papermill", "distributed", "matplotlib"} <= known.keys()
    assert not {"ruff", "pytest", "hypothesis", "playwright", "jupyterlab", "uv"} & known.keys()
    assert "pytest" in notebooks.needed("dueling", "test")


def test_what_the_lock_names_and_is_installed():
    lock = "numpy==1.0 \\\n    --hash=sha256:ab\nnot-here==1 ; sys_platform == 'win32'\n# via x\n"
    assert notebooks.installed(lock) == {"numpy": version("numpy")}


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
    contents(root, "book/a", "book/b")
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


def test_a_package_counts_where_more_than_its_modules_is_imported(root):
    package = root / "dueling"
    (package / "__init__.py").write_text("from .game import Game\n")
    game, inside = package / "game.py", package / "engine" / "checks.py"
    for text in (
        "import dueling.game",
        "from dueling import game",
        "from dueling.game import Game",
    ):
        assert sources.imported(root, text) == {game, inside}
    for text in ("import dueling", "from dueling import Game", "from dueling import *"):
        assert sources.imported(root, text) == {package / "__init__.py", game, inside}


@pytest.mark.parametrize("text", ["%time 1", "a b", "'\0'"])
def test_a_cell_that_is_not_plain_python_may_import_anything(root, text):
    assert sources.imported(root, "x = 1") == set()
    assert sources.imported(root, "x = 1", text) == set((root / "dueling").rglob("*.py"))


# --- what runs again in this repository


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what decides the outputs of the real notebooks, and of what does not."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("dueling", "edition", "book", "formal"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("_toc.yml", "_config.yml", "requirements.txt", "Makefile"):
        shutil.copy(ROOT / name, copy / name)
    return copy


def marks(checkout):
    """The fingerprints of all notebooks under the small profile."""
    smoke = notebooks.profile_parameters(checkout, "smoke")
    names = notebooks.notebooks(checkout)
    return {name: notebooks.fingerprint(checkout, name, smoke) for name in names}


def another_word(text):
    return text + b"\n# another word\n"


def another_title(text):
    """A notebook whose first line of prose says more."""
    return text.replace(b'"# ', b'"# More on ', 1)


def touched(checkout, file, edit=another_word):
    """The notebooks that would run again after an edit of a file."""
    path, before = checkout / file, marks(checkout)
    text = path.read_bytes()
    path.write_bytes(edit(text))
    after = marks(checkout)
    path.write_bytes(text)
    return {name for name in before if before[name] != after[name]}


MACHINERY = ["run", "execute", "progress", "leash", "overlay", "kernel", "notebooks", "nursery"]
NO_INPUT = [
    *(f"edition/{name}.py" for name in MACHINERY),
    *(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "edition" / "sphinx").glob("*.py"))),
    *(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "edition" / "release").glob("*.*"))),
    *("book/_static/custom.css", "book/_static/book.js", "book/index.md", "book/references.bib"),
    *("_config.yml", "Makefile", "requirements.txt", "book/profiles.yml"),
]


def test_what_shows_or_runs_the_book_runs_nothing_again(checkout):
    asks = "book/experiments/claims"  # edition.notebooks for the parameters of the other pages
    asked = sources.imported(checkout, notebooks.code_of(checkout, [asks]))
    machinery = {f"edition/{name}.py" for name in MACHINERY}
    excused = {file for file in machinery if checkout / file in asked}
    before = marks(checkout)
    for files, runs in ((set(NO_INPUT) - excused, set()), (excused, {asks})):
        for file in files:
            with (checkout / file).open("a") as text:
                text.write("\n# another word\n")
        after = marks(checkout)
        assert {name for name in before if before[name] != after[name]} == runs


#: The pages that list what the ledgers of all proofs hold.
LISTS = {"book/back/errata", "book/back/witnesses", "book/experiments/claims"}


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("edition/verdicts.py", {"book/experiments/claims"}),
        ("book/experiments/claims.yml", {"book/experiments/claims"}),
        ("book/back/notation.yml", {"book/back/notation"}),
        ("formal/checked.json", {"book/theory/champion", "book/theory/doubler", *LISTS}),
        ("_toc.yml", {"book/back/notation", "book/back/statements", *LISTS}),
    ],
)
def test_a_page_s_own_helper_runs_that_page_again(checkout, file, names):
    assert touched(checkout, file) == names


def test_an_edit_of_prose_runs_the_list_of_statements_again_which_quotes_it(checkout):
    quoting = {"book/back/statements"}
    assert touched(checkout, "book/theory/champion.ipynb", another_title) == quoting
    assert touched(checkout, "book/experiments/figure.ipynb", another_title) == set()


def test_what_every_notebook_imports_runs_them_all_again(checkout):
    assert touched(checkout, "edition/tables.py") >= touched(checkout, "dueling/game.py")
    assert "book/theory/game" in touched(checkout, "dueling/game.py")


# --- what is refused


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-p", "book/a", "runz", "9"], "book/a has no parameter runz; its parameters are: runs."),
        (["-p", "book/z", "runs", "9"], "for book/z, which is not a notebook"),
        (["-p", "book/a", "runs", "[1"], "runs is '[1'; it must be a number, a word, or a list"),
        (["-p", "book/a", "runs", "2001-02-03"], "runs is '2001-02-03'; it must be"),
        (["-p", "book/a", "runs", "2001-99-99"], "runs is '2001-99-99'; it must be"),
        (["-p", "book/a", "runs", "9" * 5000], "it must be a number"),
        (["-p", "book/a", "runs", ".nan"], "runs is '.nan'; it must be"),
        (["-p", "book/a", "runs", "{1: 2}"], "runs is '{1: 2}'; it must be"),
        (
            ["-p", "book/a", "runs", "1", "-p", "book/a.ipynb", "runs", "2"],
            "runs of book/a is given",
        ),
        (["--only", "book/z"], "book/z is not a notebook of _toc.yml"),
        (["--profile", "tiny"], "There is no profile tiny"),
        (["--profile", "../full"], "There is no profile ../full"),
    ],
)
def test_refuses_what_it_does_not_know(root, executions, capsys, words, sentence):
    assert built(root, *words) == 1
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1
    assert executions == []


@pytest.mark.parametrize("words", [["--jobs", "0"], ["--jobs", "two"], ["--limit", "-1"]])
def test_refuses_numbers_below_one(root, executions, capsys, words):
    with pytest.raises(SystemExit):
        built(root, *words)
    assert "is not a whole number >= 1" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["7", "1.5", "word", "[2, 4]", "true", "{a: 1}"])
def test_values_of_the_command_line(value):
    assert notebooks.value("runs", value) == yaml.safe_load(value)


def test_refuses_a_circle(root, executions, capsys):
    two(root, ["book/b"], ["book/a"])
    assert built(root) == 1
    assert "in a circle" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"cells": [{"id": "a"}]}'])
def test_refuses_what_is_not_a_notebook(root, executions, capsys, text):
    (root / "book" / "a.ipynb").write_text(text)
    assert built(root) == 1
    assert "a.ipynb cannot be read as a notebook" in capsys.readouterr().err


def test_refuses_a_notebook_whose_data_are_not_there(root, executions, capsys):
    put(root, "book/a", notebook(PARAMETERS, reads=["book/a.yml"]))
    assert built(root) == 1
    assert "book/a reads book/a.yml, which is not there." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../full", "a/b", "", "..", "/tmp"])
def test_a_profile_does_not_leave_the_build_folder(root, monkeypatch, capsys, name):
    monkeypatch.setenv("BOOK_PROFILE", name)
    assert run.main(["--root", str(root)]) == 1
    assert f"BOOK_PROFILE is {name!r}; it must be a name of" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../t", "/tmp/t", "a/../../t", ".", ""])
def test_results_do_not_leave_their_folder(root, monkeypatch, name):
    monkeypatch.chdir(root)
    monkeypatch.delenv("BOOK_PROFILE", raising=False)
    for write in (tables.write_text, tables.write_volatile):
        with pytest.raises(ValueError, match="it must lead to a file inside of results"):
            write(name, "x")
    with pytest.raises(ValueError, match="it must lead to a file inside of results"):
        place.inside(tables.folder(), name)
    assert not (root / "_build").exists()
    tables.write_text("a/../t.csv", "x")
    assert (root / "_build" / "results" / "t.csv").read_text() == "x"


# --- what is damaged


def halved(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path):
    path.write_text("")


def nulled(path):
    path.write_text("null")


def unmarked(path):
    path.write_text(json.dumps(notebook(PARAMETERS, SHOW)))


def edited_output(path):
    done = json.loads(path.read_text())
    done["cells"][2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["4"]}]
    path.write_text(json.dumps(done))


def edited_record(path):
    done = json.loads(path.read_text())
    done["metadata"]["executed"]["parameters"] = {"runs": 4}
    path.write_text(json.dumps(done))


@pytest.mark.parametrize(
    "damage", [halved, emptied, nulled, unmarked, edited_output, edited_record]
)
def test_a_damaged_execution_is_none(root, executions, damage):
    assert built(root) == 0
    damage(outputs(root))
    with pytest.raises(place.Refusal, match="not executed yet"):
        overlay.overlaid(root, "full", "book/a")
    assert built(root) == 0
    assert executions == ["book/a", "book/a"]
    assert overlay.overlaid(root, "full", "book/a")


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"book/a": 3}', '{"book/a": {"cpu": 1}}'])
def test_a_damaged_status_is_none(root, executions, text):
    path = outputs(root).parents[1] / "status.json"
    place.write(path, text)
    assert "book/a" not in about.status(root, "full")
    assert built(root) == 0
    assert "[](/book/a)" in about.status(root, "full") and set(json.loads(path.read_text())) == {
        "book/a"
    }


def test_what_a_killed_build_left_half_written_is_not_compared_and_goes(root, executions):
    halves = [root / "_build" / name / ".t.csv.123.part" for name in ("results", "executed/full")]
    for half in halves:
        place.write(half, "x")
    assert sums.sums(root / "_build") == {}
    assert built(root) == 0
    assert not any(half.exists() for half in halves)


def test_a_file_is_written_and_synced_before_it_takes_its_name(tmp_path, monkeypatch):
    path, order = place.write(tmp_path / "t.txt", "old"), []
    replace = os.replace
    monkeypatch.setattr(os, "fsync", lambda number: order.append(os.fstat(number).st_size))
    monkeypatch.setattr(os, "replace", lambda *names: order.append("named") or replace(*names))
    assert place.write(path, "newer").read_text() == "newer"
    assert order == [5, "named"]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = place.write(tmp_path / "t.txt", "old")

    def full(number):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        place.write(path, "new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("t.txt", "old")]


@pytest.mark.parametrize("place", ["/home/ann", "/home/José/Bücher"])
def test_outputs_do_not_tell_where_the_checkout_is(place):
    output = {"output_type": "stream", "text": f"{place}/dueling/game.py at 0x7f at ünder"}
    scrubbed = scrub.scrub(output, Path(place))
    assert scrubbed["text"] == "dueling/game.py at 0x0 at ünder"


def test_a_warning_keeps_its_line():
    """The place of a cell stands at the start of a line."""
    text = "first\n/tmp/ipykernel_12/345.py:3: UserWarning: \\n\n"
    assert scrub.scrub({"text": [text, 7]}, ROOT) == {
        "text": ["first\ncell.py:3: UserWarning: \\n\n", 7]
    }


def test_streams_are_one_piece_without_progress_bars():
    def said(name, text):
        return {"output_type": "stream", "name": name, "text": text}

    cut = [said("stdout", "a"), said("stderr", "\r 3 it/s"), said("stdout", "b")]
    assert scrub.merge(cut) == [said("stdout", "ab")]


# --- side by side


@pytest.fixture
def timed(monkeypatch):
    """What began and ended when, each notebook for as many tenths of a second as it is said."""
    events, tenths = [], {}

    def fake(root, profile, name, about, kernel, limit):
        events.append(("began", name))
        time.sleep(tenths.get(name, 0) / 10)
        if tenths.get(name) == 0:
            raise place.Refusal(f"{name} failed")
        events.append(("ended", name))

    monkeypatch.setattr(run, "execute", fake)
    return events, tenths


def many(root, **needs):
    """A book of several notebooks, each with what it needs."""
    contents(root, *needs)
    for name, others in needs.items():
        put(root, name, notebook(PARAMETERS, needs=others.split()))
    (root / "book" / "profiles.yml").write_text("full: {}\n")


def test_the_longest_chain_comes_first():
    graph = {"a": set(), "b": set(), "c": {"a"}, "d": {"a", "c"}}
    ranked = run.ranks(graph, {"a": 1.0, "b": 5.0, "c": 2.0, "d": 4.0})
    assert ranked == {"a": 7.0, "b": 5.0, "c": 6.0, "d": 4.0}


def test_notebooks_run_side_by_side_longest_first_and_after_what_they_need(root, timed):
    events, tenths = timed
    many(root, a="", b="", c="", d="a b")
    tenths |= {"a": 1, "b": 6, "c": 1, "d": 1}
    (root / "book" / "costs.yml").write_text("full: {a: 1, b: 9, c: 2, d: 1}\n")
    assert built(root, "--jobs", "2") == 0
    begun = [name for what, name in events if what == "began"]
    assert begun == ["b", "c", "a", "d"]  # a and c are as long on the way to the end
    assert events.index(("began", "a")) < events.index(("ended", "b"))
    assert events.index(("began", "d")) > events.index(("ended", "b"))


def test_one_job_is_one_at_a_time(root, timed):
    events, tenths = timed
    many(root, a="", b="")
    tenths |= {"a": 1, "b": 1}
    assert built(root, "--jobs", "1") == 0
    assert [what for what, _ in events] == ["began", "ended"] * 2


def test_costs_are_the_last_known_ones_else_typical_ones(root, executions):
    many(root, a="", b="", c="")
    (root / "book" / "costs.yml").write_text("full: {a: 7, b: 3}\n")
    assert run.expected(root, "full", ["a", "b", "c"]) == {"a": 7.0, "b": 3.0, "c": run.GUESS}
    assert built(root, "--only", "a") == 0
    assert run.expected(root, "full", ["a", "b"]) == {"a": 0.0, "b": 3.0}


def test_the_status_page_tells_how_long_the_last_build_took(root, executions):
    many(root, a="", b="", c="")
    assert "ran" not in about.status(root, "full")
    assert built(root, "--jobs", "2") == 0
    told = about.status(root, "full")
    assert "The last build ran 3 notebooks, at most 2 at a time, in 0 s on the clock" in told
    assert built(root, "--jobs", "2") == 0  # nothing to run
    assert about.status(root, "full") == told
    assert built(root, "--", "true") == 0
    last = "\nWhat comes after the notebooks, the pages, took 0 s the last time.\n"
    assert about.status(root, "full") == f"{told}\n{last}"


def test_typical_costs_are_known_for_every_notebook_and_profile():
    typical = yaml.safe_load(place.read(ROOT / "book" / "costs.yml"))
    assert typical.pop("pages") > 0
    assert set(typical) == set(yaml.safe_load(place.read(ROOT / "book" / "profiles.yml")))
    for seconds in typical.values():
        assert set(seconds) == set(notebooks.notebooks(ROOT))


def test_a_failure_starts_nothing_more(root, timed, capsys):
    events, tenths = timed
    many(root, a="", b="", c="", d="")
    (root / "book" / "costs.yml").write_text("full: {a: 9, b: 8, c: 7, d: 6}\n")
    tenths |= {"a": 0, "b": 3, "c": 3, "d": 3}
    assert built(root, "--jobs", "2") == 1
    assert capsys.readouterr().err == "a failed\n"
    assert {name for _, name in events} == {"a", "b"} and ("ended", "b") in events


def test_progress_in_lines_where_there_is_no_terminal(root, timed, capsys):
    many(root, a="", b="a")
    (root / "book" / "costs.yml").write_text("full: {a: 300, b: 60}\n")
    assert built(root, "--jobs", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 notebooks to run, 1 at a time: about 6 min."
    assert lines[1] == "a: running" and lines[2].startswith("a: 0.") and "(1 of 2" in lines[2]
    assert "about 60 s left" in lines[2] and "left" not in lines[4]


def test_the_pages_are_a_part_of_what_is_left(root, executions, capsys):
    """They take what they took the last time, else what is typical; without them, nothing."""
    many(root, a="")
    (root / "book" / "costs.yml").write_text("full: {a: 300}\npages: 240\n")
    render, after = ["sh", "-c", "exit 0"], root / "_build/executed/full/after.json"
    assert built(root, "--jobs", "1", "--", *render) == 0
    first, _, last, *_ = capsys.readouterr().out.splitlines()
    assert first == "1 notebook to run, 1 at a time, then the pages: about 9 min."
    assert last.endswith("(1 of 1, about 4 min left)")
    assert run.pages(root, "full", render) < 60 and run.pages(root, "full", ["another"]) == 240
    assert run.pages(root, "full", []) == 0
    for damaged in ("[]", '{"a": "b"}', "{"):
        after.write_text(damaged)
        assert run.pages(root, "full", render) == 240


def test_what_runs_is_shown_while_it_runs(root, timed, monkeypatch):
    seen = []
    monkeypatch.setattr(Progress, "show", lambda progress, spent: seen.append({*spent}))
    many(root, a="", b="")
    assert built(root, "--jobs", "2") == 0
    assert {"a", "b"} in seen


def test_progress_in_one_line_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 20)))
    flushed = []
    monkeypatch.setattr("sys.stdout.flush", lambda: flushed.append(1))
    progress = Progress({"book/a": 100.0, "book/b": 300.0}, jobs=2)
    progress.began("book/a")
    progress.show({"book/a": {"seconds": 12.3, "cpu": 20.0}})
    progress.ended("book/a", {"seconds": 50.0, "peak_mb": 7})
    progress.ended("book/b", {"seconds": 5.0, "peak_mb": 7})
    progress.close()
    assert len(flushed) == 5  # or a line without an end is not seen
    text = capsys.readouterr().out
    assert "about 5 min" in text and "running" not in text
    assert "\r\x1b[K2 left, about 5 min: book/a 12 s\r" in text
    assert "\r\x1b[Kbook/a: 50.0 s, 7 MB (1 of 2, about 5 min left)\n" in text
    assert "\r\x1b[Kbook/b: 5.0 s, 7 MB (2 of 2)\n" in text
    assert all(len(part) < 60 for part in text.split("\r"))


def test_the_report_of_a_failure_fits_a_screen(root):
    cell = {"id": "show", "source": "\n".join(f"line {i}" for i in range(30))}
    trace = ["\n".join(f"\x1b[31mtrace {i}\x1b[0m" for i in range(30))]
    head, *lines = execute.report(root, "book/a", cell, trace).splitlines()
    assert head == "book/a.ipynb failed in code cell 2:"
    assert lines[:20] == [f"    line {i}" for i in range(18)] + ["    ...", ""]
    assert lines[20:] == [f"trace {i}" for i in range(16, 30)]
    shorter = cell | {"source": "\n".join(["x = 1"] * 18)}
    assert "..." not in execute.report(root, "book/a", shorter, trace)
    longer = cell | {"source": "\n".join(["x = 1"] * 19)}
    assert "    ...\n" in execute.report(root, "book/a", longer, trace)


def test_times_in_words():
    assert [span(s) for s in (0.4, 119, 121, 3600)] == ["0 s", "119 s", "2 min", "60 min"]


# --- the overlay


def test_overlay_refuses_what_was_not_executed(root):
    with pytest.raises(place.Refusal, match="not executed yet"):
        overlay.overlaid(root, "full", "book/a")


@pytest.mark.parametrize("change", [edit_code, edit_package, edit_cell_id])
def test_overlay_refuses_what_is_stale(root, executions, change):
    assert built(root) == 0
    change(root)
    with pytest.raises(place.Refusal, match="changed since its execution"):
        overlay.overlaid(root, "full", "book/a")


# --- the pages


def test_previews_are_bare_also_of_what_stands_inside_another():
    body = """<section id="s"><div class="cell" id="c"><p id="q">no</p></div>
<div class="proof" id="thm"><p id="p">By <a href="#x" id="x">it</a><a class="headerlink">#</a></p>
<div class="math" id="eq">1 + 1</div></div><figure id="fig"><img src="a.png"/>words</figure>"""
    assert previews.previews(body) == {
        "thm": '<div class="proof"><p>By <span>it</span></p>\n<div class="math">1 + 1</div></div>',
        "eq": '<div class="math">1 + 1</div>',
        "fig": "<figure>words</figure>",
    }


def test_pages_are_written_on_all_cores_and_read_on_one():
    hooks = {}
    app = SimpleNamespace(parallel=1, connect=lambda event, hook, **_: hooks.update({event: hook}))
    pages.setup(app)
    assert app.parallel == 1
    hooks["env-updated"](app, None)
    assert app.parallel == joblib.cpu_count()


def test_the_pages_of_a_small_profile_say_so(monkeypatch):
    hooks, config = {}, SimpleNamespace(html_theme_options={})
    pages.setup(SimpleNamespace(connect=lambda event, hook, **_: hooks.update({event: hook})))
    monkeypatch.setenv("BOOK_PROFILE", "full")
    hooks["config-inited"](None, config)
    assert config.html_theme_options == {}
    monkeypatch.setenv("BOOK_PROFILE", "smoke")
    hooks["config-inited"](None, config)
    assert "“smoke”: a small run" in config.html_theme_options["announcement"]


@pytest.mark.parametrize(("profile", "command"), [("full", ""), ("smoke", " PROFILE=smoke")])
def test_a_page_without_outputs_names_the_command_that_makes_them(
    root, monkeypatch, profile, command
):
    warnings = []
    monkeypatch.setenv("BOOK_PROFILE", profile)
    monkeypatch.setattr(page_outputs.logger, "warning", lambda *told, **at: warnings.append(told))
    environment = SimpleNamespace(doc2path=lambda name: f"{name}.ipynb")
    text = ["[t](/_build/results/t.csv)"]
    page_outputs.on_source_read(SimpleNamespace(srcdir=root, env=environment), "book/a", text)
    ((words, *told),) = warnings
    expected = f"no outputs to show: not executed yet; run `make book{command}`"
    assert words % tuple(told) == expected
    small = "-smoke" * (profile == "smoke")
    assert text == [f"[t](/_build/results{small}/t.csv)"]


def test_every_extension_says_that_it_may_work_on_several_cores():
    """One that does not is a warning of Sphinx, at which `make book` stops."""
    names = [entry.name for entry in pkgutil.iter_modules(sphinx.__path__)]
    extensions = [import_module(f"{sphinx.__name__}.{name}") for name in names]
    assert pages in extensions
    for extension in extensions:
        about = extension.setup(MagicMock())
        assert about["parallel_read_safe"] is about["parallel_write_safe"] is True, extension


def test_the_kernels_are_made_while_the_pages_are_read(tmp_path, monkeypatch):
    """Begun by the first thing to play, unless they are there; in the end they are waited for."""
    begun, root = [], tmp_path.resolve()
    monkeypatch.setattr(bundle, "begun", lambda root: begun.append(root) or "a process")
    for builder, processes in (("singlehtml", 0), ("html", 1), ("html", 1)):
        app = SimpleNamespace(builder=SimpleNamespace(name=builder), srcdir=str(root))
        env = SimpleNamespace(app=app, docname="page", metadata={"page": {}})
        page = SimpleNamespace(env=env, arguments=["bandit"], options={}, content=[])
        page.content_offset, page.state = 0, SimpleNamespace(nested_parse=lambda *words: None)
        for _ in range(2):
            play.Play.run(page)
        assert len(begun) == processes
        if processes:
            place.write(bundle.kept(root), "made")
    assert app._kernels is None and bundle.file(root, app._kernels) == bundle.kept(root)
    for text, waits in (("import time; time.sleep(0.5)", True), ("raise SystemExit('no')", False)):
        making = subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True)
        with nullcontext() if waits else pytest.raises(place.Refusal, match="made: no"):
            bundle.file(root, making)
        assert making.returncode == (0 if waits else 1)


def test_a_build_of_pages_looks_for_garbage_seldom():
    """Its trees are large: with Python's own settings it took half as long again."""
    usual, frozen, hooks = gc.get_threshold(), gc.get_freeze_count(), {}
    pages.setup(SimpleNamespace(connect=lambda event, hook, **_: hooks.update({event: hook})))
    try:
        gc.set_threshold(700)  # pages may have been built in this process before
        hooks["builder-inited"](None)
        assert gc.isenabled() and gc.get_threshold()[0] > 7_000
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
