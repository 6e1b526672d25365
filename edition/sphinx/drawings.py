"""Sphinx extension: ``{drawing} name`` puts a drawing of :mod:`edition.drawings` into a page.

The content of the directive is its caption.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..drawings import DRAWINGS


class DrawingDirective(SphinxDirective):
    """A drawing with its caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The picture, and below it the words."""
        name = self.arguments[0]
        if name not in DRAWINGS:
            raise self.error(f"drawing is {name!r}; it must be one of {', '.join(DRAWINGS)}.")
        box = nodes.container(classes=["drawing"])
        box += nodes.raw("", DRAWINGS[name]().svg(), format="html")
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.add_directive("drawing", DrawingDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
