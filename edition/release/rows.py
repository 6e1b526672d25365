"""What differs between two tables, row by row, and how far a number may be from the expected one.

Words and keys agree exactly, and so does a number, to ``EXACT`` of its value, unless its own row
tells its error; then it may be ``WITHIN`` standard errors away. What a row tells, its columns say
by their names. The error is a ``standard error`` or ``error``, or a ``standard deviation`` over the
root of the runs. It is that of the columns of ``UNITS``; a median and a quantile are taken to have
twice that (a normal law has 1.25 and 1.71). An error and a standard deviation are themselves known
to one part in the root of the runs. The runs are those of the row, else of the table's JSON.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

EXACT, WITHIN = 1e-9, 6
FLOOR = 1e-12  # what may be left of a sum that should be 0
ERRORS, SPREAD = ("standard error", "error"), "standard deviation"
#: How many standard errors of a mean one standard error of the column is.
UNITS = dict.fromkeys(["mean", "simulated", "regret", "regret per round", "slope"], 1)
UNITS |= dict.fromkeys(["median", "quantile .1", "quantile .9"], 2)

Table = list[list[str]]  # the head, then the rows
Tolerance = Callable[[str, dict[str, str]], float]  # of a column in a row


def read(path: Path) -> Table:
    """The rows of a CSV file with its head; none if it cannot be read as one."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return list(csv.reader(file))
    except (OSError, csv.Error):
        return []


def runs_of(path: Path) -> int:
    """The runs that the JSON beside a table tells; 0 if it tells none."""
    try:
        runs = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["runs"]
        return runs if isinstance(runs, int) else 0
    except (OSError, ValueError, LookupError, TypeError):
        return 0


def number(text: str) -> float | None:
    """The finite number that a cell holds, if it holds one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def error(row: dict[str, str], runs: float) -> float:
    """The standard error of a mean that a row tells; 0 if it tells none."""
    for name in ERRORS:
        if name in row:
            return number(row[name]) or 0.0
    return (number(row.get(SPREAD, "")) or 0.0) / math.sqrt(runs) if runs else 0.0


def within(many: int) -> Tolerance:
    """How far a number may be from its row's, in a table that rests on so many runs."""

    def tolerance(column: str, row: dict[str, str]) -> float:
        value, runs = abs(number(row.get(column, "")) or 0.0), number(row.get("runs", "")) or many
        if column in (*ERRORS, SPREAD):
            slack = value / math.sqrt(runs) if runs else 0.0
        else:
            slack = UNITS.get(column, 0) * error(row, runs)
        return max(WITHIN * slack, EXACT * value, FLOOR)

    return tolerance


def exactly(column: str, row: dict[str, str]) -> float:
    """No tolerance."""
    return 0.0


def changes(wanted: Table, found: Table, tolerance: Tolerance = exactly) -> list[str]:
    """The columns that differ, each with its largest relative change."""
    if wanted[:1] != found[:1]:
        return [f"its columns are {', '.join(found[0]) if found else 'not to be read'}"]
    if len(wanted) != len(found):
        return [f"it has {len(found) - 1} rows, expected {len(wanted) - 1}"]
    rows = [dict(zip(wanted[0], row)) for row in wanted[1:]]
    old, new = (zip_longest(*table, fillvalue="") for table in (wanted, found))
    pairs = zip_longest(old, new, fillvalue=("",) * len(wanted))
    lines = (change(*pair, rows, tolerance) for pair in pairs)
    return [line for line in lines if line]


def change(old: tuple, new: tuple, rows: list[dict], tolerance: Tolerance) -> str:
    """What differs in a column, the head first; empty if nothing does."""
    column = old[0]
    cells = enumerate(zip(rows, old[1:], new[1:]))
    apart = {
        i: distance(a, b)
        for i, (row, a, b) in cells
        if a != b and not distance(a, b, absolute=True) <= tolerance(column, row)
    }
    if not apart:
        return ""
    i = max(apart, key=apart.__getitem__)
    most = f", most by {apart[i]:.2g} of its value" if math.isfinite(apart[i]) else ""
    return (
        f"{column}: {len(apart)} of {len(rows)} rows differ{most}, "
        f"in row {i + 1} {new[i + 1]!r:.60} instead of {old[i + 1]!r:.60}"
    )


def distance(a: str, b: str, absolute: bool = False) -> float:
    """How far b is from a, relative to a unless absolute; infinite if one of them is a word."""
    x, y = number(a), number(b)
    if x is None or y is None:
        return math.inf
    unit = 1.0 if absolute else abs(x)
    return abs(x - y) / unit if unit else math.inf
