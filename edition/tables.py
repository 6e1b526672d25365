"""Results as files: text, and tables with their provenance."""

from __future__ import annotations

import csv
import io
import json
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
    """Write a file of results, whole or not at all."""
    return place.write(folder() / name, text)


def write_volatile(name: str, text: str) -> Path:
    """Write a file of what differs from run to run (times), kept apart from the results."""
    return place.write(folder().with_name(folder().name + "-volatile") / name, text)


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


def read(name: str) -> dict[str, np.ndarray]:
    """The columns that :func:`write` wrote: numbers as arrays of floats, the rest as text."""
    with (folder() / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return {key: _column([row[i] for row in rows]) for i, key in enumerate(head)}


def _cell(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def _column(values: list[str]) -> np.ndarray:
    try:
        return np.array([float(v) for v in values])
    except ValueError:
        return np.array(values)
