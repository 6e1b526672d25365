"""Sphinx extension: text first, evidence one click away.

Notebooks stay plain. When a page is written, each check becomes one line that opens to its code,
figures and tables stand above a fold with their code, parameters and imports become one "Set-up".
:mod:`edition.layers` decides by what a cell contains. The switch Text - Checks - Code in the header
is made by book.js.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from .. import layers
from .statements import badge

ABOUT = (
    "A line that begins with ✓ is a *check*. This page has itself proved, computed or measured "
    "what the line says, and has refused a *wrong variant* of it: the check could have failed. "
    "A click shows how."
)
NOT_IN_PRINT = "not in the paper."


class fold(nodes.General, nodes.Element):
    """A native <details>: ``summary`` is HTML."""


def open_fold(writer: Any, node: fold) -> None:
    """Begin a fold."""
    classes = " ".join(["fold", *node["classes"]])
    writer.body.append(f'<details class="{classes}"><summary>{node["summary"]}</summary>\n')


def close_fold(writer: Any, node: fold) -> None:
    """End a fold."""
    writer.body.append("</details>\n")


def folded(summary: str, kind: str, *inside: nodes.Node) -> fold:
    """A fold with these nodes inside."""
    return fold("", *inside, summary=summary, classes=[kind])


class Layers(SphinxPostTransform):
    """Fold the evidence of a page."""

    default_priority = 150  # after myst-nb has chosen outputs (4), before it hides inputs (199)
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Fold, section by section."""
        self.waiting: list[nodes.Node] = []  # code that belongs to the next fold
        self.first = self.last = None  # the page's first fold, of the set-up, and the last one
        for section in list(self.document.findall(nodes.section)):
            self.own, self.spoke = None, False  # the last fold of this section; code without one
            for cell in [node for node in section if is_cell(node)]:
                self.place(Cell(cell, self.env.docname))
            if self.own is not None:
                self.own += self.take()
            elif self.spoke:
                section += folded("Code", "code", *self.take())
            badges(section)
        self.finish()

    def place(self, cell: Cell) -> None:
        """Give one cell its place."""
        if cell.role == layers.TEACHES:
            cell.node.attributes.pop("hide_mode", None)
        else:
            getattr(self, cell.role.replace("-", "_"))(cell)

    def set_up(self, cell: Cell) -> None:
        """Parameters and imports: one fold; later imports go with what uses them."""
        if self.first is None:
            self.first = folded("Set-up", "set-up")
            cell.node.replace_self(self.first)
        elif self.last is not None:
            return self.helps(cell)
        else:
            cell.node.parent.remove(cell.node)
        self.first += cell.inputs()

    def helps(self, cell: Cell) -> None:
        """Code for the next fold."""
        self.waiting += cell.inputs()
        cell.node.parent.remove(cell.node)

    def speaks(self, cell: Cell) -> None:
        """Code that belongs to the last fold of its section, or else to the next one.

        A page about code has few folds: there the section gets one.
        """
        if self.own is None:
            self.spoke = self.env.docname.startswith(layers.TEACHING)
            return self.helps(cell)
        self.own += [*self.take(), *cell.inputs()]
        cell.node.parent.remove(cell.node)

    def check(self, cell: Cell) -> None:
        """One line for each verdict; the rest opens."""
        lines, bodies = zip(*layers.verdicts(cell.shown), strict=True)
        cell.drop_verdicts()
        how = nodes.raw("", f'<div class="how">{"".join(map(layers.formulas, bodies))}</div>')
        how["format"] = "html"
        self.add(cell, folded("".join(lines), "check", how, *self.take(), *cell.inputs()))

    def ledger(self, cell: Cell) -> None:
        """The chapter's ledger folds itself; its formulas get signs."""
        for table in list(cell.node.findall(nodes.raw)):
            table.replace_self(nodes.raw("", layers.formulas(table.astext()), format="html"))
        self.waiting += cell.inputs()

    def listing(self, cell: Cell) -> None:
        """An algorithm's text, in colours."""
        self.waiting += cell.inputs()
        text = cell.node.astext().strip("\n") + "\n"
        block = nodes.literal_block(text, text, language="python")
        cell.node.children = [nodes.container("", block, classes=["listing"])]
        block.parent.parent = cell.node

    def shows(self, cell: Cell) -> None:
        """A figure, a table or a number above its code."""
        code = [*self.take(), *cell.inputs()]
        what = "figure" if any(cell.node.findall(nodes.image)) else "table"
        what = what if what == "figure" or any(cell.node.findall(nodes.table)) else "output"
        if code:
            self.add(cell, folded(f"Code of this {what}", "code", *code))

    def add(self, cell: Cell, new: fold) -> None:
        """Put a fold below what its cell shows."""
        cell.node += new
        self.own = self.last = new

    def take(self) -> list[nodes.Node]:
        """The code that waits."""
        code, self.waiting = self.waiting, []
        return code

    def finish(self) -> None:
        """Leave no code behind; say once what a check is."""
        if self.waiting:
            end = self.last if self.last is not None else folded("Code", "code")
            end += self.take()
            if end.parent is None:
                next(iter(self.document.findall(nodes.section))).append(end)
        checks = any("check" in node["classes"] for node in self.document.findall(fold))
        if checks and self.first is not None:
            around = self.first.parent
            around.insert(around.index(self.first) + 1, about_checks())


