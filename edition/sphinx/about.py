"""Sphinx extension: what a page says about itself.

Its notebook and data, how to cite it, where to edit and run it (once pyproject.toml names a
public repository), and in the foot of every page version, commit and lock. Also the substitutions
{{ status }}, {{ results }}, {{ citation }}, {{ bibtex }} and {{ pdf }} for pages that speak about
the whole.
"""

from __future__ import annotations

import os
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from .. import notebooks, place
from ..release.facts import Edition, edition
from . import figures

KEY = "dueling-edition"
PDF = "dueling-bandits.pdf"
PDF_LINK = f'The whole book is also <a class="pdf" href="../{PDF}">one PDF</a>.'  # from book/


def with_pdf() -> bool:
    """Whether this build goes on to print the PDF (make pdf), so that pages may link to it."""
    return "BOOK_PDF" in os.environ


def facts(app: Sphinx) -> Edition:
    """The edition that is being built; read once, so that all pages name the same state."""
    if not hasattr(app, "_edition"):
        app._edition = edition(Path(app.srcdir))
    return app._edition


def describe(app: Sphinx, config: Config) -> None:
    """Set the foot of each page and the substitutions."""
    about = facts(app)
    state = f"Version {about.version} · commit {about.commit} · lock {about.lock[:16]}"
    licences = "Text and figures: CC BY 4.0. Code: MIT."
    config.html_theme_options["extra_footer"] = f'<p class="state">{state}<br>{licences}</p>'
    config.myst_substitutions = {
        "status": status(Path(app.srcdir), place.profile()),
        "results": f"{results(Path(app.srcdir), place.profile()):,}",
        "citation": about.citation(),
        "bibtex": f"```bibtex\n{about.bibtex(KEY)}\n```",
        "pdf": PDF_LINK if with_pdf() else "`make pdf` prints the whole book as one PDF.",
    }


def results(root: Path, profile: str) -> int:
    """The number of files that the notebooks made: those of the manifest, if all is well."""
    files = place.results(root, profile).rglob("*")
    return sum(path.is_file() and path.suffix != ".part" for path in files)  # not half written


def status(root: Path, profile: str) -> str:
    """The cost of each notebook's last run, as a table in Markdown."""
    rows = ["| notebook | seconds | of CPU | peak MB | run on | with |"]
    rows.append("|---|---:|---:|---:|---|---|")
    kinds: dict[str, str] = {}
    for name, cost in notebooks.costs(root, profile).items():
        versions = ", ".join(f"{key} {value}" for key, value in cost["versions"].items())
        kind = f"{cost['machine']}; Python {cost['python']}, {versions}"
        letter = kinds.setdefault(kind, chr(ord("A") + len(kinds)))
        cells = (cost["seconds"], cost["cpu"], cost["peak_mb"], cost["date"], letter)
        rows.append(f"| [](/{name}) | {' | '.join(map(str, cells))} |")
    machines = [f"{letter}: {kind}." for kind, letter in kinds.items()]
    return "\n".join([*rows, "", *machines, *measured(root, profile)])


def measured(root: Path, profile: str) -> list[str]:
    """The paragraphs in Markdown about times that notebooks measured, kept apart from results."""
    files = sorted(notebooks.measured(root, profile).glob("*.md"))
    return [f"\n{place.read(path)}" for path in files]


def on_page(app: Sphinx, pagename: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """End the page with what it offers, and give its header a menu of the same."""
    if app.builder.name != "html" or pagename not in app.env.found_docs:
        return
    if pagename == app.config.root_doc:
        context["title"] = "Front page"  # its own title is the book's, which follows
    offered = offers(app, pagename, context["pathto"])
    context["body"] = context.get("body", "") + box(app, pagename, offered, context)
    buttons = [
        {"type": "link", "url": url, "text": label, "label": "page-offer"}
        for label, url in offered.items()
    ]
    cite = {
        "type": "javascript",
        "javascript": "document.getElementById('cite-this-page').open=true;"
        "location.hash='cite-this-page'",
        "text": "Cite this page",
        "label": "page-cite",
    }
    group = {
        "type": "group",
        "tooltip": "Files, citation and source of this page",
        "icon": "fas fa-download",
        "buttons": [*buttons, cite],
        "label": "page-offers",
    }
    context["header_buttons"] = [*context.get("header_buttons", []), group]


def offers(app: Sphinx, page: str, pathto: Any) -> dict[str, str]:
    """What a page offers: label -> address."""
    offered = {}
    if figures.is_notebook(app, page):
        offered["Notebook"] = pathto(f"notebooks/{page}.ipynb", 1)
    if with_pdf():
        offered["The book as PDF"] = pathto(PDF, 1)
    source = Path(app.env.doc2path(page)).relative_to(app.srcdir).as_posix()
    return offered | facts(app).links(source)


def box(app: Sphinx, page: str, offered: dict[str, str], context: dict[str, Any]) -> str:
    """The end of a page: its files, and how to cite it."""
    links = [f'<a href="{escape(url)}">{label}</a>' for label, url in offered.items()]
    data = figures.tables(Path(app.srcdir), place.profile(), page)
    links += [
        f'<a href="{context["pathto"](f"data/{table}.csv", 1)}">{table.rpartition("/")[2]}.csv</a>'
        for table in data
    ]
    name = "" if page == app.config.root_doc else plain(context.get("title", ""))
    about = facts(app)
    key = f"{KEY}-{page.rpartition('/')[2]}" if name else KEY
    files = f'<p class="page-files">{" ".join(links)}</p>' if links else ""
    return f"""
<section class="page-about" aria-label="About this page">{files}
<details id="cite-this-page"><summary>Cite this page</summary>
<p>{escape(about.citation(name))}</p>
<pre>{escape(about.bibtex(key, name))}</pre>
</details></section>
"""


def plain(title: str) -> str:
    """A page's title without markup."""
    return unescape(re.sub(r"<[^>]+>", "", title))


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("config-inited", describe)
    app.connect("html-page-context", on_page, priority=600)  # after the theme's own buttons
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
