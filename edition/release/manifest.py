"""Whether two builds, or a build and the manifest, hold the same results, figures and pages.

python -m edition.release.manifest [--only results | --write | A B]

Without words, _build is compared with reproduce/manifest.json; ``--only results`` leaves the pages
out, since prose may have changed; ``--write`` renews the manifest from a full build; A and B are
two built trees (the folders _build), compared file by file.

The status page holds dates and is left out. Checksums are blind to the commit (edition/sums.py).
On the platform and lock of the manifest every checksum must agree. Elsewhere the last bit of a
logarithm may differ and with it a simulated run; there, each numeric column of each table must
agree with the manifest's mean within TOLERANCE of its spread or, if constant, of its value. A table
of few runs is another sample there: within 1/sqrt(runs), and a table of one run is left out.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import place
from ..kernel import COMMON, vectors
from ..sums import sums
from .facts import edition

ROOT = place.root()
MANIFEST = Path("reproduce") / "manifest.json"
KINDS = {"results": "results", "pages": "html"}  # kind -> folder of _build
STATUS = ["book/back/status.html"]
# Sums of files that name the commit, and the list of words, which sorts it among the others.
DERIVED = ["ro-crate-metadata.json", "searchindex.js"]
TOLERANCE = 0.05

Differences = list[str]


def made_at(root: Path) -> dict[str, str]:
    """What must be the same for equal bytes to be expected."""
    return {
        "lock": edition(root).lock,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": f"{platform.system()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
        "numpy": version("numpy"),
        "vectors": COMMON if COMMON in (found := vectors()) else " ".join(found),
    }


def built(build: Path) -> dict[str, dict[str, str]]:
    """The checksums of a full build, by kind."""
    return {kind: sums(build / folder, [*STATUS, *DERIVED]) for kind, folder in KINDS.items()}


def columns(path: Path) -> dict[str, list[float]]:
    """The numeric columns of a table: how many numbers, their mean, least and largest."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for name in rows[0] if rows else []:
        values = numbers([row[name] for row in rows])
        if values:
            mean = math.fsum(values) / len(values)
            three = (mean, min(values), max(values))
            found[name] = [len(values), *(float(f"{value:.9g}") for value in three)]
    return found


def numbers(texts: list[str]) -> list[float]:
    """The finite numbers of a column; none if any entry is not a number."""
    try:
        return [value for value in map(float, texts) if math.isfinite(value)]
    except (TypeError, ValueError):
        return []


def tolerance(path: Path) -> float:
    """How far a column's mean may be from the manifest's, in units of the column's range."""
    about = path.with_suffix(".json")
    runs = json.loads(about.read_text(encoding="utf-8")).get("runs") if about.exists() else None
    return max(TOLERANCE, runs**-0.5) if runs else TOLERANCE


def tables(build: Path) -> dict[str, dict[str, Any]]:
    """The numeric columns of all tables of a build, each table with its tolerance."""
    folder = build / KINDS["results"]
    return {
        path.relative_to(folder).as_posix(): {"within": tolerance(path), "of": columns(path)}
        for path in sorted(folder.rglob("*.csv"))
    }


def manifest(root: Path) -> dict[str, Any]:
    """What is kept of a full build: where it was made, its checksums, its columns."""
    build = root / "_build"
    return {"place": made_at(root), "sums": built(build), "columns": tables(build)}


def unfit(build: Path) -> str:
    """Why this is not what ``make reproduce`` will build again; empty if it is."""
    if not all(built(build).values()):
        return "there is no full build"
    if any((build / "html").glob("*.pdf")):
        return "the pages are those of make pdf"
    crate = build / "html" / "ro-crate-metadata.json"
    small = crate.exists() and ", profile full" not in crate.read_text(encoding="utf-8")
    return "the pages are those of a small profile" if small else ""


def differing(wanted: dict[str, str], found: dict[str, str], kind: str) -> Differences:
    """Files that are missing, new or of another checksum."""
    lines = [f"{kind}: {name} is missing" for name in sorted(wanted.keys() - found.keys())]
    lines += [f"{kind}: {name} is new" for name in sorted(found.keys() - wanted.keys())]
    both = sorted(wanted.keys() & found.keys())
    return lines + [f"{kind}: {name} differs" for name in both if wanted[name] != found[name]]


def far(wanted: dict[str, Any], found: dict[str, Any]) -> Differences:
    """Columns whose mean is further from the manifest's than the tolerance allows."""
    lines = []
    for table, known in wanted.items():
        for name, (count, mean, low, high) in known["of"].items():
            now = found.get(table, {"of": {}})["of"].get(name)
            scale = (high - low) or abs(mean) or 1.0
            if now is None or now[0] != count:
                lines.append(f"columns: {table}, {name}: {count} numbers expected, {now} found")
            elif known["within"] < 1 and abs(now[1] - mean) > known["within"] * scale:
                lines.append(f"columns: {table}, {name}: mean {now[1]:g}, expected {mean:g}")
    return lines


def against(known: dict[str, Any], root: Path, kinds: list[str]) -> tuple[Differences, str, int]:
    """The differences between a build and a manifest, by which rule, and of how many files."""
    here = made_at(root)
    other = [key for key in here if here[key] != known["place"][key]]
    if other:
        rule = f"each column within its tolerance (another {', '.join(other)})"
        return far(known["columns"], tables(root / "_build")), rule, len(known["columns"])
    found = built(root / "_build")
    lines = [line for kind in kinds for line in differing(known["sums"][kind], found[kind], kind)]
    return lines, "byte for byte", sum(len(known["sums"][kind]) for kind in kinds)


def tell(lines: Differences, rule: str, counted: int) -> int:
    """The exit status, after a report that fits a screen."""
    print(f"Compared {counted} files, {rule}.")
    if not lines:
        print("No difference.")
        return 0
    print(f"{len(lines)} differences:", *(f"  {line}" for line in lines[:40]), sep="\n")
    if len(lines) > 40:
        print(f"  ... and {len(lines) - 40} more")
    return 1


def compare_trees(first: Path, second: Path) -> int:
    """The exit status of comparing two builds of the same commit, of any profile."""
    lines, counted = [], 0
    names = {path.name for tree in (first, second) for path in tree.iterdir()}
    for name in sorted(names):
        if name == "html" or (name.startswith("results") and not name.endswith("-volatile")):
            left, right = sums(first / name, STATUS), sums(second / name, STATUS)
            lines += differing(left, right, name)
            counted += len(left)
    return tell(lines, "byte for byte", counted)


def main(argv: list[str] | None = None) -> int:
    """The exit status: 1 when something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", choices=KINDS, help="results or pages alone; default both")
    options = parser.parse_args(argv)
    if options.trees:
        if len(options.trees) != 2 or not all(tree.is_dir() for tree in options.trees):
            parser.error("two built trees are compared, each a folder _build")
        return compare_trees(*options.trees)
    path = ROOT / MANIFEST
    if options.write:
        if why := unfit(ROOT / "_build"):
            print(f"No manifest: {why}; make book first.")
            return 1
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(manifest(ROOT), indent=1, sort_keys=True) + "\n")
        print(f"wrote {MANIFEST}")
        return 0
    if not path.exists():
        print(f"There is no {MANIFEST} yet: make manifest writes it after a full build.")
        return 1
    known = json.loads(path.read_text(encoding="utf-8"))
    kinds = [options.only] if options.only else list(KINDS)
    return tell(*against(known, ROOT, kinds))


if __name__ == "__main__":
    sys.exit(main())
