"""Sphinx extension: lay the outputs of edition.run over the output-free notebooks.

Sources stay without outputs; the reader of a page sees those of the last good execution under the
profile $BOOK_PROFILE (default: full). An execution that is missing, or older than the code it
shows, is a warning.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from ..overlay import overlaid
from ..place import Refusal, profile, results

logger = logging.getLogger(__name__)


def on_source_read(app: Sphinx, docname: str, text: list[str]) -> None:
    """Give outputs to the notebook that Sphinx is about to parse, or warn."""
    root = Path(app.srcdir)
    try:
        if app.env.doc2path(docname).endswith(".ipynb"):
            text[0] = json.dumps(overlaid(root, profile(), docname))
    except Refusal as why:
        command = "make book" + f" PROFILE={profile()}" * (profile() != "full")
        logger.warning("no outputs to show: %s; run `%s`", why, command, location=docname)
    folder = results(root, profile()).relative_to(root).as_posix()
    text[0] = text[0].replace("/_build/results/", f"/{folder}/")  # what pages offer to download


def every_page(app: Sphinx, env: Any, *changes: set[str]) -> list[str]:
    """All pages: outputs, and the numbers that other pages quote, change without the sources."""
    return sorted(env.found_docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("source-read", on_source_read)
    app.connect("env-get-outdated", every_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
