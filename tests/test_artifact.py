"""The repository as something to cite, and the built book as something to trust.

What is marked ``built`` needs the built book, or builds a small one: `make check` runs it.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
import pytest
import tiny
import yaml
from bs4 import BeautifulSoup
from conftest import other_checkout
from pypdf import PdfReader, PdfWriter

import dueling
from dueling import Result, Utilities, logit, machines, simulate
from dueling.engine import provenance
from edition.drawings import DRAWINGS
from edition.place import Refusal
from edition.release import browser, citation, elsewhere, facts, manifest, pdf, rows
from edition.sphinx import about
from edition.sums import differing, digest, sum_of, sums

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "_build" / "html"
HERE = facts.edition(ROOT)


# --- citing


def test_metadata_say_what_pyproject_says():
    assert citation.outdated(ROOT) == []


def test_metadata_are_renewed_where_they_are_out_of_date(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(citation, "ROOT", tmp_path)
    for name in ("pyproject.toml", "requirements.txt", "codemeta.json", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    put(tmp_path / "CITATION.cff", "cff-version: 1.2.0\n")
    names = ["CITATION.cff", ".zenodo.json"]
    assert citation.main(["--check"]) == 1
    expected = "".join(f"{name} is out of date: make metadata\n" for name in names)
    assert capsys.readouterr().out == expected and not (tmp_path / ".zenodo.json").exists()
    assert citation.main([]) == 0
    assert capsys.readouterr().out == "".join(f"wrote {name}\n" for name in names)
    assert citation.main(["--check"]) == 0 and citation.main([]) == 0
    assert (tmp_path / names[0]).read_text() == (ROOT / names[0]).read_text()


def test_a_page_is_cited_as_a_part_of_the_edition():
    for text, whole, part in (
        (HERE.bibtex, f"  title = {{{{{HERE.title}}}}},\n", f"{{{{A page, in: {HERE.title}}}}},\n"),
        (HERE.citation, f"). {HERE.title}. Version", f"). “A page”, in: {HERE.title}. Version"),
    ):
        arguments = ("key",) * (text == HERE.bibtex)
        assert whole in text(*arguments) and part in text(*arguments, "A page")


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert dueling.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    for name in ("codemeta.json", ".zenodo.json"):
        assert json.loads((ROOT / name).read_text())["version"] == version
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_archive_learns_which_paper_this_is():
    related = json.loads(citation.zenodo(HERE))["related_identifiers"]
    assert [link["identifier"] for link in related] == [HERE.paper["url"]]


def test_the_book_has_the_edition_s_title():
    assert yaml.safe_load((ROOT / "_config.yml").read_text())["title"] == HERE.title


SCHEMAS = [
    ("citation-file-format", "CITATION.cff"),
    ("github-workflows", ".github/workflows/ci.yml"),
    ("github-issue-forms", ".github/ISSUE_TEMPLATE/erratum.yml"),
    ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "file"), SCHEMAS)
def test_files_for_hosts_fit_their_schema(schema, file):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, str(ROOT / file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_is_said_to_be_made_can_be_made():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    pages = ("book/back/reproduce.md", "book/back/artifact.md")
    for file in ("README.md", *pages, ".github/workflows/ci.yml", "CHANGELOG.md"):
        said = set(re.findall(r"make ([a-z]+)", (ROOT / file).read_text()))
        assert said <= targets | {"sense"}, file


def test_the_readme_says_what_how_and_cite_on_its_first_screen():
    screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:24])
    assert all(word in screen for word in ("Ailon", "make book", "make test", "cite"))
    assert "![" not in screen  # no badge


def test_no_link_to_a_host_without_a_host():
    assert replace(HERE, repository="").links("book/tour.ipynb") == {}


def test_links_to_the_host_once_there_is_one():
    links = replace(HERE, repository="https://github.com/o/r", branch="m").links("book/tour.ipynb")
    assert links == {
        "Edit this page": "https://github.com/o/r/edit/m/book/tour.ipynb",
        "Run on Binder": "https://mybinder.org/v2/gh/o/r/m?urlpath=lab/tree/book/tour.ipynb",
        "Run on Colab": "https://colab.research.google.com/github/o/r/blob/m/book/tour.ipynb",
    }
    assert set(replace(HERE, repository="https://github.com/o/r").links("a.md")) == {
        "Edit this page"
    }


def test_an_archive_knows_its_commit(tmp_path):
    assert facts.commit(tmp_path) == "unknown"
    (tmp_path / ".git_archival.txt").write_text("$Format:%H$\n")
    assert facts.commit(tmp_path) == "unknown"
    (tmp_path / ".git_archival.txt").write_text("ab" * 20 + "\n")
    assert facts.commit(tmp_path) == "ab" * 20


def test_git_archive_writes_the_commit_that_results_name(tmp_path):
    (repository := tmp_path / "repository").mkdir()
    (unpacked := tmp_path / "unpacked").mkdir()
    git = other_checkout(repository)
    for name in (".gitattributes", ".git_archival.txt"):
        shutil.copy(ROOT / name, repository)
    for words in (("add", "."), ("commit", "-q", "-m", "ours")):
        subprocess.run((*git, *words), check=True)
    subprocess.run((*git, "archive", f"--output={tmp_path / 'source.tar'}", "HEAD"), check=True)
    shutil.unpack_archive(tmp_path / "source.tar", unpacked)
    assert provenance.commit(unpacked) == provenance.git(repository, "rev-parse", "HEAD")


def test_an_archive_inside_another_checkout_knows_its_own_commit(tmp_path):
    other_checkout(tmp_path)
    (inner := tmp_path / "inner").mkdir()
    (inner / ".git_archival.txt").write_text("cd" * 20 + "\n")
    assert facts.commit(inner) == "cd" * 20


# --- comparing: what belongs to a result


HERE_AND_NOW = {"python": "3.11.7", "commit": "ab" * 20, "machine": "Linux-x86_64", "key": "k"}
ELSEWHERE = {"python": "3.11.2", "commit": "unknown", "machine": "Darwin-arm64", "key": "other"}
VERSIONS = {"versions": {"dueling": "0.3.0"}, "format": "dueling result 3"}


def told(path, about, value):
    """A result of either form, with its provenance."""
    if path.suffix == ".npz":
        with path.open("wb") as file:
            np.savez_compressed(file, about=np.array(json.dumps(about)), regret=np.array([value]))
    else:
        path.write_text(json.dumps(about | {"value": value}))


@pytest.mark.parametrize("name", ["t.json", "r.npz"])
def test_sums_of_results_are_blind_to_where_they_were_made(tmp_path, name):
    def known(about, value=1.0):
        told(tmp_path / name, about, value)
        return sum_of(tmp_path / name)

    first = known({"seed": 1} | HERE_AND_NOW)
    assert first == known({"seed": 1} | ELSEWHERE | VERSIONS) == known({"seed": 1})
    others = [known({"seed": 2} | HERE_AND_NOW), known({"seed": 1} | HERE_AND_NOW, 2.0)]
    assert first not in others


def test_what_provenance_adds_is_no_part_of_a_result():
    assert provenance.settings(provenance.provenance({"seed": 1})) == {"seed": 1}


def test_sums_of_ledgers_are_blind_to_the_commit_alone(tmp_path):
    def known(*words):
        (tmp_path / "l.json").write_text(json.dumps(words))
        return sum_of(tmp_path / "l.json")

    assert known("ab" * 20, "holds") == known("cd" * 20, "holds") != known("ab" * 20, "fails")


@pytest.mark.parametrize("commit", ["cd" * 20, "cd" * 20 + "-edited", "unknown"])
def test_sums_of_pages_are_blind_to_the_commit_alone(tmp_path, commit):
    def known(commit, words):
        (tmp_path / "p.html").write_text(f"<p>Version 1, commit {commit}. {words}</p>")
        return sum_of(tmp_path / "p.html")

    first = known("ab" * 20, "It holds.")
    assert known(commit, "It holds.") == first != known(commit, "It fails.")
    assert known(commit, "unknown") != known(commit, "known")


def test_the_front_page_counts_the_results_that_are_compared(tmp_path):
    folder = tmp_path / "_build" / "results"
    (folder / "figure").mkdir(parents=True)
    for name in ("claims.csv", "claims.json", "figure/1.npz", "figure/2.npz.part"):
        (folder / name).write_text("{}")
    assert about.results(tmp_path, "full") == len(sums(folder)) == 3


def test_sums_of_notebooks_are_blind_to_the_record_of_their_execution(tmp_path):
    def known(fingerprint, source):
        cells = [{"cell_type": "code", "source": source}]
        notebook = {"cells": cells, "metadata": {"executed": {"fingerprint": fingerprint}}}
        (tmp_path / "n.ipynb").write_text(json.dumps(notebook))
        return sum_of(tmp_path / "n.ipynb")

    assert known("a", "1 + 1") == known("b", "1 + 1") != known("a", "1 + 2")


@pytest.mark.parametrize("name", ["t.json", "r.npz", "n.ipynb"])
def test_a_damaged_file_has_a_sum_of_its_own(tmp_path, name):
    told(tmp_path / name, {"seed": 1}, 1.0)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    assert sum_of(tmp_path / name) == digest(whole[: len(whole) // 2])


def test_differences_are_named():
    found = differing({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"})
    assert found == ["c is missing", "d is new", "b differs"]


# --- comparing: a build with the manifest

FINAL = [
    ["scenario", "algorithm", "mean", "standard error", "median", "largest"],
    ["1good", "Sparring", "885.6", "19.4", "849.1", "6666.3"],
    ["1good", "MultiSBM", "1469.9", "4.7", "1461.7", "1776.9"],
    ["arith", "Sparring", "1339.8", "4.5", "1337.0", "1600.5"],
]
BOUND = [
    ["T", "simulated", "sharp", "error"],
    ["2", "0.97", "1.2", "0.02"],
    ["6", "2.9", "3.6", "0.06"],
]
VERDICTS = [["scenario", "R1", "R2"], ["1good", "holds", "fails"], ["arith", "holds", "open"]]
CLAIMS = [["id", "verdict"], ["1", "reproduced"], ["2", "not reproduced"]]
PAGE = '<article><h1>A</h1><p>It {} by {}.</p><section class="page-about">c</section></article>'


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def put_table(path, table, **about):
    put(path, "".join(",".join(row) + "\n" for row in table))
    put(path.with_suffix(".json"), json.dumps(about | HERE_AND_NOW))


PLAYED = {"T": 2, "scenario": "a game", "algorithm": "an algorithm", "regret": "preference"}


def put_runs(path, values, seed=1, **more):
    about = {"seed": seed, "runs": len(values)} | PLAYED | HERE_AND_NOW
    Result(np.array([2]), {"regret": np.array(values)[:, None], **more}, about).save(path)


def put_plays(path, played):
    """A result without regret: in each run an arm was played so often against itself."""
    plays = np.zeros((len(played), 2, 2, 2), np.int64)
    plays[:, 0, (0, 1), (0, 1)] = played
    about = PLAYED | {"T": 10, "runs": len(played), "regret": "none"}
    Result(np.array([10]), {"plays": plays}, about | HERE_AND_NOW).save(path)


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A small build in the shape of the book's, with its manifest."""
    made = tmp_path / "_build"
    put_table(made / "results/figure-final.csv", FINAL, runs=400)
    put_table(made / "results/figures/bound.csv", BOUND, runs=100)
    put_table(made / "results/figure-verdicts.csv", VERDICTS, runs=400)
    put_table(made / "results/claims.csv", CLAIMS)
    put_runs(made / "results/figure/a.npz", [1.0, 2.0, 3.0, 4.0])
    put_runs(made / "results/choices/b.npz", [5.0, 6.0, 7.0, 9.0])
    for name, played in (("c", [[1, 9], [2, 8]]), ("d", [[8, 2], [9, 1]])):
        put_plays(made / f"results/cycles/{name}.npz", played)
    put(made / "results/ledgers/game.json", '[{"how": "exact"}]')
    put(made / "html/book/a.html", PAGE.format("holds", 3))
    put(made / "html/figures/a.svg", "<svg/>")
    for name in ("data/claims.csv", "_downloads/ab/claims.csv"):
        put(made / "html" / name, (made / "results/claims.csv").read_text())
    put(made / "html/_static/theme.html", "<article>A template.</article>")
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    monkeypatch.setattr(manifest, "made_at", lambda root: {"libc": "glibc 1", "numpy": "2"})
    manifest.write(tmp_path)
    return made


