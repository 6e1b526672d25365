"""Sphinx extension: each figure offers a vector file, a picture and its data; so does each page.

In the built book: figures/<name>.svg and .png, data/<table>.csv and .json, and
notebooks/<page>.ipynb, the notebook with the outputs that the page shows.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

from .. import notebooks, place
from ..overlay import overlaid

SVG, PNG = "image/svg+xml", "image/png"
WIDE = 540  # points: a wider picture has several panels, and scrolls on a phone


@dataclass(frozen=True)
class Figure:
    """A figure of a page: its name in the book, its cell, its pictures and its tables."""

    name: str
    cell: str
    caption: str
    pictures: dict[str, str]  # kind -> contents
    tables: list[str]  # paths in the folder of results, without suffix


@cache
def notebook(root: Path, profile: str, page: str) -> dict[str, Any]:
    """The notebook as the page shows it; no cells when it was not executed."""
    try:
        return overlaid(root, profile, page)
    except place.Refusal:  # the overlay has warned already
        return {"cells": []}


def tables(root: Path, profile: str, page: str) -> dict[str, str]:
    """The tables that a page's notebook wrote (paths without suffix), and the cell of each."""
    wrote = notebooks.record(root, profile, page).get("wrote", {})
    return {
        file.removesuffix(".csv"): origin["cell"]
        for file, origin in wrote.items()
        if file.endswith(".csv")
    }


@cache
def figures(root: Path, profile: str, page: str) -> list[Figure]:
    """The named figures of a page, in order."""
    wrote = tables(root, profile, page)
    named = []
    for cell in notebooks.code(notebook(root, profile, page)):
        about = cell["metadata"].get("mystnb", {}).get("figure", {})
        pictures = [out["data"] for out in cell["outputs"] if PNG in out.get("data", {})]
        if pictures and "name" in about:
            kinds = {kind: "".join(pictures[0][kind]) for kind in (SVG, PNG) if kind in pictures[0]}
            name = about["name"]
            data = cell["metadata"].get("data") or own_tables(name, cell["id"], wrote)
            named.append(Figure(name, cell["id"], about.get("caption", ""), kinds, data))
    return named


def own_tables(name: str, cell: str, wrote: dict[str, str]) -> list[str]:
    """The tables that the figure's cell wrote; else those with the figure's name."""
    stem = name.removeprefix("fig-")
    here = [table for table, writer in wrote.items() if writer == cell]
    return here or [table for table in wrote if table.rpartition("/")[2].startswith(stem)]


def files(figure: Figure) -> dict[str, str]:
    """What a figure offers: label -> path in the built book."""
    offered = {
        "vector (SVG)": f"figures/{figure.name}.svg",
        "picture (PNG)": f"figures/{figure.name}.png",
    }
    several = len(figure.tables) > 1
    for table in figure.tables:
        label = f"data {table.rpartition('/')[2]}" if several else "data"
        offered |= {f"{label} (CSV)": f"data/{table}.csv", f"about {label}": f"data/{table}.json"}
    return offered


def offer(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add links to its files below each figure's caption."""
    if app.builder.name != "html" or not is_notebook(app, docname):
        return
    here = app.builder.get_target_uri(docname)
    root, profile = Path(app.srcdir), place.profile()
    offered = {f.name: f for f in figures(root, profile, docname)}
    kept = place.results(root, profile)
    for node in doctree.findall(nodes.figure):
        for name in set(node["ids"]) & set(offered):
            line = nodes.paragraph(classes=["figure-files"])
            for label, path in files(offered[name]).items():
                if path.startswith("data/") and not (kept / path.removeprefix("data/")).exists():
                    continue  # a table that says nothing about itself
                uri = relative_uri(here, path)
                line += nodes.reference("", label, refuri=uri, internal=True, classes=["file"])
                line += nodes.Text(" ")
            node += nodes.legend("", line)
            if width(offered[name].pictures.get(SVG, "")) > WIDE:
                widen(node)
            link_picture(node, relative_uri(here, f"figures/{name}.svg"))


def width(svg: str) -> float:
    """The width of a vector picture in points; 0 if there is none.

    >>> width('<svg height="266.4pt" version="1.1" width="656.3pt">')
    656.3
    """
    match = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
    return float(match[1]) if match else 0.0


def widen(figure: nodes.figure) -> None:
    """Mark the pictures of a figure as made of panels."""
    for image in figure.findall(nodes.image):
        image["classes"] = sorted({*image["classes"], "panels"})


def link_picture(figure: nodes.figure, uri: str) -> None:
    """Let a tap on the picture open the vector file."""
    for image in list(figure.findall(nodes.image)):
        if not isinstance(image.parent, nodes.reference):
            link = nodes.reference("", "", refuri=uri, internal=True, classes=["picture"])
            image.replace_self(link)
            link += image


def is_notebook(app: Sphinx, docname: str) -> bool:
    """Whether a page is a notebook."""
    return docname in app.env.found_docs and app.env.doc2path(docname).endswith(".ipynb")


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the files that pages and figures offer."""
    if error or app.builder.name != "html":
        return
    root, profile, out = Path(app.srcdir), place.profile(), Path(app.outdir)
    for page in sorted(app.env.found_docs):
        if is_notebook(app, page):
            put(out / "notebooks" / f"{page}.ipynb", light(notebook(root, profile, page)))
            for figure in figures(root, profile, page):
                write_pictures(out / "figures", figure)
            copy_results(notebooks.record(root, profile, page), place.results(root, profile), out)


def write_pictures(folder: Path, figure: Figure) -> None:
    """Write the figure's pictures."""
    if SVG in figure.pictures:
        put(folder / f"{figure.name}.svg", figure.pictures[SVG].encode())
    put(folder / f"{figure.name}.png", base64.b64decode(figure.pictures[PNG]))


def copy_results(about: dict[str, Any], results: Path, out: Path) -> None:
    """Copy what a notebook wrote into the built book."""
    for file in about.get("wrote", {}):
        target = out / "data" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(results / file, target)


def put(path: Path, data: bytes) -> None:
    """Write the bytes, and the folders above them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def light(whole: dict[str, Any]) -> bytes:
    """A notebook for download: the vectors are left out, the pictures stay."""
    cells = json.loads(json.dumps(whole["cells"]))
    for cell in cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(SVG, None)
    return (json.dumps(whole | {"cells": cells}, indent=1) + "\n").encode()


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("doctree-resolved", offer)
    app.connect("build-finished", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
