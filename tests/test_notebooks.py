"""Notebooks as a reader uses them: all cells twice in one kernel, every parameter changed."""

import ast
import builtins
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from itertools import accumulate
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import myst_nb
import numpy as np
import pytest
import yaml

from edition import notebook, notebooks, place, run, witness

ROOT = Path(__file__).parents[1]
NAMES = notebooks.notebooks(ROOT)


def code(name):
    """The sources of a notebook's code cells, by id."""
    cells = notebooks.code(notebooks.load(notebooks.source(ROOT, name)))
    return {cell["id"]: cell["source"] for cell in cells}


def keywords(source):
    """The keywords of the call that checks the parameters, if some code has it."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    checks = [call for call in calls if ast.unparse(call.func) == "notebook.parameters"]
    return [word for call in checks for word in call.keywords]


def rules(name):
    """The parameters of a notebook as its own check states them: default, least, perhaps most."""
    words = [word for text in code(name).values() for word in keywords(text)]
    return {word.arg: eval(ast.unparse(word.value)) for word in words}


WITH_PARAMETERS = [name for name in NAMES if "parameters" in code(name)]


# --- read without running


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_the_defaults_are_those_of_the_first_cell(name):
    first, (_, second, *_) = {}, code(name).values()
    exec(code(name)["parameters"], first)
    del first["__builtins__"]
    assert {key: default for key, (default, *_) in rules(name).items()} == first
    assert keywords(second), "checked before any work"


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_warns_when_it_is_compiled(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cell, source in code(name).items():
            compile(source, f"{name}: {cell}", "exec")


def test_the_tour_s_command_runs_its_page_and_renders_it():
    page = notebooks.load(notebooks.source(ROOT, "book/tour"))["cells"][-1]["source"]
    (line,) = re.findall(r"^    .*-m edition.run (.*)$", page, re.M)
    options = run.arguments(shlex.split(line))
    assert options.only == ["book/tour"] and options.command[-2:] == ["build", "."]
    chosen = notebooks.chosen_parameters(ROOT, options.profile, options.given)
    assert chosen["book/tour"]["runs"] == 100
    assert "`_build/html/book/tour.html`" in page


# --- parameters


def given(**changed):
    return {"runs": 400, "alpha": 3.0, "dims": [2, 4], "workers": 2} | changed


def check(names):
    return notebook.parameters(
        names, runs=(400, 2), alpha=(3.0, 0), dims=([2, 4], 1, 64), workers=(2, 1)
    )


def test_good_parameters_have_their_kinds():
    names = given(runs=30.0, alpha=1, dims=[2.0, 8]) | {"b": 1}
    check(names)
    assert names == {"runs": 30, "alpha": 1.0, "dims": [2, 8], "workers": 2, "b": 1}
    assert [type(names[key]) for key in ("runs", "alpha")] == [int, float]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"runs": 1}, "runs is 1; it must be a whole number >= 2"),
        ({"runs": "x"}, "runs is 'x'; it must be a whole number >= 2"),
        ({"alpha": 0}, "alpha is 0; it must be between 0 and inf"),
        ({"alpha": None}, "alpha is None; it must be between 0 and inf"),
        ({"dims": 3}, "dims is 3; it must be a list of two or more, increasing"),
        ({"dims": [4, 2]}, r"dims is \[4, 2\]; it must be a list of two or more, increasing"),
        ({"dims": [2, "x"]}, "an entry of dims is 'x'; it must be a whole number >= 1"),
        ({"dims": [2, 65]}, "an entry of dims is 65; it must be at most 64"),
    ],
)
def test_a_bad_parameter_is_refused_in_a_sentence(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        check(given(**changed))


def test_an_assertion_for_the_defaults_stops_the_page_with_the_defaults():
    for names in (given(), given(workers=1)):  # workers change no number
        with pytest.raises(AssertionError, match="best everywhere"), check(names):
            raise AssertionError("best everywhere")


def test_an_assertion_for_the_defaults_is_named_with_other_parameters(capsys):
    defaults = check(given(runs=30))
    for words in (["best everywhere"], []):
        with defaults:
            raise AssertionError(*words)
    with pytest.raises(ZeroDivisionError), defaults:
        raise ZeroDivisionError
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("with runs = 30 (default 400) it fails: best everywhere")
    assert second.endswith("it fails: raise AssertionError(*words)"), "the text of the assertion"


def test_numbers_are_glued_under_the_name_of_their_page(monkeypatch):
    glued = {}
    monkeypatch.setattr(myst_nb, "glue", lambda key, value, display: glued.update({key: value}))
    notebook.say("page", low_end=np.float64(1.5), count=np.int64(3), **{"as printed": "x"})
    assert glued == {"page-low-end": 1.5, "page-count": 3, "page-as-printed": "x"}
    assert [type(value) for value in glued.values()] == [float, int, str]


# --- tables


def test_the_best_cells_of_a_table_are_bold_and_columns_of_numbers_stay_to_the_right():
    head = ("game", "IF", "Sparring", "Doubler")
    rows = [("x", "12 ± 3", "9.5 ± 2", "10"), ("y", "7 ± 1", "7 ± 3", "8"), ("z", 0, 0, 0)]
    _, rule, *lines = notebook.table(head, rows, best="row").data.splitlines()
    assert rule == "| --- | ---: | ---: | ---: |"
    assert lines[0] == "| x | 12 ± 3 | **9.5 ± 2** | 10 |", "the least mean, by its value"
    assert lines[1] == "| y | **7 ± 1** | **7 ± 3** | 8 |", "what looks equal is equal"
    assert lines[2] == "| z | 0 | 0 | 0 |", "where all are equal none is best"
    named = notebook.table(head, rows[:2], best=[["IF", "Doubler"], ()]).data.splitlines()
    assert named[2:] == ["| x | **12 ± 3** | 9.5 ± 2 | **10** |", "| y | 7 ± 1 | 7 ± 3 | 8 |"]
    with pytest.raises(ValueError, match="shorter"):
        notebook.table(head, rows, best=[()])


# --- run

COSTS = yaml.safe_load((ROOT / "book" / "costs.yml").read_text())["smoke"]
BRIEF = 40  # seconds of the notebooks together, each run once, that `make check` has for this
QUICK = {"book/appendix/lockin": {"tips": 2000, "meetings": 200, "reach": 40}}  # a slow model
#: Values between the least and the default that have stopped a page: no ten times, a relapse cut.
STOPPED = {"book/theory/multisbm": {"T": 33281}, "book/theory/sparring": {"T": 34817}}


def cheap(costs):
    """The cheapest notebooks, as many as take :data:`BRIEF` seconds together."""
    names = sorted(costs, key=costs.__getitem__)
    return {n for n, total in zip(names, accumulate(map(costs.get, names))) if total <= BRIEF}


def marked(name):
    """A notebook, with the marks that say whether `make check` runs it too."""
    marks = [pytest.mark.long] + [pytest.mark.cheap] * (name in cheap(COSTS))
    return pytest.param(name, marks=marks)


def collected(selection):
    """The notebooks that pytest takes to run again, given the marks to select."""
    words = ["--collect-only", "-q", "-m", selection, "-k", "run_again", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *words, __file__]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    return set(re.findall(r"parameter_changed\[(.*)\]$", told, re.M))


@pytest.mark.slow
def test_the_cheap_notebooks_run_again_in_make_check_and_all_of_them_if_asked():
    (selection,) = re.findall(r"-m '(built and .*?)'", (ROOT / "Makefile").read_text())
    assert collected(selection) == cheap(COSTS) >= {"book/theory/game", "book/use/own"}
    assert collected("long") == {*NAMES}


def test_ci_runs_all_of_them_again_once_the_small_book_is_there():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    done = [step.get("run") for step in jobs["build"]["steps"]]
    again = done.index('make test PYTEST="-n auto -m long"')
    assert done.index("make book PROFILE=smoke") < done.index("make pdf") < again


def changed(default, least, *_):
    """Another value of a parameter: the least allowed, a real number doubled, a list cut short."""
    if isinstance(default, list):
        return default[:3]
    return 2 * default if isinstance(default, float) else least


def play(name, settings, names):
    """What each cell of a notebook prints, run in a namespace as the kernel keeps it.

    The counterexamples of a solver that remembers earlier questions are left out.
    """
    printed = {}
    for cell, source in code(name).items():
        if cell == "parameters":
            source += "".join(f"\n{key} = {value!r}" for key, value in settings.items())
        with redirect_stdout(io.StringIO()) as text:
            exec(compile(source, f"{name}: {cell}", "exec"), names)
        printed[cell] = re.sub("counterexample .*", "", text.getvalue())
    plt.close("all")
    return printed


@pytest.fixture
def opened(monkeypatch):
    """The files that are opened, or asked for."""
    paths, plain_open = set(), open

    def noting(file, *words, **options):
        if isinstance(file, str | Path):
            paths.add(Path(file).resolve())
        return plain_open(file, *words, **options)

    for module in (builtins, io):
        monkeypatch.setattr(module, "open", noting)
    return paths


def known(name):
    """The files besides modules and results that the fingerprint of a notebook counts."""
    parts = notebooks.in_order(ROOT, [name])
    sources = {notebooks.source(ROOT, part) for part in parts}
    return sources.union(*(notebooks.reads(ROOT, part) for part in parts))


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout to write into, with the results of the small book."""
    if not place.results(ROOT, "smoke").exists():
        pytest.skip("the small book is not built: make book PROFILE=smoke")
    shutil.copytree(place.results(ROOT, "smoke"), place.results(tmp_path, "smoke"))
    for name in ("_toc.yml", "book", "formal"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOK_PROFILE", "smoke")
    plt.switch_backend("agg")
    with mpl.rc_context():
        yield tmp_path


@pytest.mark.built
@pytest.mark.parametrize("profile", ["full", "smoke"])
def test_no_check_of_a_built_book_is_open(profile):
    """With the profile's own parameters each check of the pages of proofs has power."""
    usual, folder = notebooks.profile_parameters(ROOT, profile), place.results(ROOT, profile)
    records = {p: notebooks.record(ROOT, profile, p) for p in place.proofs(ROOT).values()}
    built = [p for p in records if records[p].get("parameters") == usual.get(p, {})]
    if not built:
        pytest.skip(f"the book of the profile {profile} is not built")
    ledgers = [folder / "ledgers" / f"{page.rpartition('/')[2]}.json" for page in built]
    rows = [row for path in ledgers for row in json.loads(place.read(path))]
    assert [row["anchor"] for row in rows if row["kind"] == witness.OPEN] == []


@pytest.mark.built
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
def test_all_cells_run_again_and_with_every_parameter_changed(checkout, opened, name):
    names, small = {"__name__": "__main__"}, notebooks.profile_parameters(ROOT, "smoke")
    first, second = (play(name, small.get(name, {}), names) for _ in range(2))
    assert first == second
    places = [ROOT / part for part in ("book", "formal", "_toc.yml")]
    inputs = {path for path in opened for place in places if path.is_relative_to(place)}
    assert inputs <= known(name) | {ROOT / "book" / "profiles.yml"}  # parameters count one by one
    if name in place.proofs(ROOT).values():
        assert not re.search("^open: ", "\n".join(first.values()), re.M), "checks have power"
    others = small.get(name, {}) | QUICK.get(name, {}) | {"workers": 1}
    for key in rules(name).keys() - {"workers"}:
        play(name, others | {key: changed(*rules(name)[key])}, names)
    play(name, others | STOPPED.get(name, {}), names)
