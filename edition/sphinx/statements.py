"""Sphinx extension: one public name for each statement, in its head and wherever it is cited.

sphinx-proof numbers every statement and puts its title in brackets. Here a statement whose title is
a name, "Theorem D: the epoch bound", has that name instead of a number. "(ours)" and "(the paper's
Corollary 3.3)" at the end of a title become badges (:mod:`edition.names`).
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_proof.directive import ElementDirective
from sphinx_proof.domain import ProofDomain
from sphinx_proof.nodes import visit_unenumerable_node
from sphinx_proof.proof_type import PROOF_TYPES

from .. import names

EXPLAINED = {"ours": "of this edition, not of the paper", "paper": "its number in the paper"}


class named(nodes.Admonition, nodes.Element):
    """A statement with a name: it has no number."""


def close_named(writer: Any, node: named) -> None:
    """End a statement."""
    writer.body.append("</div>\n")


def badge(mark: str) -> nodes.abbreviation:
    """A mark as a badge, with what it means."""
    kind = mark.partition(":")[0]
    return nodes.abbreviation("", mark, classes=[kind], explanation=EXPLAINED[kind])


class Statement(ElementDirective):
    """A theorem, a definition and the like."""

    def run(self) -> list[nodes.Node]:
        """The statement; its label goes by its name."""
        head = names.head("".join(self.arguments))
        self.arguments = [head.about] if head.about and not head.name else []
        (node,) = super().run()
        if head.name:
            self.env.proof_list[node["label"]]["name"] = head.name
            node = named("", *node.children, **node.attributes)
            about, _ = self.state.inline_text(head.about and f": {head.about}", self.lineno)
            node[0] += [nodes.inline("", head.name, classes=["caption-number"]), *about]
        for mark in head.marks:
            node[0] += [nodes.Text(" "), badge(mark)]
        return [node]


def called(env: BuildEnvironment, label: str) -> str:
    """The one name of a statement: its own, or its kind and number."""
    about = env.proof_list[label]
    numbers = env.toc_fignumbers.get(about["docname"], {}).get(about["countertype"], {})
    number = ".".join(map(str, numbers.get(label, ())))
    return about.get("name") or f"{about['realtype'].title()} {number}".strip()


class Statements(ProofDomain):
    """sphinx-proof's domain, with our directives and names."""

    directives = ProofDomain.directives | dict.fromkeys(PROOF_TYPES, Statement)

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Any,
        typ: str,
        target: str,
        node: Any,
        contnode: Any,
    ) -> Any:
        """A reference says the name, unless its author says another text."""
        if target in getattr(env, "proof_list", {}) and not node.get("refexplicit"):
            contnode = nodes.inline("", called(env, target))
        return super().resolve_xref(env, fromdocname, builder, typ, target, node, contnode)


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.setup_extension("sphinx_proof")
    app.add_domain(Statements, override=True)
    app.add_node(named, html=(visit_unenumerable_node, close_named))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