def go_elsewhere(monkeypatch):
    monkeypatch.setattr(manifest, "made_at", lambda root: {"libc": "glibc 2", "numpy": "2"})


def report(capsys, *words):
    """The exit status of the comparison, and what it says."""
    capsys.readouterr()
    return manifest.main([*words]), capsys.readouterr().out


def edit(path, *pairs):
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def test_a_build_where_the_manifest_was_made(build, capsys):
    """Byte for byte, but for provenance; prose aside if asked; on a difference, by how much."""
    assert report(capsys) == (0, "Compared 18 files, byte for byte.\nNo difference.\n")
    edit(build / "results/claims.json", ("3.11.7", "3.11.2"), ("ab" * 20, "cd" * 20))
    assert report(capsys)[0] == 0
    edit(build / "html/book/a.html", ("by 3", "by 4"))
    assert report(capsys, "--only", "results")[0] == 0
    assert "pages: book/a.html differs" in report(capsys, "--only", "pages")[1]
    edit(build / "results/figure-final.csv", ("849.1", "849.2"), ("1776.9", "888.45"))
    status, text = report(capsys, "--only", "results")
    assert status == 1 and "Differences: 2." in text
    assert "median: 1 of 3 rows differ, most by 0.00012 of its value, in row 1 '849.2'" in text
    assert "largest: 1 of 3 rows differ, most by 0.5 of its value, in row 2" in text
    edit(build / "results/figure-final.csv", ("1337.0", "1470.7"))
    assert "median: 2 of 3 rows differ, most by 0.1 of its value, in row 3" in report(capsys)[1]
    edit(build / "html/data/claims.csv", ("id", "name"))
    assert "pages: data/claims.csv differs" in report(capsys)[1]


