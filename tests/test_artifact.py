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
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
import pytest
import tiny
import yaml
from bs4 import BeautifulSoup
from conftest import other_checkout

from edition.release import browser, citation, facts, manifest, pdf
from edition.sphinx import about
from edition.sums import digest, sum_of, sums

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "_build" / "html"
HERE = facts.edition(ROOT)


# --- citing


def test_metadata_say_what_pyproject_says():
    assert citation.outdated(ROOT) == []


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
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


@pytest.mark.parametrize(("schema", "file"), SCHEMAS)
def test_files_for_hosts_fit_their_schema(schema, file):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, str(ROOT / file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_is_said_to_be_made_can_be_made():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for file in ("README.md", "book/back/reproduce.md", ".github/workflows/ci.yml", "CHANGELOG.md"):
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


def test_an_archive_inside_another_checkout_knows_its_own_commit(tmp_path):
    other_checkout(tmp_path)
    (inner := tmp_path / "inner").mkdir()
    (inner / ".git_archival.txt").write_text("cd" * 20 + "\n")
    assert facts.commit(inner) == "cd" * 20


# --- comparing


def npz(path, commit, value):
    told = np.array(json.dumps({"commit": commit, "seed": 1}))
    with path.open("wb") as file:
        np.savez_compressed(file, about=told, regret=np.array([value]))


@pytest.mark.parametrize(
    ("name", "text"),
    [("t.json", '{{"commit": "{}", "seed": {}}}'), ("p.html", "<p>commit {} seed {}</p>")],
)
def test_sums_are_blind_to_the_commit_alone(tmp_path, name, text):
    file, found = tmp_path / name, []
    for commit, seed in [("ab" * 20, 1), ("cd" * 20 + "-edited", 1), ("ab" * 20, 2)]:
        file.write_text(text.format(commit, seed))
        found.append(sum_of(file))
    assert found[0] == found[1] != found[2]


def test_sums_of_arrays_are_blind_to_the_commit_alone(tmp_path):
    file, found = tmp_path / "r.npz", []
    for commit, value in [("ab" * 20, 1.0), ("cd" * 20, 1.0), ("ab" * 20, 2.0)]:
        npz(file, commit, value)
        found.append(sum_of(file))
    assert found[0] == found[1] != found[2]


def test_differences_are_named():
    found = manifest.differing({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"}, "x")
    assert found == ["x: c is missing", "x: d is new", "x: b differs"]


def table(build, values, runs=None):
    """The columns of a build with one table of two numbers."""
    file = build / "results" / "t.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("name,x\na," + values.replace(",", "\nb,") + "\n")
    file.with_suffix(".json").write_text(json.dumps({"runs": runs} if runs else {}))
    return manifest.tables(build)


@pytest.mark.parametrize(
    ("values", "runs", "far"),
    [
        ("10,12", None, False),
        ("10.1,12", None, False),
        ("11,13", None, True),
        ("11,13", 400, True),  # half the range
        ("11,13", 4, False),
        ("11.1,13.1", 4, True),
        ("30,40", 1, False),  # one run elsewhere is another run
    ],
)
def test_elsewhere_columns_may_differ_as_their_runs_allow(tmp_path, values, runs, far):
    known = table(tmp_path, "10,12", runs)
    assert bool(manifest.far(known, table(tmp_path, values, runs))) == far


@pytest.mark.parametrize("runs", [None, 1])
def test_elsewhere_a_missing_number_is_a_difference(tmp_path, runs):
    known = table(tmp_path, "10,12", runs)
    assert manifest.far(known, {}) and manifest.far(known, table(tmp_path, "11", runs))


def test_a_build_against_the_manifest(tmp_path, monkeypatch):
    """Byte for byte where it was made, prose aside if asked; elsewhere by columns."""
    table, page = tmp_path / "_build/results/t.csv", tmp_path / "_build/html/a.html"
    for file, text in ((table, "x\n10\n12\n"), (page, "<p>a</p>")):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    monkeypatch.setattr(manifest, "made_at", lambda root: {"libc": "glibc 1"})
    known = manifest.manifest(tmp_path)
    assert manifest.against(known, tmp_path, ["results", "pages"]) == ([], "byte for byte", 2)
    page.write_text("<p>b</p>")
    assert manifest.against(known, tmp_path, ["results"])[0] == []
    assert manifest.against(known, tmp_path, ["pages"])[0] == ["pages: a.html differs"]
    table.write_text("x\n10.01\n12\n")
    assert manifest.against(known, tmp_path, ["results"])[0] == ["results: t.csv differs"]
    monkeypatch.setattr(manifest, "made_at", lambda root: {"libc": "glibc 2"})
    lines, rule, counted = manifest.against(known, tmp_path, ["results", "pages"])
    assert lines == [] and "another libc" in rule and counted == 1


def test_nothing_is_not_described_and_one_tree_not_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    assert manifest.main(["--write"]) == 1 and not (tmp_path / manifest.MANIFEST).exists()
    assert "make book first" in capsys.readouterr().out
    for file, text in (("results/t.csv", "x\n"), ("html/a.html", "<p>"), ("html/b.pdf", "")):
        (tmp_path / "_build" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "_build" / file).write_text(text)
    assert manifest.main(["--write"]) == 1 and "those of make pdf" in capsys.readouterr().out
    (tmp_path / "_build/html/b.pdf").unlink()
    (tmp_path / "_build/html/ro-crate-metadata.json").write_text("a run, profile smoke")
    assert manifest.main(["--write"]) == 1 and "a small profile" in capsys.readouterr().out
    for trees in ([str(tmp_path)], [str(tmp_path), str(tmp_path / "none")]):
        with pytest.raises(SystemExit):
            manifest.main(trees)
    assert "two built trees" in capsys.readouterr().err


def test_the_report_fits_a_screen(capsys):
    assert manifest.tell([f"file {i} differs" for i in range(300)], "byte for byte", 400) == 1
    said = capsys.readouterr().out.splitlines()
    assert len(said) < 50 and said[-1] == "  ... and 260 more"
    assert manifest.tell([], "byte for byte", 400) == 0


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
    finished(tiny.build(root))
    return root


def links(root, page, selector):
    """The addresses of the links of a page."""
    text = (root / "_build" / "html" / page).read_text(encoding="utf-8")
    return [a["href"] for a in BeautifulSoup(text, "html.parser").select(selector)]


@pytest.mark.built
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


@pytest.mark.built
def test_what_references_point_to_is_kept_for_previews(tiny_book):
    text = (tiny_book / "_build" / "html" / "_previews" / "book" / "a.js").read_text()
    assert text.startswith('previews("book/a", {')
    pieces = json.loads(text[len('previews("book/a", ') : -len(");\n")])
    assert set(pieces) == {"thm-long", "equation-eq-one", "fig-line"}
    assert "Every number is a number" in pieces["thm-long"]
    assert not any(sign in piece for piece in pieces.values() for sign in (" id=", "<a ", "<img"))


@pytest.mark.built
def test_the_pdf_has_contents_an_outline_and_no_date(tiny_book, tmp_path):
    if not browser.chromium():
        pytest.skip(browser.MISSING)
    from pypdf import PdfReader

    root = tmp_path / "printed"
    shutil.copytree(tiny_book, root)
    pdf.main(["--root", str(root)])
    reader = PdfReader(root / "_build" / "html" / about.PDF)
    assert [entry.title for entry in reader.outline] == ["Tiny", "First", "Second"]
    places = [reader.get_destination_page_number(entry) + 1 for entry in reader.outline]
    text = reader.pages[1].extract_text()
    for title, place in zip(("Tiny", "First", "Second"), places):
        assert re.search(rf"{title}\W*{place}\b", text)
    assert "Every number is a number" in reader.pages[places[1] - 1].extract_text()
    assert reader.metadata.title == HERE.title and reader.metadata.creation_date is None


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
            assert "seed" in given, run["@id"]


@built
def test_every_figure_offers_vectors_a_picture_and_data():
    for page in chapters():
        for figure in soup(page).select("figure:has(img)"):
            offered = {Path(a["href"]).suffix for a in figure.select(".figure-files a")}
            assert {".svg", ".png", ".csv"} <= offered, (page, figure.get("id"))
