"""Sphinx extension: ro-crate-metadata.json in the built book.

It ties each figure and each table to the notebook, cell, parameters, seed, commit and lock that
made it, and to its SHA-256 (of the file as it is, commit and all).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from .. import notebooks, place
from ..release.facts import Edition
from ..sums import digest
from . import about, figures

CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    {
        "sha256": "https://w3id.org/ro/terms/workflow-run#sha256",
        "cell": "https://jupyter.org/terms#cell",
    },
]
TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".csv": "text/csv",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
}
LICENCE = "https://creativecommons.org/licenses/by/4.0/"

Entity = dict[str, Any]


def parameters(root: Path, profile: str, page: str) -> dict[str, Any]:
    """The parameters of a run: those of the notebook's own cell, and those given to it."""
    import papermill

    logging.getLogger("papermill").setLevel(logging.WARNING)  # or it tells of each file
    inspected = papermill.inspect_notebook(str(notebooks.source(root, page)))
    defaults = {name: about["default"] for name, about in inspected.items()}
    others = notebooks.record(root, profile, page).get("parameters", {})
    return defaults | {name: json.dumps(value) for name, value in others.items()}


def file(out: Path, path: str, name: str, **more: Any) -> Entity:
    """A file of the built book, with its size and checksum."""
    data = (out / path).read_bytes()
    kind = TYPES.get(Path(path).suffix, "application/octet-stream")
    fixed = {"@id": path, "@type": "File", "name": name, "encodingFormat": kind}
    return fixed | {"contentSize": len(data), "sha256": digest(data)} | more


def page_entities(root: Path, out: Path, profile: str, page: str) -> Iterator[Entity]:
    """A notebook, its run with parameters, and the files that the run made."""
    notebook, run = f"notebooks/{page}.ipynb", f"#run-{page}"
    yield file(out, notebook, page, **{"@type": ["File", "SoftwareSourceCode"]})
    wrote = notebooks.record(root, profile, page).get("wrote", {})
    products = []
    for path, made_in in wrote.items():
        products.append(file(out, f"data/{path}", path, cell=made_in["cell"]))
    for figure in figures.figures(root, profile, page):
        tables = [{"@id": f"data/{table}.csv"} for table in figure.tables]
        for suffix in ("svg", "png"):
            more = {"cell": figure.cell, "description": figure.caption, "isBasedOn": tables}
            products.append(file(out, f"figures/{figure.name}.{suffix}", figure.name, **more))
    values = parameters(root, profile, page)
    for name, value in values.items():
        yield {"@id": f"{run}-{name}", "@type": "PropertyValue", "name": name, "value": value}
    yield {
        "@id": run,
        "@type": "CreateAction",
        "name": f"papermill run of {page}, profile {profile}",
        "instrument": [{"@id": notebook}, {"@id": "#environment"}],
        "object": [{"@id": f"{run}-{name}"} for name in values],
        "result": [{"@id": entity["@id"]} for entity in products],
    }
    yield from products


def dataset(edition: Edition, parts: list[Entity], authors: list[Entity]) -> Entity:
    """The edition itself: all files are its parts, all runs are mentioned."""
    files = [{"@id": entity["@id"]} for entity in parts if "contentSize" in entity]
    runs = [{"@id": entity["@id"]} for entity in parts if entity["@type"] == "CreateAction"]
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": edition.title,
        "description": edition.abstract,
        "datePublished": edition.date,
        "version": edition.version,
        "identifier": edition.commit,
        "license": {"@id": LICENCE},
        "author": [{"@id": author["@id"]} for author in authors],
        "isBasedOn": {"@id": edition.paper["url"]},
        "hasPart": files,
        "mentions": runs,
    }


def whole(edition: Edition, parts: list[Entity]) -> list[Entity]:
    """The crate's own description, the edition, the environment, the paper and the licence."""
    authors = [
        {"@id": f"#author-{i}", "@type": "Organization", "name": name}
        for i, name in enumerate(edition.authors)
    ]
    crate = {"@id": "ro-crate-metadata.json", "@type": "CreativeWork"}
    crate |= {"conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}, "about": {"@id": "./"}}
    environment = {"@id": "#environment", "@type": "SoftwareApplication"}
    environment |= {"name": "requirements.txt, the locked environment"}
    environment |= {"softwareVersion": edition.commit, "sha256": edition.lock}
    paper = {"@id": edition.paper["url"], "@type": "ScholarlyArticle"}
    paper |= {"name": edition.paper["title"]}
    licence = {"@id": LICENCE, "@type": "CreativeWork"}
    licence |= {"name": "CC BY 4.0; the code is under the MIT licence"}
    return [crate, dataset(edition, parts, authors), environment, paper, licence, *authors]


def write_crate(app: Sphinx, error: Exception | None) -> None:
    """Write the crate into the built book."""
    if error or app.builder.name != "html":
        return
    root, out, profile = Path(app.srcdir), Path(app.outdir), place.profile()
    pages = [page for page in sorted(app.env.found_docs) if figures.is_notebook(app, page)]
    pages = [page for page in pages if notebooks.record(root, profile, page)]
    parts = [entity for page in pages for entity in page_entities(root, out, profile, page)]
    graph = whole(about.facts(app), parts) + parts
    text = json.dumps({"@context": CONTEXT, "@graph": graph}, indent=1, ensure_ascii=False)
    (out / "ro-crate-metadata.json").write_text(text + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """The extension's metadata."""
    app.connect("build-finished", write_crate, priority=600)  # after the files it describes
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