def test_a_change_of_form_alone_is_told_without_a_number(build, capsys):
    edit(build / "results/figure-final.csv", ("849.1", "849.10"))
    assert "results: figure-final.csv differs" in report(capsys)[1]


def test_elsewhere_the_report_says_what_was_compared_how(build, capsys, monkeypatch):
    go_elsewhere(monkeypatch)
    status, text = report(capsys)
    assert status == 0 and text.startswith("Compared on another libc,\n") and "numpy" not in text
    for part in (
        "4 tables row by row",
        "4 stored simulations by settings",
        "5 other results exactly",
    ):
        assert part in text
    for part in (
        "1 pages by their words",
        "2 files for download with the results",
        "1 other files of the pages by their names",
        "No difference.",
    ):
        assert part in text
    assert "pages" not in report(capsys, "--only", "results")[1]


def rewrite(change):
    """A mutilation of every table, its head aside."""

    def mutilate(build):
        for path in (build / "results").rglob("*.csv"):
            head, *lines = rows.read(path)
            put(path, "".join(",".join(row) + "\n" for row in [head, *change(head, lines)]))

    return mutilate


def reverse(head, lines):
    def numeric(column):
        return all(rows.number(cell) is not None for cell in column)

    return zip(*(column[::-1] if numeric(column) else column for column in zip(*lines)))


def swap(head, lines):
    other = {"holds": "fails", "fails": "holds"}
    other |= {"reproduced": "not reproduced", "not reproduced": "reproduced"}
    return [[other.get(cell, cell) for cell in row] for row in lines]


def raise_least(head, lines):
    if "mean" in head:
        at = head.index("mean")
        least, most = (f([row[at] for row in lines], key=float) for f in (min, max))
        lines = [[most if cell == least else cell for cell in row] for row in lines]
    return lines


MUTILATIONS = {
    "numeric columns reversed": (rewrite(reverse), "figure-final.csv, mean: 2 of 3 rows differ"),
    "the least mean replaced by the largest": (
        rewrite(raise_least),
        "figure-final.csv, mean: 1 of 3 rows differ, most by 0.66 of its value, in row 1",
    ),
    "verdicts swapped": (
        rewrite(swap),
        "figure-verdicts.csv, R1: 2 of 2 rows differ, in row 1 'fails' instead of 'holds'",
    ),
    "ledger swapped": (rewrite(swap), "claims.csv, verdict: 2 of 2 rows differ, in row 1"),
    "no page": (lambda build: shutil.rmtree(build / "html"), "pages: book/a.html is missing"),
    "no folder": (
        lambda build: shutil.rmtree(build / "results/choices"),
        "results: choices/b.npz is missing",
    ),
    "no table": (
        lambda build: (build / "results/claims.csv").unlink(),
        "results: claims.csv is missing",
    ),
    "a new file": (lambda build: put(build / "results/x.csv", "x\n"), "results: x.csv is new"),
    "a row less": (
        lambda build: edit(build / "results/claims.csv", ("2,not reproduced\n", "")),
        "claims.csv, it has 1 rows, expected 2",
    ),
    "a cell more": (
        lambda build: edit(build / "results/claims.csv", ("1,reproduced", "1,reproduced,open")),
        "claims.csv, : 1 of 2 rows differ, in row 1 'open' instead of ''",
    ),
    "another key": (
        lambda build: edit(build / "results/figures/bound.csv", ("6,", "7,")),
        "figures/bound.csv, T: 1 of 2 rows differ",
    ),
    "another head": (
        lambda build: edit(build / "results/figures/bound.csv", ("sharp", "blunt")),
        "figures/bound.csv, its columns are T, simulated, blunt, error",
    ),
    "what no simulation made": (
        lambda build: edit(build / "results/figures/bound.csv", ("3.6", "3.6001")),
        "figures/bound.csv, sharp: 1 of 2 rows differ",
    ),
    "one run's number": (
        lambda build: edit(build / "results/figure-final.csv", ("1776.9", "1777.9")),
        "figure-final.csv, largest: 1 of 3 rows differ",
    ),
    "settings": (
        lambda build: edit(build / "results/figure-final.json", ("400", "4")),
        "results: figure-final.json differs",
    ),
    "a word of a ledger": (
        lambda build: edit(build / "results/ledgers/game.json", ("exact", "measured")),
        "results: ledgers/game.json differs",
    ),
    "a stored simulation": (
        lambda build: put_runs(build / "results/figure/a.npz", [11.0, 12.0, 13.0, 14.0]),
        "stored simulations, mean: 1 of 6 rows differ",
    ),
    "another seed": (
        lambda build: put_runs(build / "results/figure/a.npz", [1.0, 2.0, 3.0, 4.0], seed=2),
        "stored simulations, settings: 1 of 6 rows differ",
    ),
    "another array": (
        lambda build: put_runs(build / "results/figure/a.npz", [1.0, 2, 3, 4], plays=np.ones(4)),
        "stored simulations, settings: 1 of 6 rows differ",
    ),
    "no text at all": (
        lambda build: (build / "results/claims.csv").write_bytes(b"\xff\xfe\x00"),
        "claims.csv, its columns are",
    ),
    "fewer runs": (
        lambda build: put_runs(build / "results/figure/a.npz", [1.0, 2.0, 3.0]),
        "stored simulations, settings: 1 of 6 rows differ",
    ),
    "half a stored simulation": (
        lambda build: put(build / "results/figure/a.npz", "half"),
        "stored simulations, settings: 1 of 6 rows differ",
    ),
    "another stored simulation's plays": (
        lambda build: shutil.copy(build / "results/cycles/c.npz", build / "results/cycles/d.npz"),
        "stored simulations, mean: 2 of 6 rows differ, most by 4.7 of its value, in row",
    ),
    "half of a stored simulation without regret": (
        lambda build: put(build / "results/cycles/c.npz", "half"),
        "results: cycles/c.npz is not a whole result",
    ),
    "a verdict in a table for download": (
        lambda build: edit(build / "html/data/claims.csv", ("not reproduced", "open")),
        "pages: data/claims.csv is no copy of a result",
    ),
    "another table for download": (
        lambda build: put(build / "html/_downloads/ab/claims.csv", "id,verdict\n"),
        "pages: _downloads/ab/claims.csv is no copy of a result",
    ),
    "a word of a page": (
        lambda build: edit(build / "html/book/a.html", ("holds", "fails")),
        "pages: book/a.html differs",
    ),
    "an empty page": (
        lambda build: put(build / "html/book/a.html", ""),
        "pages: book/a.html differs",
    ),
}


