"""Results as files: text, and tables with their provenance."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dueling.engine.provenance import provenance

from . import place


def folder() -> Path:
    """The folder of results of this build."""
    return place.results(place.root(), place.profile())


def write_text(name: str, text: str) -> Path:
    """Write a file of results, whole or not at all, and list it where edition.execute looks."""
    path = place.write(place.inside(folder(), name), text)
    if listing := os.environ.get("BOOK_WROTE"):
        with open(listing, "a", encoding="utf-8") as file:
            file.write(path.relative_to(folder()).as_posix() + "\n")
    return path


def write_volatile(name: str, text: str) -> Path:
    """Write a file of what differs from run to run (times), kept apart from the results."""
    apart = place.volatile(place.root(), place.profile())
    return place.write(place.inside(apart, name), text)


def write_csv(name: str, head: Iterable[str], rows: Iterable[Iterable]) -> Path:
    """Write ``name.csv``: numbers with all their digits, text quoted where it must be."""
    text = io.StringIO()
    lines = [[_cell(value) for value in row] for row in rows]
    csv.writer(text, lineterminator="\n").writerows([list(head), *lines])
    return write_text(f"{name}.csv", text.getvalue())


def write(name: str, columns: Mapping[str, Any], about: dict) -> Path:
    """Write columns as ``name.csv``, their meaning and provenance as ``name.json``."""
    write_text(f"{name}.json", json.dumps(provenance(about), indent=1, sort_keys=True))
    return write_csv(name, columns, zip(*map(np.asarray, columns.values()), strict=True))


def written(name: str) -> Path:
    """The path of a result; refuse one that no notebook has written yet."""
    path = place.inside(folder(), name)
    if not path.is_file():
        raise place.Refusal(f"There is no {name} in {folder().name} yet: make book writes it.")
    return path


def read(name: str) -> dict[str, np.ndarray]:
    """The columns that :func:`write` wrote: numbers as arrays of floats, the rest as text."""
    with written(f"{name}.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return {key: _column([row[i] for row in rows]) for i, key in enumerate(head)}


def _cell(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def _column(values: list[str]) -> np.ndarray:
    try:
        return np.array([float(v) for v in values])
    except ValueError:
        return np.array(values)
