"""Lay the outputs of an execution over the notebook as committed, which has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import notebooks
from .place import Refusal


def overlaid(root: Path, profile: str, name: str) -> dict[str, Any]:
    """The source notebook with the outputs of its execution, or a refusal."""
    done = notebooks.outcome(root, profile, name)
    if not done:
        raise Refusal("not executed yet")
    about = done["metadata"]["executed"]
    order = notebooks.in_order(root, [name])
    used = {other: notebooks.record(root, profile, other).get("parameters", {}) for other in order}
    if about["fingerprint"] != notebooks.fingerprint(root, name, used):
        raise Refusal("code, parameters or environment changed since its execution")
    notebook = notebooks.load(notebooks.source(root, name))
    lay_over(notebook, done)
    if about["parameters"] != notebooks.profile_parameters(root, "full").get(name, {}):
        show_parameters(notebook, done)
    return notebook


def lay_over(notebook: dict[str, Any], done: dict[str, Any]) -> None:
    """Give each code cell the outputs of the executed cell of the same id."""
    results = {cell["id"]: cell for cell in notebooks.code(done)}
    for cell in notebooks.code(notebook):
        result = results[cell["id"]]  # the fingerprints agree, and with them ids and sources
        cell["outputs"] = result["outputs"]
        cell["execution_count"] = result["execution_count"]


def show_parameters(notebook: dict[str, Any], done: dict[str, Any]) -> None:
    """Show the parameters that papermill injected after the book's own."""
    for position, cell in enumerate(done["cells"]):
        if cell["id"] == "injected-parameters":
            before = [other["id"] for other in notebook["cells"]].index(
                done["cells"][position - 1]["id"]
            )
            notebook["cells"].insert(before + 1, cell)