@pytest.mark.parametrize("name", MUTILATIONS)
def test_elsewhere_a_mutilation_is_found(build, capsys, monkeypatch, name):
    mutilate, line = MUTILATIONS[name]
    go_elsewhere(monkeypatch)
    mutilate(build)
    status, text = report(capsys)
    assert status == 1 and line in text and "No difference" not in text


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("figure-final", "885.6", "985.6"),  # 5.2 standard errors
        ("figure-final", "849.1", "949.1"),  # of a median, twice as large
        ("figure-final", "19.4", "24.4"),  # 400 runs know an error to a twentieth
        ("figures/bound", "2.9", "3.2"),
        ("figures/bound", "3.6", "3.6000000000001"),
    ],
)
def test_elsewhere_a_number_may_differ_as_its_row_tells(
    build, capsys, monkeypatch, table, old, new
):
    go_elsewhere(monkeypatch)
    edit(build / f"results/{table}.csv", (old, new))
    assert report(capsys)[0] == 0


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("figure-final", "885.6", "1005.6"),  # 6.2 standard errors
        ("figure-final", "849.1", "1089.1"),
        ("figure-final", "19.4", "29.4"),
        ("figures/bound", "2.9", "3.3"),
        ("figures/bound", "3.6", "3.60000001"),
    ],
)
def test_elsewhere_a_number_may_not_differ_more(build, capsys, monkeypatch, table, old, new):
    go_elsewhere(monkeypatch)
    edit(build / f"results/{table}.csv", (old, new))
    status, text = report(capsys)
    assert status == 1 and "Differences: 1." in text


def test_elsewhere_the_runs_of_a_simulation_may_differ(build, capsys, monkeypatch):
    go_elsewhere(monkeypatch)
    put_runs(build / "results/figure/a.npz", [0.0, 2.0, 3.0, 4.0])
    assert report(capsys)[0] == 0
    stored = elsewhere.simulations(build / "results")[-1]
    error = repr(float(np.std([0, 2, 3, 4], ddof=1) / 2))
    assert stored[:2] + stored[3:] == ["figure/a.npz", "regret", "4", "2.25", error]
    put_runs(build / "results/figure/a.npz", [1.0])
    assert elsewhere.simulations(build / "results")[-1][3:] == ["1", "1.0", "0.0"]


def test_a_simulation_without_regret_is_known_by_the_pulls_of_each_arm(build):
    table = elsewhere.simulations(build / "results")
    told = [[name, of, *rest] for name, of, _, *rest in table if name == "cycles/c.npz"]
    assert told == [
        ["cycles/c.npz", "pulls of arm 0", "2", "3.0", "1.0"],
        ["cycles/c.npz", "pulls of arm 1", "2", "17.0", "1.0"],
    ]


def test_elsewhere_the_last_bit_of_a_link_is_no_other_setting(build, capsys, monkeypatch):
    """The logit link needs an exponential, which may be rounded to either side."""

    def played(change):
        game = Utilities([0.8, 0.5, 0.3], lambda a, b: change(logit(a, b)), name="a game")
        result = simulate(game, "Sparring", T=8, runs=2, compiled=False, workers=1)
        result.save(build / "results/figure/a.npz")
        put_table(build / "results/figures/bound.csv", BOUND, **provenance.settings(result.about))
        return result.about["game"]["P"]

    here = played(lambda p: p)
    manifest.write(build.parent)
    go_elsewhere(monkeypatch)
    there = played(lambda p: np.nextafter(p, 1))
    assert here != there and np.allclose(here, there, rtol=0, atol=1e-15)
    assert report(capsys, "--only", "results")[0] == 0
    played(lambda p: 0.5 + (p - 0.5) * (1 + 1e-10))
    text = report(capsys, "--only", "results")[1]
    assert "stored simulations, settings: 1 of 6 rows differ" in text
    assert "results: figures/bound.json differs" in text and "Differences: 2." in text


