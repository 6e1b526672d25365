"""Simulate some of the stored results again, on other numbers of workers, and compare the bits.

python -m edition.release.again [--rounds 2e8] [--seed anything]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from contextlib import suppress
from pathlib import Path

from dueling import ALGORITHMS, Result, simulate
from dueling.engine.provenance import commit
from dueling.section7 import NAMES

from .. import tables
from ..store import source

SETTINGS = ("T", "runs", "seed", "regret", "realised", "permute", "common")


def named(folder: Path) -> list[Path]:
    """The stored results of this text of the package whose game and algorithm have a name."""

    def known(path: Path) -> bool:
        with suppress(ValueError, KeyError):  # not whole, or not one that store.stored keeps
            scenario, algorithm, *_, text, _ = json.loads(Result.load(path).about["key"])
            names = scenario in [[n] for n in NAMES] and algorithm in [[a] for a in ALGORITHMS]
            return names and text == source(scenario[0], algorithm[0])
        return False

    return [path for path in sorted(folder.rglob("*.npz")) if known(path)]


def cost(path: Path) -> int:
    """How many rounds a stored result took."""
    about = Result.load(path).about
    return about["T"] * about["runs"]


def sample(paths: list[Path], rounds: float, seed: str) -> list[Path]:
    """Some of the results, at random, of at most so many rounds in all; or else the cheapest."""
    chosen: list[Path] = []
    for path in random.Random(seed).sample(paths, len(paths)):
        if (price := cost(path)) <= rounds:
            chosen.append(path)
            rounds -= price
    return chosen or sorted(paths, key=cost)[:1]


def same(path: Path, workers: int) -> bool:
    """Whether a result comes out again, bit for bit."""
    stored = Result.load(path)
    scenario, algorithm, *_ = json.loads(stored.about["key"])
    settings = {name: stored.about[name] for name in SETTINGS}
    settings |= {"checkpoints": stored.checkpoints, "workers": workers}
    fresh = simulate(scenario[0], algorithm[0], **settings)
    return all(fresh.arrays[k].tobytes() == a.tobytes() for k, a in stored.arrays.items())


def main(argv: list[str] | None = None) -> int:
    """The exit status: 0 if there is a sample and all of it came out again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=float, default=2e8)
    parser.add_argument("--seed", default=commit(), help="of the choice; default: the commit")
    options = parser.parse_args(argv)
    chosen = sample(named(tables.folder()), options.rounds, options.seed)
    if not chosen:
        print("No stored result of this text of the package: make book first.", file=sys.stderr)
        return 1
    bad = [path for i, path in enumerate(chosen) if not same(path, workers=(1, 3)[i % 2])]
    for path in bad:
        print(f"{path.relative_to(tables.folder())} does not come out again.", file=sys.stderr)
    print(f"{len(chosen) - len(bad)} of {len(chosen)} results came out again, bit for bit.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