class Cell:
    """A code cell of a page: its node, what it shows and its role."""

    def __init__(self, node: nodes.container, page: str):
        self.node = node
        self.shown = "".join(text for output in self.outputs() for text in shown(output))
        tags = {c.removeprefix("tag_") for c in node["classes"] if c.startswith("tag_")}
        source = "".join(part.astext() for part in self.parts("cell_code_source"))
        self.role = layers.role(source, tags, self.shown, page)

    def parts(self, kind: str) -> list[nodes.Element]:
        """The parts of the cell of this kind."""
        return [part for part in self.node if part.get("nb_element") == kind]

    def outputs(self) -> list[nodes.Element]:
        """What the cell shows."""
        return self.parts("cell_code_output")

    def inputs(self) -> list[nodes.Element]:
        """The cell's code, taken out of it."""
        self.node.attributes.pop("hide_mode", None)
        code = self.parts("cell_code_source")
        for part in code:
            self.node.remove(part)
        return code

    def drop_verdicts(self) -> None:
        """Take the verdicts out of the outputs, and outputs that are then empty."""
        for output in self.outputs():
            for raw in list(output.findall(nodes.raw)):
                if layers.WITNESS.search(raw.astext()):
                    raw.parent.remove(raw)
            if not any(shown(output)):
                self.node.remove(output)


def is_cell(node: nodes.Node) -> bool:
    """Whether a node is a code cell."""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def shown(output: nodes.Element) -> Iterator[str]:
    """The texts of an output, and the names of its pictures."""
    for node in output.findall():
        if isinstance(node, nodes.image):
            yield node["uri"]
        elif isinstance(node, nodes.Text) and node.strip():  # of HTML too
            yield node.astext()


def about_checks() -> nodes.paragraph:
    """The sentence on checks."""
    parts = ABOUT.split("*")
    inside: Iterable[nodes.Node] = (
        nodes.emphasis("", part) if i % 2 else nodes.Text(part) for i, part in enumerate(parts)
    )
    return nodes.paragraph("", "", *inside, classes=["about-checks"])


def badges(section: nodes.section) -> None:
    """Turn a box "Ours" that only says that a statement is not in the paper into a badge."""
    statement = None
    for node in list(section):
        if isinstance(node, nodes.Element) and "proof" in node.get("classes", []):
            statement = node
        elif statement is not None and is_badge(node):
            statement[0] += [nodes.Text(" "), badge("ours")]
            section.remove(node)


def is_badge(node: nodes.Node) -> bool:
    """Whether a node is a box of that one sentence."""
    if not isinstance(node, nodes.admonition) or len(node) != 2 or node[0].astext() != "Ours":
        return False
    text = node[1].astext()
    return text.endswith(NOT_IN_PRINT) and text.count(". ") == 0


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.add_node(fold, html=(open_fold, close_fold))
    app.add_post_transform(Layers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