def test_elsewhere_the_settings_of_an_older_manifest_count_byte_for_byte(
    build, capsys, monkeypatch
):
    go_elsewhere(monkeypatch)
    path = build.parent / manifest.MANIFEST
    known = json.loads(path.read_text())
    assert known["settings"].keys() >= {"claims.json", "figures/bound.json"}
    put(path, json.dumps({key: value for key, value in known.items() if key != "settings"}))
    assert report(capsys)[0] == 0
    edit(build / "results/figures/bound.json", ("100", "100.0"))
    assert "results: figures/bound.json differs" in report(capsys)[1]


def test_elsewhere_pictures_and_the_theme_may_differ(build, capsys, monkeypatch):
    go_elsewhere(monkeypatch)
    edit(build / "html/book/a.html", ("by 3", "by -2.5e-3"), (">c<", ">commit unknown<"))
    put(build / "html/figures/a.svg", "<svg><path/></svg>")
    (build / "html/_static/theme.html").rename(build / "html/_static/other.html")
    assert report(capsys)[0] == 0


def test_elsewhere_the_commit_that_a_page_cites_may_differ(build, capsys, monkeypatch):
    """As in the citation on the page about reproducing: no build is made at its own manifest."""
    go_elsewhere(monkeypatch)
    edit(build / "html/book/a.html", ("holds", f"holds at commit {'ab' * 20}"))
    manifest.write(build.parent)
    edit(build / "html/book/a.html", ("ab" * 20, "cd" * 20))
    monkeypatch.setattr(manifest, "made_at", lambda root: {"libc": "glibc 3"})
    assert report(capsys)[0] == 0


def test_the_last_bit_of_a_logarithm_seldom_matters(monkeypatch):
    """What the page on reproducing says of other platforms, on a small sample."""

    def regret():
        return simulate("arith/linear", "Sparring", T=2000, runs=100, workers=1).regret

    known = machines.LN.copy()
    there = np.random.default_rng(1).choice([-np.inf, np.inf], len(known))
    expected = regret()
    monkeypatch.setattr(machines, "LN", np.where(known > 0, np.nextafter(known, there), known))
    assert np.array_equal(regret(), expected)
    monkeypatch.setattr(machines, "LN", known * 1.01)
    assert not np.array_equal(regret(), expected)


def test_a_standard_deviation_over_the_runs_is_an_error():
    near, row = rows.within(400), {"mean": "10", "standard deviation": "2", "t": "4"}
    assert near("mean", row) == near("standard deviation", row) == pytest.approx(0.6)
    assert near("t", {"t": "0"}) == 1e-12  # the rest of a sum that should be 0
    assert near("t", row) == 4e-9 and rows.within(0)("mean", row) == 1e-8
    assert near("mean", row | {"standard error": "nan"}) == 1e-8
    assert near("mean", row | {"runs": "100"}) == pytest.approx(1.2)  # the row's own


def test_every_error_in_the_manifest_s_tables_has_a_column_that_it_is_the_error_of():
    cards = "real-cards.csv"  # a poll's gap and its error: counted, not simulated
    for path in (ROOT / "reproduce" / elsewhere.TABLES).rglob("*.csv"):
        head = {*rows.read(path)[0]}
        assert path.name == cards or not head & {*rows.ERRORS} or head & rows.UNITS.keys(), path


def test_what_is_no_table_is_read_as_none(tmp_path):
    put(tmp_path / "t.csv", '"' + "x" * 200_000)
    assert rows.read(tmp_path / "t.csv") == rows.read(tmp_path / "none.csv") == []
    assert rows.changes([["x"]], []) == ["its columns are not to be read"]


EMPTY = (
    '{"place": {"a": "b"}, "words": {}, "simulations": "", "sums": {"results": {}, "pages": {}}}'
)


@pytest.mark.parametrize(
    "text", [EMPTY, "", "{", "[]", "{}", '{"place": {}}', "\x00", '{"sums": 3}', "null"]
)
def test_a_manifest_that_is_not_whole_is_refused_in_a_sentence(build, capsys, text):
    put(build.parent / manifest.MANIFEST, text)
    status, answer = report(capsys)
    assert status == 1 and answer.count("\n") == 1
    assert answer.startswith("reproduce/manifest.json is not a whole manifest: git restores it")


def test_half_a_manifest_is_refused_in_a_sentence(build, capsys):
    path = build.parent / manifest.MANIFEST
    put(path, path.read_text()[:-40])
    assert "not a whole manifest" in report(capsys)[1]
    path.unlink()
    assert report(capsys)[1].startswith("There is no reproduce/manifest.json yet")


@pytest.mark.parametrize("name", ["tables/claims.csv", "simulations.csv"])
def test_the_tables_of_a_manifest_cannot_be_changed_behind_it(build, capsys, name):
    edit(build.parent / "reproduce" / name, ("e", "f"))
    assert report(capsys)[1].startswith(f"reproduce/{name} is not the manifest's")
    (build.parent / "reproduce" / name).unlink()
    assert report(capsys)[0] == 1


def test_a_manifest_that_is_stopped_keeps_its_old_tables(build, monkeypatch):
    def stop(results):
        raise KeyboardInterrupt

    kept = sums(build.parent / "reproduce")
    edit(build / "results/claims.csv", ("not reproduced", "open"))
    monkeypatch.setattr(elsewhere, "simulations", stop)
    with pytest.raises(KeyboardInterrupt):
        manifest.write(build.parent)
    assert sums(build.parent / "reproduce") == kept


def test_a_renewed_manifest_forgets_old_tables(build, capsys):
    (build / "results/claims.csv").unlink()
    manifest.write(build.parent)
    assert not (build.parent / "reproduce/tables/claims.csv").exists() and report(capsys)[0] == 0


