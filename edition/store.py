"""Simulations kept as files: an interrupted notebook goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import dueling
from dueling import Result, simulate
from dueling.engine.algorithm import Own
from dueling.engine.protocol import digest
from dueling.engine.provenance import provenance

from . import place, tables
from .sources import imported


def source(*things: Any) -> str:
    """The SHA-256 of the text that decides these things' simulation: that of another is not reused.

    The text of :mod:`dueling.engine.simulation` and of the modules that define the scenario, the
    algorithm and its machines, with all that they import.
    """
    parts = [getattr(thing, name, None) for thing in things for name in ("machine", "right")]
    made = [getattr(part, "func", part) for part in parts if part is not None]
    modules = {kind.__module__ for kind in (*map(type, things), *made)} - {"builtins"}
    return _source(frozenset({"dueling.engine.simulation", *modules}))


@cache
def _source(modules: frozenset[str]) -> str:
    root = Path(dueling.__file__).parents[1]
    files = imported(root, "\n".join(f"import {name}" for name in sorted(modules)))
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


def stored(
    folder: str, scenario: Any, algorithm: Any, keep: Sequence[str] = ("regret",), **settings
) -> Result:
    """``simulate(scenario, algorithm, **settings)``, read from its file where that is still good.

    So an interrupted notebook continues where it stopped, and a figure is redrawn without any
    simulation. A file is good when scenario, algorithm, what is kept, settings, versions and the
    package's text are the same. Game and algorithm are known by their names, which say nothing of
    the text of a reader's own: :func:`~dueling.engine.simulation.simulate` runs those.
    """
    if _foreign(type(scenario)) and not isinstance(scenario, str):
        raise ValueError(f"scenario is {scenario}; stored keeps the package's own games only.")
    kind = algorithm if isinstance(algorithm, str) else type(algorithm)
    for part in (kind, *(getattr(algorithm, name, None) for name in ("machine", "right"))):
        if isinstance(algorithm, Own) or _foreign(part):
            own = "stored keeps the package's own algorithms and machines only"
            raise ValueError(f"algorithm is {algorithm}; {own}.")
    given = [_known(thing) for thing in (scenario, algorithm)]
    free = ("workers", "chunk", "progress")  # these do not change a result
    asked = {k: np.asarray(v).tolist() for k, v in settings.items() if k not in free}
    short = crc32(json.dumps(asked, sort_keys=True).encode())
    versions = provenance({})["versions"]
    key = json.dumps(
        [*given, sorted(keep), asked, source(scenario, algorithm), versions], sort_keys=True
    )
    slug = re.sub(r"[^A-Za-z0-9.=]+", "-", "-".join(name for name, *_ in given)).strip("-")
    path = place.inside(tables.folder(), f"{folder}/{slug}-{short:08x}.npz")
    if path.exists():
        try:
            found = Result.load(path)
            if found.about.get("key") == key:
                return found
        except ValueError:
            pass  # not whole: simulate again
    fresh = simulate(scenario, algorithm, **settings)
    kept = {name: array for name, array in fresh.arrays.items() if name in keep}
    result = Result(fresh.checkpoints, kept, {**fresh.about, "key": key})
    result.save(path)
    return result


def _foreign(part) -> bool:
    """Whether an algorithm or a machine comes from outside of the package."""
    made = getattr(part, "func", part)  # what functools.partial holds
    named = made is None or isinstance(made, str)
    return not named and made.__module__.partition(".")[0] != dueling.__name__


def _known(thing) -> list:
    """A name; else also the digests of a game and its utilities: games of one name may differ."""
    if isinstance(thing, str):
        return [thing]
    laws = [part for pair in getattr(thing, "atoms", ()) for part in pair]
    return [thing.name, getattr(thing, "digest", None), digest(*laws)]
