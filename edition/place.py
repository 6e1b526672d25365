"""Where things are: the checkout, the profile, the folders of a build, the table of contents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dueling.engine.files import whole


class Refusal(ValueError):
    """A reason not to go on, in one sentence for the reader."""


def root() -> Path:
    """The checkout that holds the book: the nearest folder above with a ``_toc.yml``."""
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "_toc.yml").is_file():
            return folder
    return here


def profile() -> str:
    """The profile of this build: ``full``, or the name in the variable BOOK_PROFILE."""
    name = os.environ.get("BOOK_PROFILE", "full")
    if not re.fullmatch(r"\w[\w-]*", name):
        raise Refusal(f"BOOK_PROFILE is {name!r}; it must be a name of book/profiles.yml.")
    return name


def results(root: Path, profile: str) -> Path:
    """The folder of the results that notebooks write under a profile."""
    return root / "_build" / ("results" if profile == "full" else f"results-{profile}")


def volatile(root: Path, profile: str) -> Path:
    """The folder of what differs from run to run (times), apart from the results."""
    folder = results(root, profile)
    return folder.with_name(f"{folder.name}-volatile")


def inside(folder: Path, name: str) -> Path:
    """The path of a name below a folder; refuse a name that leaves it."""
    path = Path(os.path.normpath(folder / name))
    if folder not in path.parents:
        raise Refusal(f"name is {name!r}; it must lead to a file inside of {folder.name}.")
    return path


def pages(root: Path) -> list[tuple[str, str]]:
    """The pages of _toc.yml in reading order, each with the caption of its part."""

    def entries(node: dict[str, Any], part: str) -> Iterator[tuple[str, str]]:
        part = node.get("caption", part)
        yield from (
            (part, node[key].removesuffix(".ipynb")) for key in ("root", "file") if key in node
        )
        for key in ("parts", "chapters", "sections"):
            for child in node.get(key, []):
                yield from entries(child, part)

    return list(entries(yaml.safe_load(read(root / "_toc.yml")), ""))


def proofs(root: Path) -> dict[str, str]:
    """The pages with witnesses, theory and appendices in reading order, by their last names."""
    paths = [page for _, page in pages(root) if page.startswith(("book/theory/", "book/appendix/"))]
    named = {page.rpartition("/")[2]: page for page in paths}
    if len(named) < len(paths):
        raise Refusal("_toc.yml has two pages of proofs of one name; their ledgers must differ.")
    return named


def read(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> Path:
    """Write the file whole, or leave it as it was, whenever the machine stops."""
    with whole(path) as file:
        file.write(text.encode())
    return path