def test_two_trees_of_other_origin_are_equal_in_their_results(build, tmp_path, capsys):
    """As an older version of the book, with another key and Python, and this one."""
    old = tmp_path / "old"
    shutil.copytree(build, old)
    for path in (old / "results").rglob("*.json"):
        text = path.read_text().replace("3.11.7", "3.11.2").replace('"k"', '"old key"')
        path.write_text(text)
    about = {"seed": 1, "runs": 4} | PLAYED | ELSEWHERE | VERSIONS
    runs = {"regret": np.array([[1.0], [2.0], [3.0], [4.0]])}
    Result(np.array([2]), runs, about).save(old / "results/figure/a.npz")
    (old / "html/book/a.html").unlink()
    assert report(capsys, "--only", "results", str(old), str(build))[0] == 0
    put(old / "results-volatile/seconds.json", "[1]")
    status, text = report(capsys, str(old), str(build))
    assert status == 1 and "Differences: 1.\n  html: book/a.html is new\n" in text
    edit(old / "results/claims.csv", ("not reproduced", "open"))
    status, text = report(capsys, "--only", "results", str(old), str(build))
    assert status == 1 and "in row 2 'not reproduced' instead of 'open'" in text
    assert "results" not in report(capsys, "--only", "pages", str(old), str(build))[1]


def test_nothing_is_not_described_and_one_tree_not_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    assert manifest.main(["--write"]) == 1 and not (tmp_path / manifest.MANIFEST).exists()
    assert "make book first" in capsys.readouterr().out
    for file, text in (("results/t.csv", "x\n"), ("html/a.html", "<p>"), ("html/b.pdf", "")):
        put(tmp_path / "_build" / file, text)
    assert manifest.main(["--write"]) == 1 and "those of make pdf" in capsys.readouterr().out
    (tmp_path / "_build/html/b.pdf").unlink()
    (tmp_path / "_build/html/ro-crate-metadata.json").write_text("a run, profile smoke")
    assert manifest.main(["--write"]) == 1 and "a small profile" in capsys.readouterr().out
    for trees in ([str(tmp_path)], [str(tmp_path), str(tmp_path / "none")]):
        with pytest.raises(SystemExit):
            manifest.main(trees)
    assert "two built trees" in capsys.readouterr().err
    status, text = report(capsys, str(tmp_path), str(tmp_path))
    assert status == 1 and "holds nothing to compare" in text


def test_the_report_fits_a_screen(capsys):
    lines = [f"file {i} differs" for i in range(300)]
    assert manifest.tell(lines, "400 files, byte for byte") == 1
    said = capsys.readouterr().out.splitlines()
    assert len(said) < 50 and said[-1] == "  ... and 260 more"


# --- comparing: whether it can begin


def test_reproducing_begins_on_a_tree_without_changes(build, capsys):
    root = build.parent
    assert report(capsys, "--ready") == (0, "")  # an unpacked archive
    git = other_checkout(root)
    put(root / "a.txt", "a")
    subprocess.run((*git, "add", "a.txt"), check=True)
    assert report(capsys, "--ready") == (1, "The tree has changes: commit or drop them first.\n")
    subprocess.run((*git, "commit", "-q", "-m", "it"), check=True)
    assert report(capsys, "--ready") == (0, "")
    put(root / manifest.MANIFEST, "")
    assert "not a whole manifest" in report(capsys, "--ready")[1]


def test_a_git_that_is_missing_or_refuses_has_seen_no_changes(build, capsys, monkeypatch):
    other_checkout(build.parent)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # a checkout of another owner
    status, text = report(capsys, "--ready")
    assert status == 0 and "git does not tell whether the tree has changes (fatal" in text
    assert "ownership" in text and text.count("\n") == 1
    monkeypatch.setenv("PATH", str(build))
    status, text = report(capsys, "--ready")
    assert status == 0 and "git does not tell" in text


# --- a tiny book through the real pipeline


def finished(build):
    said, _ = build.communicate(timeout=300)
    assert build.returncode == 0, said
    return said


def pages(root):
    return sums(root / "_build" / "html") | sums(root / "_build" / "results")


@pytest.fixture(scope="module")
def tiny_book(tmp_path_factory):
    """A tiny book, built once in one go."""
    root = tiny.make(tmp_path_factory.mktemp("tiny"))
    tiny.build_here(root)
    return root


def links(root, page, selector):
    """The addresses of the links of a page."""
    text = (root / "_build" / "html" / page).read_text(encoding="utf-8")
    return [a["href"] for a in BeautifulSoup(text, "html.parser").select(selector)]


def test_a_figure_and_a_page_offer_their_files(tiny_book):
    offered = links(tiny_book, "book/a.html", "figure .figure-files a")
    assert offered == [
        "../figures/fig-line.svg",
        "../figures/fig-line.png",
        "../data/line.csv",
        "../data/line.json",
    ]
    files = links(tiny_book, "book/a.html", ".page-files a")
    assert files == ["../notebooks/book/a.ipynb", "../data/line.csv"]
    for file in [*offered, *files]:
        assert (tiny_book / "_build" / "html" / "book" / file).stat().st_size
    shown = json.loads((tiny_book / "_build/html/notebooks/book/b.ipynb").read_text())
    assert shown["cells"][1]["outputs"][0]["text"] == ["4\n"]


def test_what_references_point_to_is_kept_for_previews(tiny_book):
    text = (tiny_book / "_build" / "html" / "_previews" / "book" / "a.js").read_text()
    assert text.startswith('previews("book/a", {')
    pieces = json.loads(text[len('previews("book/a", ') : -len(");\n")])
    assert set(pieces) == {"thm-short", "thm-long", "equation-eq-one", "fig-line"}
    assert "Every number is a number" in pieces["thm-long"]
    assert not any(sign in piece for piece in pieces.values() for sign in (" id=", "<a ", "<img"))


