"""Whether a build on another platform, Python or lock has the results of the manifest.

There the last bit of a logarithm may differ, and with it, rarely, a simulated run; and that of an
exponential, and with it the preferences that a link gives. So the sets of files are compared, words
exactly, settings to twelve decimals, and numbers row by row within the errors of the rows
(:mod:`edition.release.rows`). For that, reproduce/ keeps the tables as they are and of every stored
simulation the mean final regret, or the mean pulls of each arm where it holds no regret; and the
manifest keeps the sums of settings and of each page's words.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from dueling import Result
from dueling.engine.provenance import settings

from ..place import read, write
from ..sums import differing, digest, plain_json, plain_text, sum_of
from . import rows

TABLES, SIMULATIONS = "tables", "simulations.csv"  # in reproduce/
HEAD = ["file", "of", "settings", "runs", "mean", "standard error"]
BY_ROWS = (".csv", ".npz")
UNNAMED = ("_static/", "_images/")  # the theme's own files, pictures named after their bytes
COPIES = ("data/", "_downloads/")  # of results, which the pages offer

Report = tuple[list[str], list[str]]  # the differences, and what was compared how

ARTICLE = re.compile(r"<article.*?</article>", re.S)
NUMBER = re.compile(r"[-+−]?\d+([.,]\d+)*(e[-+]?\d+)?")


# What is kept


def rounded(thing: Any) -> str:
    """The sum of what JSON can hold, its numbers rounded as a scenario's digest rounds them."""

    def twelve(text: str) -> float:
        return round(float(text), 12) + 0.0

    near = json.loads(json.dumps(thing), parse_float=twelve)
    return digest(json.dumps(near, sort_keys=True).encode())


def settled(path: Path) -> str:
    """The sum of a JSON file's settings, its numbers rounded; of a damaged one, of its bytes."""
    try:
        return rounded(json.loads(plain_json(path.read_bytes())))
    except ValueError:
        return sum_of(path)


def records(results: Path, names: Iterable[str]) -> dict[str, str]:
    """The sum of the settings of every JSON file among some files."""
    return {name: settled(results / name) for name in names if name.endswith(".json")}


def compared(result: Result) -> dict[str, np.ndarray]:
    """What is compared of each run, by its name: final regret, else the pulls of each arm."""
    if "regret" in result.arrays:
        return {"regret": result.regret[:, -1]}
    return {f"pulls of arm {x}": pulls for x, pulls in enumerate(result.pulls.T)}


def simulation(path: Path) -> rows.Table:
    """Each of these with the sum of the settings, the number of runs, its mean and the error."""
    result = Result.load(path)
    shapes = {name: [*array.shape, array.dtype.str] for name, array in result.arrays.items()}
    held = rounded([settings(result.about), result.checkpoints.tolist(), shapes])[:16]
    table = []
    for name, values in compared(result).items():
        error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        numbers = (repr(float(value)) for value in (values.mean(), error))
        table.append([name, held, str(len(values)), *numbers])
    return table


def simulations(results: Path) -> rows.Table:
    """The stored simulations of a build; a damaged one has a name alone."""
    table = [HEAD]
    for path in sorted(results.rglob("*.npz")):
        told: rows.Table = [[]]
        with suppress(ValueError):
            told = simulation(path)
        table += [[path.relative_to(results).as_posix(), *row] for row in told]
    return table


def words(page: Path) -> str:
    """The sum of a page's words: its article without markup, numbers, commits and its own foot."""
    text = plain_text(page.read_bytes()).decode(errors="replace")
    article = "".join(ARTICLE.findall(text)).partition('<section class="page-about"')[0]
    bare = " ".join(re.sub(r"<[^>]+>", " ", article).split())
    return digest(NUMBER.sub("#", bare).encode())


def articles(html: Path, names: Iterable[str]) -> dict[str, str]:
    """The sum of the words of every page among some files, the theme's aside."""
    chosen = (name for name in names if name.endswith(".html") and not name.startswith(UNNAMED))
    return {name: words(html / name) for name in chosen}


def keep(results: Path, folder: Path) -> str:
    """Copy the tables of a build and list its simulations; the sum of that list."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(simulations(results))
    tables = {path.relative_to(results): path for path in sorted(results.rglob("*.csv"))}
    for name, path in tables.items():
        write(folder / TABLES / name, read(path))
    for old in (folder / TABLES).rglob("*.csv"):
        if old.relative_to(folder / TABLES) not in tables:
            old.unlink()
    return sum_of(write(folder / SIMULATIONS, text.getvalue()))


# What is compared


def results(known: dict[str, Any], found: dict[str, str], folder: Path, kept: Path) -> Report:
    """The differences of the results, and what was compared how."""

    def others(sums: dict[str, str]) -> dict[str, str]:
        return {name: "" if name.endswith(BY_ROWS) else value for name, value in sums.items()}

    wanted, about = known["sums"]["results"], known.get("settings", {})
    here = records(folder, about.keys() & found.keys())
    lines = differing(others(wanted | about), others(found | here))
    tables = sorted(name for name in wanted.keys() & found.keys() if name.endswith(".csv"))
    for name in tables:
        tolerance = rows.within(rows.runs_of(folder / name))
        pair = rows.read(kept / TABLES / name), rows.read(folder / name)
        lines += [f"{name}, {told}" for told in rows.changes(*pair, tolerance)]
    listed, stored = rows.read(kept / SIMULATIONS), simulations(folder)
    lines += [f"{row[0]} is not a whole result" for row in stored if len(row) == 1]
    told = rows.changes(listed, stored, rows.within(0))
    return lines + [f"stored simulations, {line}" for line in told], [
        f"{len(tables)} tables row by row (words and verdicts exactly, numbers within "
        f"{rows.WITHIN} standard errors where their row tells one, else to {rows.EXACT:g})",
        f"{len({row[0] for row in listed[1:]})} stored simulations by settings (exactly) and mean "
        "final regret, or pulls where they hold no regret",
        f"{sum(not name.endswith(BY_ROWS) for name in wanted)} other results exactly, "
        "numbers in them to twelve decimals",
    ]


def no_copies(found: dict[str, str], html: Path) -> list[str]:
    """The files for download that are not those of the results beside the pages."""
    files = (path for path in (html.parent / "results").rglob("*.*") if path.suffix != ".npz")
    results = {(path.name, sum_of(path)) for path in files}
    offered = {name: value for name, value in found.items() if name.startswith(COPIES)}
    return [
        f"{name} is no copy of a result"
        for name, value in offered.items()
        if (Path(name).name, value) not in results
    ]


def pages(known: dict[str, Any], found: dict[str, str], folder: Path, kept: Path) -> Report:
    """The differences of the pages, and what was compared how."""

    def named(sums: dict[str, str], sentences: dict[str, str]) -> dict[str, str]:
        return {name: sentences.get(name, "") for name in sums if not name.startswith(UNNAMED)}

    wanted = named(known["sums"]["pages"], known["words"])
    lines = differing(wanted, named(found, articles(folder, found))) + no_copies(found, folder)
    copies = sum(name.startswith(COPIES) for name in wanted)
    return lines, [
        f"{len(known['words'])} pages by their words, numbers and pictures aside",
        f"{copies} files for download with the results that they copy",
        f"{len(wanted) - len(known['words']) - copies} other files of the pages by their names",
    ]
