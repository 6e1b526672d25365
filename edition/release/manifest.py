"""Whether two builds, or a build and the manifest, hold the same results, figures and pages.

python -m edition.release.manifest [--only results] [A B] | --write | --ready

Without words, _build is compared with reproduce/manifest.json; A and B are two built trees (the
folders _build), compared file by file. ``--only results`` leaves the pages out, since prose may
have changed. ``--write`` renews the manifest from a full build; ``--ready`` says whether
`make reproduce` can begin.

The status page holds dates and is left out. Checksums are blind to where a result was made
(edition/sums.py). On the platform, Python and lock of the manifest every checksum must agree;
edition/release/elsewhere.py says what must agree elsewhere.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dueling.engine.provenance import edited

from .. import place
from ..kernel import COMMON, vectors
from ..place import Refusal
from ..sums import differing, sum_of, sums
from . import elsewhere, rows
from .facts import edition

ROOT = place.root()
MANIFEST = Path("reproduce") / "manifest.json"
KINDS = {"results": "results", "pages": "html"}  # kind -> folder of _build
ELSEWHERE = {"results": elsewhere.results, "pages": elsewhere.pages}
STATUS = ["book/back/status.html"]
# Sums of files that name the commit, and the list of words, which sorts it among the others.
DERIVED = ["ro-crate-metadata.json", "searchindex.js"]
AGAIN = "git restores it, and make manifest writes it anew after a full build"

Differences = list[str]


def made_at(root: Path) -> dict[str, str]:
    """What must be the same for equal bytes to be expected."""
    extensions = vectors()
    return {
        "lock": edition(root).lock,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": f"{platform.system()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
        "numpy": version("numpy"),
        "vectors": COMMON if COMMON in extensions else " ".join(extensions),
    }


def built(build: Path) -> dict[str, dict[str, str]]:
    """The checksums of a full build, by kind."""
    return {kind: sums(build / folder, [*STATUS, *DERIVED]) for kind, folder in KINDS.items()}


def write(root: Path) -> None:
    """Keep of a full build where it was made, its checksums, tables, simulations and words."""
    build, path = root / "_build", root / MANIFEST
    if why := unfit(build):
        raise Refusal(f"No manifest: {why}; make book first.")
    path.parent.mkdir(exist_ok=True)
    manifest = {"place": made_at(root), "sums": built(build)}
    manifest["simulations"] = elsewhere.keep(build / "results", path.parent)
    manifest["settings"] = elsewhere.records(build / "results", manifest["sums"]["results"])
    manifest["words"] = elsewhere.articles(build / "html", manifest["sums"]["pages"])
    place.write(path, json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    print(f"wrote {MANIFEST}")


def load(root: Path) -> dict[str, Any]:
    """The manifest, if it is whole and the tables beside it are those it was written with."""
    path = root / MANIFEST
    if not path.exists():
        raise Refusal(f"There is no {MANIFEST} yet: make manifest writes it after a full build.")
    try:
        manifest = json.loads(place.read(path))
        parts = [manifest["place"], manifest["words"], *(manifest["sums"][kind] for kind in KINDS)]
        kept = {elsewhere.SIMULATIONS: manifest["simulations"]} | {
            f"{elsewhere.TABLES}/{name}": wanted
            for name, wanted in manifest["sums"]["results"].items()
            if name.endswith(".csv")
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        parts = [None]
    if not all(part and isinstance(part, dict) for part in parts):
        raise Refusal(f"{MANIFEST} is not a whole manifest: {AGAIN}.")
    for name, wanted in kept.items():
        file = path.parent / name
        if not file.is_file() or sum_of(file) != wanted:
            raise Refusal(f"{MANIFEST.parent / name} is not the manifest's: {AGAIN}.")
    return manifest


def unfit(build: Path) -> str:
    """Why this is not what ``make reproduce`` will build again; empty if it is."""
    if not all(built(build).values()):
        return "there is no full build"
    if any((build / "html").glob("*.pdf")):
        return "the pages are those of make pdf"
    crate = build / "html" / "ro-crate-metadata.json"
    small = crate.exists() and ", profile full" not in crate.read_text(encoding="utf-8")
    return "the pages are those of a small profile" if small else ""


def explained(lines: Differences, wanted: Path, found: Path) -> Differences:
    """The differences between two folders, those of a table that both have by its columns."""

    def columns(line: str) -> Differences:
        name, differs, _ = line.partition(".csv differs")
        old, new = (rows.read(folder / f"{name}.csv") for folder in (wanted, found))
        table = differs and old and new
        return [f"{name}.csv, {told}" for told in rows.changes(old, new)] if table else []

    return [told for line in lines for told in columns(line) or [line]]


def against(manifest: dict[str, Any], root: Path, kinds: list[str]) -> tuple[Differences, str]:
    """The differences between a build and a manifest, and what was compared how."""
    build, kept, here = root / "_build", root / MANIFEST.parent, made_at(root)
    wanted, present = manifest["sums"], built(build)
    other = [key for key in here if here[key] != manifest["place"].get(key)]
    lines, how = {}, [f"on another {', '.join(other)}"]
    for kind in kinds:
        folder = build / KINDS[kind]
        if other:
            lines[kind], method = ELSEWHERE[kind](manifest, present[kind], folder, kept)
            how += method
        else:
            told = differing(wanted[kind], present[kind])
            lines[kind] = explained(told, kept / elsewhere.TABLES, folder)
    files = sum(len(wanted[kind]) for kind in kinds)
    rule = ",\n  ".join(how) if other else f"{files} files, byte for byte"
    return [f"{kind}: {line}" for kind in kinds for line in lines[kind]], rule


def tell(lines: Differences, how: str) -> int:
    """The exit status, after a report that fits a screen."""
    print(f"Compared {how}.")
    if not lines:
        print("No difference.")
        return 0
    print(f"Differences: {len(lines)}.", *(f"  {line}" for line in lines[:40]), sep="\n")
    if len(lines) > 40:
        print(f"  ... and {len(lines) - 40} more")
    return 1


def compare_trees(first: Path, second: Path, kinds: list[str]) -> int:
    """The exit status of comparing two builds, of any profile."""
    lines, counted = [], 0
    for name in sorted({path.name for tree in (first, second) for path in tree.iterdir()}):
        results = name.startswith("results") and not name.endswith("-volatile")
        if (results and "results" in kinds) or (name == "html" and "pages" in kinds):
            pair = first / name, second / name
            left, right = (sums(folder, STATUS) for folder in pair)
            told = explained(differing(left, right), *pair)
            lines += [f"{name}: {line}" for line in told]
            counted += len(left)
    if not counted:
        raise Refusal(f"{first} holds nothing to compare: it must be a folder _build.")
    return tell(lines, f"{counted} files, byte for byte")


def ready(root: Path) -> None:
    """Refuse to begin without a whole manifest, or on a tree that git knows to have changes."""
    load(root)
    try:
        changed = (root / ".git").exists() and edited(root)
    except (OSError, subprocess.SubprocessError) as why:
        reason = (getattr(why, "stderr", "") or str(why)).splitlines()[0]
        print(f"git does not tell whether the tree has changes ({reason}); going on without it.")
        return
    if changed:
        raise Refusal("The tree has changes: commit or drop them first.")


def main(argv: list[str] | None = None) -> int:
    """The exit status: 1 when something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--ready", action="store_true")
    parser.add_argument("--only", choices=KINDS, help="results or pages alone; default both")
    options = parser.parse_args(argv)
    kinds = [options.only] if options.only else list(KINDS)
    if options.trees and (
        len(options.trees) != 2 or not all(tree.is_dir() for tree in options.trees)
    ):
        parser.error("two built trees are compared, each a folder _build")
    try:
        if options.trees:
            return compare_trees(*options.trees, kinds)
        if options.write or options.ready:
            (write if options.write else ready)(ROOT)
            return 0
        return tell(*against(load(ROOT), ROOT, kinds))
    except Refusal as why:
        print(why)
        return 1


if __name__ == "__main__":
    sys.exit(main())
