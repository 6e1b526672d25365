"""Sphinx extension: pages that need no network, and small repairs to what other extensions emit."""

from __future__ import annotations

import gc
import re
import shutil
from importlib.metadata import files
from pathlib import Path
from typing import Any

import joblib
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from .. import place

SHORT = 16  # letters of code in a sentence that are not broken over two lines
BOUND = 40  # letters of a formula in TeX that is kept with the marks beside it
END = r"\square"  # the end of a proof does not begin a line
BEFORE = re.compile(r"[(\[“]*\Z"), re.compile(r"\S* *\Z")
AFTER = re.compile(r"[-–’”\w.,;:!?)\]]*")
NUMBER = re.compile(r"[-−]?\d*[\d.,/]*\d(?:\s?%)?(?:\s±\s[\d.]+(?:\s?%)?)?")
VERBATIM = nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw
MATHJAX = ("tex-mml-chtml.js", "output/chtml/fonts/woff-v2/", "input/tex/extensions/")

ROOT_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="_static/{icon}">
<meta http-equiv="refresh" content="0; url={page}">
</head>
<body><p><a href="{page}">{title}</a></p></body>
</html>
"""


def announce_profile(app: Sphinx, config: Config) -> None:
    """Announce on the pages of a small profile that their numbers are not the edition's."""
    profile = place.profile()
    if profile != "full":
        text = f"Profile “{profile}”: a small run. These numbers are not those of the edition."
        config.html_theme_options["announcement"] = text


def collect_seldom(app: Sphinx) -> None:
    """Look for garbage seldom: trees of pages are large, and it was a third of all the work."""
    gc.freeze()
    gc.set_threshold(50_000)


def write_side_by_side(app: Sphinx, env: Any) -> None:
    """Write pages on all cores, once they are read: sphinx-proof reads on one core alone."""
    app.parallel = joblib.cpu_count()


def mend_proofs(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn the ids that sphinx-proof repeats on a page into classes."""
    for node in doctree.findall(nodes.Element):
        for repeated in {"proof", "proof-content"} & set(node.get("ids", [])):
            node["ids"].remove(repeated)
            node["classes"].append(f"{repeated}-body")


def keep_short_code(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Mark code in a sentence that is short enough to stay on one line."""
    for node in doctree.findall(nodes.literal):
        if len(node.astext()) <= SHORT:
            node["classes"].append("short")


def bind_marks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep a short formula and the marks that touch it on one line: browsers break beside it."""
    for line, at, formula in children(doctree, nodes.math):
        if len(formula.astext()) > BOUND:
            continue
        bound = nodes.inline("", "", formula.deepcopy(), classes=["bound"])
        if at + 1 < len(line) and isinstance(line[at + 1], nodes.Text):
            rest, marks = line[at + 1], AFTER.match(line[at + 1])
            bound += nodes.Text(marks[0])
            line[at + 1] = nodes.Text(rest[marks.end() :])
        if at and isinstance(line[at - 1], nodes.Text):
            rest, marks = line[at - 1], BEFORE[formula.astext() == END].search(line[at - 1])
            bound.insert(0, nodes.Text(marks[0]))
            line[at - 1] = nodes.Text(rest[: marks.start()])
        if bound.astext() != formula.astext():
            line[at] = bound


def keep_units(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep a number beside its sign of per cent on one line, and in a sentence beside its error."""
    for line, at, text in children(doctree, nodes.Text):
        touching = " (?=%)" if isinstance(line.parent, nodes.entry) else " (?=[%±])|(?<=±) "
        kept = re.sub(touching, "\u00a0", text)
        if kept != text and not isinstance(line, VERBATIM):
            line[at] = nodes.Text(kept)


def children(doctree: nodes.document, kind: type) -> list[tuple[nodes.Element, int, Any]]:
    """All nodes of a kind, each after its parent and its place: what is pasted knows neither."""
    lines = list(doctree.findall(nodes.Element))
    return [(x, i, part) for x in lines for i, part in enumerate(x) if isinstance(part, kind)]


def align_numbers(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Set columns of numbers to the right, the first column and empty ones apart."""
    for table in doctree.findall(nodes.tgroup):
        for column in list(zip(*table.findall(nodes.row)))[1:]:
            below = [entry for entry in column if isinstance(entry.parent.parent, nodes.tbody)]
            words = {entry.astext().strip() for entry in below} - {"", "none"}
            if words and all(map(NUMBER.fullmatch, words)):
                for entry in column:
                    entry["classes"] = ["text-right"]


def note_targets(app: Sphinx, doctree: nodes.document) -> None:
    """Make the verdicts of witnesses and the numbers of errata targets for ``{ref}``."""
    labels = app.env.get_domain("std")
    for raw in doctree.findall(nodes.raw):
        for anchor in re.findall(r'id="((?:w|erratum)-[^"]+)"', raw.astext()):
            labels.note_hyperlink_target(anchor, app.env.docname, anchor)


def mend_bars(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list) -> None:
    """Keep an absolute value in a docstring's text from being taken for a substitution."""
    formula = None  # the indentation of the displayed formula that the line belongs to
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith(".. math::"):
            formula = indent
        elif formula is None or (line.strip() and indent <= formula):
            formula, parts = None, line.split("`")  # every second one is code or mathematics
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "`".join(parts)


def mend_properties(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list
) -> None:
    """Keep napoleon from taking the words before a colon for the type of a property."""
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", " – ", 1)


def copy_mathjax(app: Sphinx) -> None:
    """Copy the part of MathJax that the pages load."""
    for file in files("sphinx-mathjax-offline") or []:
        inside = file.as_posix().partition("static/mathjax/")[2]
        if inside.startswith(MATHJAX):
            target = Path(app.outdir) / "_static" / "mathjax" / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)


def mend_lists(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Take the bibliography's role of a list away: its entries have another role."""
    body = context.get("body", "")
    context["body"] = body.replace('<div role="list" class="citation-list">', "<div>")


def quieten(out: Path) -> None:
    """Keep the theme's scripts from telling the console what they do."""
    for script in (*(out / "_static" / "scripts").glob("*theme.js"), *out.glob("search.html")):
        text = script.read_text(encoding="utf-8")
        script.write_text(text.replace("console.log(", "void("), encoding="utf-8")


def finish(app: Sphinx, error: Exception | None) -> None:
    """Add MathJax, and a root page that leads to the first one."""
    if error or app.builder.format != "html":
        return
    copy_mathjax(app)
    quieten(Path(app.outdir))
    (Path(app.outdir) / ".buildinfo").unlink(missing_ok=True)  # a hash over the status, with dates
    page = app.builder.get_target_uri(app.config.root_doc)
    icon = Path(app.config.html_favicon).name
    root_page = ROOT_PAGE.format(title=app.config.html_title, icon=icon, page=page)
    (Path(app.outdir) / "index.html").write_text(root_page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("config-inited", announce_profile)
    app.connect("builder-inited", collect_seldom)
    app.connect("env-updated", write_side_by_side)
    app.connect("autodoc-process-docstring", mend_bars)
    app.connect("autodoc-process-docstring", mend_properties, priority=400)  # before napoleon
    app.connect("doctree-read", note_targets)
    app.connect("doctree-resolved", mend_proofs)
    app.connect("doctree-resolved", keep_short_code)
    app.connect("doctree-resolved", bind_marks)
    app.connect("doctree-resolved", keep_units)
    app.connect("doctree-resolved", align_numbers)
    app.connect("html-page-context", mend_lists)
    app.connect("build-finished", finish, priority=400)  # before the default bare redirect
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
