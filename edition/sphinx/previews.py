"""Sphinx extension: what a reference points to, to be shown when the reader hovers over it.

For each page a script _previews/<page>.js with the page's statements, equations, citations and
figure captions; book/_static/book.js loads it when it is first needed. A script and not JSON,
because pages opened from the file system may load nothing else.
"""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, SoupStrainer
from bs4.element import Tag
from sphinx.application import Sphinx

TARGETS = "div.proof[id], div.math[id], div.citation[id], figure[id], span.witness[id]"
AROUND = SoupStrainer(["div", "figure", "span"], id=True)  # the rest of a page is not even built
DROPPED = ".headerlink, script, button, img, .figure-files"


def previews(body: str) -> dict[str, str]:
    """The targets of a page: id -> a piece of HTML without ids, links and pictures."""
    targets = BeautifulSoup(body, "html.parser", parse_only=AROUND).select(TARGETS)
    return {str(target["id"]): piece(target) for target in targets}


def piece(target: Tag) -> str:
    """One target, bare."""
    bare = copy(target)
    for extra in bare.select(DROPPED):
        extra.decompose()
    for element in (bare, *bare.find_all(True)):
        element.attrs.pop("id", None)
        if element.name == "a":
            element.name, element.attrs = "span", {}
    return str(bare).strip()


def on_page(app: Sphinx, pagename: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Write the page's script of previews."""
    if app.builder.name != "html" or pagename not in app.env.found_docs:
        return
    pieces = previews(context.get("body", ""))
    path = Path(app.outdir) / "_previews" / f"{pagename}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(pieces, ensure_ascii=False, sort_keys=True)
    path.write_text(f"previews({json.dumps(pagename)}, {text});\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("html-page-context", on_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
