"""Sphinx extension: the directive ``play``, a thing to play in the page.

    ```{play} bandit
    What is seen where scripts do not run: the still picture's caption.
    ```

A page that has one loads the kernels (``edition.wasm``) and the scripts of ``book/_static/play`` at
the end of its text. There they run before every script that is deferred, such as that for formulas.
Until they run, or where they cannot, it shows a picture drawn here from plain runs of the package.
"""

from __future__ import annotations

import json
import shutil
from html import escape
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .. import place, stills, tables
from ..wasm import bundle

#: The things to play: what a page may name, and the scripts each needs besides the kernels.
THINGS = {"bandit": "bandit.js", "reductions": "reductions.js", "steps": "steps.js"}
SHARED = ("kernels.js", "duel.js", "board.js")

logger = logging.getLogger(__name__)


class Play(SphinxDirective):
    """A thing to play; its body is the caption of the still picture."""

    required_arguments = 1
    option_spec: ClassVar[dict] = {"algorithm": directives.unchanged}
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The box that a script fills, with the still picture in it."""
        name = directives.choice(self.arguments[0], THINGS)
        algorithm = self.options.get("algorithm", "")
        self.env.metadata[self.env.docname]["play"] = "1"
        begin_kernels(self.env.app)
        picture, alt = stills.still(name, algorithm)
        told = {"play": name, "algorithm": algorithm, **results(name, algorithm)}
        marks = " ".join(f'data-{key}="{escape(value)}"' for key, value in told.items() if value)
        head = f'<div class="play" {marks}>'
        image = f'<div class="play-still" role="img" aria-label="{alt}">{picture}</div>'
        caption = nodes.container(classes=["play-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        opened = nodes.raw("", head + image, format="html")
        return [opened, caption, nodes.raw("", "</div>", format="html")]


def results(name: str, algorithm: str) -> dict[str, str]:
    """What a thing to play shows of the book's results: the map of constants, the run of a relapse.

    They are read from the folder of results; a page whose notebooks were not run goes without.
    """
    folder, kept = tables.folder(), {}
    if name == "reductions" and (folder / "choices-map.csv").is_file():
        grid = tables.read("choices-map")
        rows = zip(*(grid[key].tolist() for key in ("alpha", "c", "R1", "R2", "R3")), strict=True)
        kept["map"] = json.dumps([list(row) for row in rows])
    film = folder / "figures" / "sparring-film.json"
    if name == "steps" and algorithm == "Sparring" and film.is_file():
        kept["run"] = str(json.loads(place.read(film))["run"])
    return kept


def playing(app: Sphinx) -> list[str]:
    """The pages with something to play."""
    return [page for page, about in app.env.metadata.items() if "play" in about]


def add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Let a page with something to play load what that needs, and no other page."""
    if app.builder.name != "html" or page not in playing(app):
        return
    wanted = [s for name, s in THINGS.items() if f'data-play="{name}"' in context["body"]]
    for script in (*SHARED, *wanted):
        address = context["pathto"](f"_static/play/{script}", resource=True)
        context["body"] += f'<script src="{address}?v={_version(app, script)}"></script>\n'


def _version(app: Sphinx, script: str) -> str:
    """What changes with the script's text, so that no browser keeps an old one beside a new one."""
    if script == "kernels.js":
        return bundle.digest()
    return f"{crc32((Path(app.srcdir) / 'book' / '_static' / 'play' / script).read_bytes()):08x}"


def begin_kernels(app: Sphinx) -> None:
    """Begin to make the kernels, if need be, beside the reading of the pages on one core."""
    if app.builder.name == "html" and not hasattr(app, "_kernels"):
        root = Path(app.srcdir)
        app._kernels = None if bundle.kept(root).is_file() else bundle.begun(root)


def write_kernels(app: Sphinx, error: Exception | None) -> None:
    """Write the kernels, if a page needs them; without them the pages show still pictures."""
    if error or app.builder.name != "html" or not playing(app):
        return
    target = Path(app.outdir) / "_static" / "play" / "kernels.js"
    try:
        shutil.copyfile(bundle.file(Path(app.srcdir), getattr(app, "_kernels", None)), target)
    except place.Refusal as reason:
        target.write_text(f"{bundle.PREFIX}null;\n", encoding="utf-8")
        logger.warning("nothing can be played in these pages: %s", reason)


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.add_directive("play", Play)
    app.add_css_file("play/play.css")
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_kernels)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