def test_the_crate_of_the_tiny_book_ties_files_to_the_cell_and_the_run_that_made_them(tiny_book):
    html = tiny_book / "_build" / "html"
    graph = json.loads((html / "ro-crate-metadata.json").read_text("utf-8"))["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    run = entities["#run-book/a"]
    told = {name: [part["@id"] for part in run[name]] for name in ("object", "result")}
    made = ["data/line.csv", "data/line.json", "figures/fig-line.svg", "figures/fig-line.png"]
    assert told == {"object": ["#run-book/a-runs", "#run-book/a-seed"], "result": made}
    assert entities["#run-book/a-runs"]["value"] == "3"
    for file in made:
        assert entities[file]["cell"] == "draw"
        assert entities[file]["sha256"] == digest((html / file).read_bytes())
    assert entities["figures/fig-line.png"]["isBasedOn"] == [{"@id": "data/line.csv"}]


def test_a_page_that_no_source_has_offers_nothing(tiny_book):
    text = (tiny_book / "_build" / "html" / "search.html").read_text("utf-8")
    assert "page-about" not in text and "cite-this-page" not in text


def test_a_drawing_has_its_caption_and_offers_its_file(tiny_book):
    html = tiny_book / "_build" / "html"
    page = BeautifulSoup((html / "book" / "b.html").read_text("utf-8"), "html.parser")
    (box,) = page.select("div.drawing")
    assert box.svg["role"] == "img" and box.em.get_text() == "drawn"
    assert "internal" in box.select_one(".figure-files a")["class"]
    (link,) = links(tiny_book, "book/b.html", ".drawing .figure-files a")
    (file,) = (html / "_static" / "figures").glob("drawing-*")
    assert (html / "book" / link).resolve() == file.resolve()
    assert file.read_text("utf-8") == DRAWINGS["sparring"]().file()


def test_a_statement_has_one_name_in_its_head_and_wherever_it_is_cited(tiny_book):
    html = tiny_book / "_build" / "html"
    first, second = (
        BeautifulSoup((html / "book" / page).read_text("utf-8"), "html.parser")
        for page in ("a.html", "b.html")
    )
    heads = {one["id"]: " ".join(one.p.get_text().split()) for one in first.select("div.proof")}
    assert heads == {
        "thm-short": "Theorem D: the short one paper: Theorem 3.1, corrected",
        "thm-long": "Theorem 1 (The long theorem) ours",
    }
    names = [one.get_text().strip() for one in first.select("div.proof .caption-number")]
    assert names == ["Theorem D", "Theorem 1"]
    badges = {one.get_text(): one["class"] for one in first.select("div.proof abbr[title]")}
    assert badges == {"paper: Theorem 3.1, corrected": ["paper"], "ours": ["ours"]}
    cited = [link.get_text() for link in second.select('article a[href*="#thm-"]')]
    assert cited == ["Theorem 1", "Theorem D", "its twin"]
    found = (html / "_static" / "search-sections.js").read_text("utf-8")
    assert '"Theorem D: the short one · paper: Theorem 3.1, corrected"' in found
    assert '"Theorem 1 (The long theorem) · ours"' in found


@pytest.mark.built
def test_the_pdf_has_contents_an_outline_and_no_date(tiny_book, tmp_path):
    if not browser.chromium():
        pytest.skip(browser.MISSING)
    root = tmp_path / "printed"
    shutil.copytree(tiny_book, root)
    pdf.main(["--root", str(root)])
    reader = PdfReader(root / "_build" / "html" / about.PDF)
    assert [entry.title for entry in reader.outline] == ["Tiny", "First", "Second"]
    places = [reader.get_destination_page_number(entry) + 1 for entry in reader.outline]
    text = reader.pages[1].extract_text()
    for title, place in zip(("Tiny", "First", "Second"), places):
        assert re.search(rf"{title}\W*{place}\b", text)
    shown = reader.pages[places[1] - 1].extract_text()
    assert "Every number is a number" in shown and "Theorem D: the short one" in shown
    assert reader.metadata.title == HERE.title and reader.metadata.creation_date is None


class Tab:
    """A tab of a browser that prints one blank page with all the names of a document."""

    def __init__(self, outside):
        self.outside, self.asked = outside, []

    def set_default_timeout(self, milliseconds):
        pass

    def emulate_media(self, media):
        self.asked.append(media)

    def goto(self, address):
        text = Path(unquote(urlsplit(address).path)).read_text("utf-8")
        self.names = [e["id"] for e in BeautifulSoup(text, "html.parser").select("[id]")]

    def evaluate(self, script, *values):
        self.asked.append(script)
        return self.outside if script == pdf.OUTSIDE else values

    def pdf(self, path, **options):
        assert all(options.values())
        writer = PdfWriter()
        writer.add_blank_page(100, 100)
        for name in self.names:
            writer.add_named_destination(f"/{name}", 0)
        writer.write(path)
        self.asked.append("print")


def test_the_pdf_is_printed_when_formulas_and_fonts_are_there_and_again_with_page_numbers(
    tiny_book, tmp_path, monkeypatch, capsys
):
    root, tab = tmp_path / "printed", Tab([])
    shutil.copytree(tiny_book, root)
    chromium = SimpleNamespace(new_page=lambda viewport: tab)
    monkeypatch.setattr(browser, "launched", lambda: nullcontext(chromium))
    assert pdf.main(["--root", str(root)]) == 0
    media, formulas, fonts, *rest = tab.asked
    assert media == "print" and "MathJax" in formulas and "document.fonts.ready" in fonts
    assert rest == [pdf.KEEP, pdf.SHRINK, pdf.OUTSIDE, "print", pdf.NUMBER, "print"]
    assert capsys.readouterr().out == f"wrote _build/html/{about.PDF}, 1 pages\n"
    reader = PdfReader(root / "_build" / "html" / about.PDF)
    assert [entry.title for entry in reader.outline] == ["Tiny", "First", "Second"]
    assert reader.metadata.title == HERE.title
    tab.outside = ["a formula"]
    with pytest.raises(Refusal, match="Wider than the column:\na formula"):
        pdf.main(["--root", str(root)])


@pytest.mark.built
def test_a_build_elsewhere_has_the_same_bytes(tiny_book, tmp_path, capsys):
    other = tiny.make(tmp_path / "somewhere" / "else")
    finished(tiny.build(other))
    assert manifest.main([str(tiny_book / "_build"), str(other / "_build")]) == 0
    (other / "_build" / "html" / "book" / "a.html").write_text("")
    (other / "_build" / "results" / "line.csv").unlink()
    assert manifest.main([str(tiny_book / "_build"), str(other / "_build")]) == 1
    said = capsys.readouterr().out
    assert "html: book/a.html differs" in said and "results: line.csv is missing" in said


@pytest.mark.built
def test_a_build_killed_five_times_has_the_same_bytes(tiny_book, tmp_path):
    root = tiny.make(tmp_path / "killed")
    moments = random.Random(2014)
    for _ in range(5):
        build = tiny.build(root, start_new_session=True)
        try:
            build.wait(timeout=moments.uniform(0.5, 12))
        except subprocess.TimeoutExpired:
            os.killpg(build.pid, signal.SIGKILL)
            build.wait()
        build.stdout.close()
    finished(tiny.build(root))
    assert pages(root) == pages(tiny_book)


@pytest.mark.built
def test_two_builds_at_once_have_the_same_bytes(tiny_book, tmp_path):
    root = tiny.make(tmp_path / "twice")
    first, second = tiny.build(root), tiny.build(root)
    finished(first), finished(second)
    assert pages(root) == pages(tiny_book)


@pytest.mark.built
def test_pages_link_to_the_host_once_there_is_one(tmp_path):
    root = tiny.make(tmp_path / "hosted")
    facts = root / "pyproject.toml"
    facts.write_text(
        facts.read_text().replace('repository = ""', 'repository = "https://github.com/o/r"')
    )
    finished(tiny.build(root))
    page = (root / "_build" / "html" / "book" / "a.html").read_text()
    for link in HERE_LINKS:
        assert link in page


HERE_LINKS = (
    "https://github.com/o/r/edit/main/book/a.ipynb",
    "https://mybinder.org/v2/gh/o/r/main?urlpath=lab/tree/book/a.ipynb",
    "https://colab.research.google.com/github/o/r/blob/main/book/a.ipynb",
)


# --- the built book


@cache
def soup(page):
    return BeautifulSoup((BOOK / page).read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(page):
    return {element["id"] for element in soup(page).find_all(id=True)} | {""}


def built_pages():
    found = sorted(path.relative_to(BOOK).as_posix() for path in BOOK.rglob("*.html"))
    return [page for page in found if not page.startswith("_static/")]


def chapters():
    return [page for page in built_pages() if page.startswith("book/")]


def texts():
    kinds = {".html", ".js", ".json", ".ipynb", ".csv", ".svg", ".txt", ".inv"}
    files = [path for path in BOOK.rglob("*") if path.suffix in kinds and path.is_file()]
    return [path for path in files if "mathjax" not in path.parts and "vendor" not in path.parts]


built = pytest.mark.built


def broken(page):
    """The links of a page that lead nowhere."""
    for element in soup(page).find_all(["a", "img", "link", "script"]):
        link = element.get("href") or element.get("src") or ""
        parts = urlsplit(link)
        if not link or parts.scheme or parts.netloc:
            continue
        target = unquote(urljoin(page, parts.path)) if parts.path else page
        if target.endswith("/"):
            target += "index.html"
        there = (BOOK / target).is_file()
        if not there or (target.endswith(".html") and parts.fragment not in anchors(target)):
            yield link


@built
@pytest.mark.parametrize("page", built_pages())
def test_every_link_and_anchor_resolves(page):
    assert list(broken(page)) == []


@built
@pytest.mark.parametrize("page", chapters())
def test_every_picture_has_words(page):
    assert [img for img in soup(page).article.find_all("img") if not img.get("alt")] == []


@built
@pytest.mark.parametrize("page", chapters())
def test_every_page_names_its_state_and_how_to_cite_it(page):
    foot = soup(page).select_one("footer p.state").get_text()
    assert HERE.version in foot and HERE.lock[:16] in foot
    assert re.search(r"commit ([0-9a-f]{40}(-edited)?|unknown)", foot)
    assert HERE.title in soup(page).select_one("#cite-this-page").get_text()


@built
def test_no_path_of_this_machine():
    places = {str(ROOT), str(Path.home()), sys.prefix, "/tmp/ipykernel"}
    found = {
        (path.relative_to(BOOK).as_posix(), place)
        for path in texts()
        for place in places
        if place.encode() in path.read_bytes()
    }
    assert found == set()


@built
def test_no_time_outside_the_status_page():
    stamp = re.compile(rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d")
    found = [
        path.relative_to(BOOK).as_posix() for path in texts() if stamp.search(path.read_bytes())
    ]
    assert found == manifest.STATUS


@built
def test_no_secret_of_the_environment():
    told = re.compile("TOKEN|SECRET|PASSWORD|CREDENTIAL", re.I)
    values = [value for name, value in os.environ.items() if told.search(name) and len(value) > 7]
    assert [
        path for path in texts() for value in values if value.encode() in path.read_bytes()
    ] == []


def crate():
    graph = json.loads((BOOK / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    return {entity["@id"]: entity for entity in graph}


@built
def test_the_crate_describes_the_files_as_they_are():
    files = {name: e for name, e in crate().items() if "contentSize" in e}
    assert len(files) > 10
    wrong = [name for name, e in files.items() if digest((BOOK / name).read_bytes()) != e["sha256"]]
    assert wrong == []


@built
def test_the_crate_ties_every_figure_and_table_to_a_run_with_parameters():
    entities = crate()
    runs = [e for e in entities.values() if e["@type"] == "CreateAction"]
    made = [result["@id"] for run in runs for result in run["result"]]
    kept = [f"figures/{path.name}" for path in (BOOK / "figures").iterdir()]
    kept += [
        f"data/{path.relative_to(BOOK / 'data').as_posix()}"
        for path in (BOOK / "data").rglob("*.csv")
    ]
    assert kept and set(kept) <= set(made)
    assert len(made) == len(set(made)), "a file that two notebooks write"
    for run in runs:
        if any(result["@id"].startswith("figures/") for result in run["result"]):
            given = {entities[part["@id"]]["name"] for part in run["object"]}
            exact = run["@id"] == "#run-book/appendix/lemma22"  # nothing is drawn there
            assert "seed" in given or exact, run["@id"]


#: Pictures of an idea, without data of their own.
SKETCHES = {"fig-sets-display"}


@built
def test_every_figure_offers_vectors_a_picture_and_data():
    for page in chapters():
        for figure in soup(page).select("figure:has(img)"):
            offered = {Path(a["href"]).suffix for a in figure.select(".figure-files a")}
            needed = {".svg", ".png"} | (set() if figure.get("id") in SKETCHES else {".csv"})
            assert needed <= offered, (page, figure.get("id"))
