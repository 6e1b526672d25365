"""Sphinx extension: ``{drawing} name`` puts a drawing of :mod:`edition.drawings` into a page.

The content of the directive is its caption. As a figure does, a drawing offers a vector file:
_static/figures/drawing-<name>.svg in the built book, on a white ground and with its own colours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

from ..drawings import DRAWINGS
from .figures import put


class DrawingDirective(SphinxDirective):
    """A drawing with its caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The picture, and below it the words."""
        name = self.arguments[0]
        if name not in DRAWINGS:
            raise self.error(f"drawing is {name!r}; it must be one of {', '.join(DRAWINGS)}.")
        about = self.env.metadata[self.env.docname]
        about["drawings"] = f"{about.get('drawings', '')} {name}".strip()
        box = nodes.container(classes=["drawing"], drawing=name)
        box += nodes.raw("", DRAWINGS[name]().svg(), format="html")
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def file(name: str) -> str:
    """The path of a drawing's file in the built book."""
    return f"_static/figures/drawing-{name}.svg"


def offer(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add a link to its file below each drawing's caption."""
    if app.builder.name != "html":
        return
    here = app.builder.get_target_uri(docname)
    for box in doctree.findall(nodes.container):
        if "drawing" in box:
            uri = relative_uri(here, file(box["drawing"]))
            link = nodes.reference("", "vector (SVG)", refuri=uri, internal=True, classes=["file"])
            box += nodes.paragraph("", "", link, classes=["figure-files"])


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the files of the drawings that pages show."""
    if error or app.builder.name != "html":
        return
    shown = {
        name for about in app.env.metadata.values() for name in about.get("drawings", "").split()
    }
    for name in sorted(shown):
        put(Path(app.outdir) / file(name), DRAWINGS[name]().file().encode())


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.add_directive("drawing", DrawingDirective)
    app.connect("doctree-resolved", offer)
    app.connect("build-finished", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
