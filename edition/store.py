"""Simulations kept as files: an interrupted notebook goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import dueling
from dueling import Result, simulate
from dueling.engine.algorithm import Own, defaults
from dueling.engine.frozen import foreign
from dueling.engine.protocol import digest
from dueling.engine.provenance import provenance
from dueling.engine.runs import Setting

from . import place, tables
from .sources import imported

USUAL = defaults(simulate)  # how a result is made unless its settings say otherwise


def source(*things: Any) -> str:
    """The SHA-256 of the text that decides these things' simulation: that of another is not reused.

    The text of :mod:`dueling.engine.runs` and of the modules that define the scenario, the
    algorithm and its machines, with all that they import; a name stands in
    :mod:`dueling.section7`.
    """
    machines = [machine for thing in things for machine in _machines(thing)]
    kinds = [Setting, *map(type, things), *machines]
    modules = {"dueling.section7" if kind is str else kind.__module__ for kind in kinds}
    return _source(frozenset(modules))


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
    simulation. A file is good when scenario, algorithm, what is kept, settings, versions, Python
    and the package's text are the same. Game and algorithm are known by their names, which say
    nothing of the text of a reader's own: :func:`~dueling.engine.simulation.simulate` runs those.
    """
    _refuse_foreign(scenario, algorithm)
    names = [_named(thing) for thing in (scenario, algorithm)]
    free = ("workers", "chunk", "progress")  # these do not change a result
    asked = {k: np.asarray(v).tolist() for k, v in settings.items() if k not in free}
    short = crc32(json.dumps(asked, sort_keys=True).encode())
    installed = [provenance({})["versions"], platform.python_version_tuple()[:2]]
    key = json.dumps(
        [*names, sorted(keep), USUAL | asked, source(scenario, algorithm), installed],
        sort_keys=True,
    )
    slug = re.sub(r"[^A-Za-z0-9.=]+", "-", "-".join(name for name, *_ in names)).strip("-")
    path = place.inside(tables.folder(), f"{folder}/{slug}-{short:08x}.npz")
    if path.exists():
        try:
            kept = Result.load(path)
            if kept.about.get("key") == key:
                return kept
        except ValueError:
            pass  # not whole: simulate again
    fresh = simulate(scenario, algorithm, **settings)
    arrays = {name: array for name, array in fresh.arrays.items() if name in keep}
    result = Result(fresh.checkpoints, arrays, {**fresh.about, "key": key})
    result.save(path)
    return result


def _refuse_foreign(scenario, algorithm) -> None:
    """Refuse a game, an algorithm or a machine whose class or text is a reader's own."""
    if not isinstance(scenario, str) and foreign(type(scenario)):
        raise ValueError(f"scenario is {scenario}; to be stored it must be one of the package.")
    kinds = [] if isinstance(algorithm, str) else [type(algorithm), *_machines(algorithm)]
    if isinstance(algorithm, Own) or any(map(foreign, kinds)):
        such = "to be stored it must be one of the package, and so its machines"
        raise ValueError(f"algorithm is {algorithm}; {such}.")


def _machines(algorithm) -> list:
    """The classes of an algorithm's machines, also where functools.partial holds them."""
    machines = [getattr(algorithm, name, None) for name in ("machine", "right")]
    return [getattr(machine, "func", machine) for machine in machines if machine is not None]


def _named(thing) -> list:
    """A name; else also the digests of a game and its utilities: games of one name may differ."""
    if isinstance(thing, str):
        return [thing]
    laws = [part for pair in getattr(thing, "atoms", ()) for part in pair]
    return [thing.name, getattr(thing, "digest", None), digest(*laws)]
