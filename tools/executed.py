"""Sphinx extension: lay the outputs of tools/execute.py over the output-free notebooks.

Sources stay without outputs; the reader of a page sees those of the last good execution under the
profile $BOOK_PROFILE (default: full). An execution that is missing, or older than the code it
shows, is a warning.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

sys.path.insert(0, str(Path(__file__).parent))
import execute

logger = logging.getLogger(__name__)


def profile() -> str:
    """The profile whose outputs are shown."""
    return os.environ.get("BOOK_PROFILE", "full")


def overlaid(root: Path, profile: str, name: str) -> dict[str, Any]:
    """The source notebook with the outputs of its execution, or a refusal."""
    about = execute.record(root, profile, name)
    if not about:
        raise execute.Refusal("not executed yet")
    order = execute.in_order(root, [name])
    used = {other: execute.record(root, profile, other).get("parameters", {}) for other in order}
    if about["fingerprint"] != execute.fingerprint(root, name, used):
        raise execute.Refusal("code, parameters or environment changed since its execution")
    notebook = execute.load(execute.source(root, name))
    done = execute.load(execute.executed(root, profile, name))
    lay_over(notebook, done)
    if about["parameters"] != execute.profile_parameters(root, "full").get(name, {}):
        show_parameters(notebook, done)
    return notebook


def lay_over(notebook: dict[str, Any], done: dict[str, Any]) -> None:
    """Nothing; each code cell has the outputs of the executed cell of the same id and source."""
    results = {cell["id"]: cell for cell in execute.code(done)}
    for cell in execute.code(notebook):
        result = results.get(cell["id"])
        if result is None or result["source"] != cell["source"]:
            raise execute.Refusal(f"cell {cell['id']} is not the one that was executed")
        cell["outputs"] = result["outputs"]
        cell["execution_count"] = result["execution_count"]


def show_parameters(notebook: dict[str, Any], done: dict[str, Any]) -> None:
    """Nothing; the parameters that papermill injected are shown after the book's own."""
    for position, cell in enumerate(done["cells"]):
        if cell["id"] == "injected-parameters":
            before = [other["id"] for other in notebook["cells"]].index(
                done["cells"][position - 1]["id"]
            )
            notebook["cells"].insert(before + 1, cell)


def on_source_read(app: Sphinx, docname: str, text: list[str]) -> None:
    """Nothing; the notebook that Sphinx is about to parse has outputs, or a warning is out."""
    root = Path(app.srcdir)
    try:
        if app.env.doc2path(docname).endswith(".ipynb"):
            text[0] = json.dumps(overlaid(root, profile(), docname))
    except execute.Refusal as why:
        command = "make book" + f" PROFILE={profile()}" * (profile() != "full")
        logger.warning("no outputs to show: %s; run `%s`", why, command, location=docname)
    folder = execute.results(root, profile()).relative_to(root).as_posix()
    text[0] = text[0].replace("/_build/results/", f"/{folder}/")  # what pages offer to download


def every_page(app: Sphinx, env: Any, *changes: set[str]) -> list[str]:
    """All pages: outputs, and the numbers that other pages quote, change without the sources."""
    return sorted(env.found_docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("source-read", on_source_read)
    app.connect("env-get-outdated", every_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
