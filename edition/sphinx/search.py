"""Sphinx extension: the search page finds sections and statements, and shows a line of each.

The index is a script, search-sections.js, because pages opened from the file system may load
nothing else; book/_static/search.js asks it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .statements import called

DATA, ASKS = "search-sections.js", "search.js"
Entry = tuple[str, str, str, str]  # address, title of the page, own title, text
STATUS = "book/back/status"  # it holds dates, and nothing to look for


def entries(
    page: str, title: str, document: nodes.document, names: dict[str, str]
) -> Iterator[Entry]:
    """The sections and statements of a page; ``names`` are those of the labels."""
    for section in document.findall(nodes.section):
        if not isinstance(section[0], nodes.title):
            continue  # the inside of a statement
        yield f"{page}#{section['ids'][0]}", title, section[0].astext(), words(prose(section))
        for node in section:
            if is_statement(node):
                label = node["ids"][0]
                yield f"{page}#{label}", title, head(node[0], names.get(label, "")), words(node[1:])


def head(line: nodes.Element, name: str) -> str:
    """The head of a statement as its page shows it; dots set its badges apart."""
    badges = [mark.astext() for mark in line.findall(nodes.abbreviation)]
    text = "".join(part.astext() for part in line if not isinstance(part, nodes.abbreviation))
    text = text if text.startswith(name) else f"{name} {text}"  # a number is not in it yet
    text = " ".join(text.split())
    return " · ".join([text, *badges])


def is_statement(node: nodes.Node) -> bool:
    """Whether a node is a theorem, a lemma, a definition and the like, with an anchor."""
    element = isinstance(node, nodes.Element) and bool(node.get("ids"))
    return element and "proof" in node.get("classes", [])


def prose(section: nodes.section) -> list[nodes.Node]:
    """What a section says itself, outside of its own sections, statements and cells."""
    direct = [node for node in section[1:] if not isinstance(node, nodes.section | nodes.raw)]
    return [node for node in direct if not is_statement(node) and "cell" not in classes(node)]


def words(parts: list[nodes.Node]) -> str:
    """The text of nodes on one line."""
    return " ".join(" ".join(part.astext() for part in parts).split())


def classes(node: nodes.Node) -> list[str]:
    """The classes of a node; none of a text."""
    return node.get("classes", []) if isinstance(node, nodes.Element) else []


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write the script of sections and statements."""
    if error or app.builder.name != "html":
        return
    sections: list[Entry] = []
    names = {label: called(app.env, label) for label in getattr(app.env, "proof_list", {})}
    for page in sorted(app.env.found_docs - {STATUS}):
        title = app.env.titles[page].astext()
        address, document = app.builder.get_target_uri(page), app.env.get_doctree(page)
        sections += entries(address, title, document, names)
    text = json.dumps(sections, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir) / "_static" / DATA
    path.write_text(f"const SECTIONS = {text};\n", encoding="utf-8")


def on_page(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Load index and script on the page of search alone."""
    if page == "search" and app.builder.name == "html":
        app.add_js_file(DATA)
        app.add_js_file(ASKS, loading_method="defer")  # after Sphinx's own script


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("html-page-context", on_page)
    app.connect("build-finished", write_index)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
