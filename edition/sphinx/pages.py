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
    app.connect("doctree-read", note_targets)
    app.connect("doctree-resolved", mend_proofs)
    app.connect("doctree-resolved", keep_short_code)
    app.connect("html-page-context", mend_lists)
    app.connect("build-finished", finish, priority=400)  # before the default bare redirect
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
