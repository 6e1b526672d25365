"""Measure ConfidenceBall inside Doubler: ``python bench/linear.py``, part of the bench."""

import argparse
import json
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
from run import best_of, play

from dueling.structured import (
    Ball,
    Box,
    ConfidenceBall1,
    ConfidenceBall2,
    LinearDoubler,
    LinearUtilities,
)

HERE = Path(__file__).parent
SCALE = 1e-4


def scenario(X):
    """Utilities from 0.1 to 0.9 along the first axis."""
    mu = np.zeros(X.d)
    mu[0] = 0.4
    return LinearUtilities(X, mu, 0.5)


def target(repeats: int) -> float:
    """CPU seconds of T = 1e5 rounds of Doubler with ConfidenceBall_1 on the ball of dimension 8."""
    call = play(LinearDoubler(ConfidenceBall1, scale=SCALE), scenario(Ball(8)), 10**5)
    return best_of({"it": call}, repeats)["it"]


def growth(repeats: int) -> dict:
    """ns per round over d, at T = 20000 (ConfidenceBall_1) and T = 2000 (ConfidenceBall_2)."""
    over_d: dict = {}
    for d in (2, 4, 8, 16, 32):
        machines = {"ConfidenceBall1": (ConfidenceBall1, Ball(d), 20000)}
        if d <= 16:
            machines["ConfidenceBall2"] = (ConfidenceBall2, Ball(d), 2000)
            machines["ConfidenceBall1 on a box"] = (ConfidenceBall1, Box([-1] * d, [1] * d), 20000)
        calls = {
            name: play(LinearDoubler(machine, scale=SCALE), scenario(X), T)
            for name, (machine, X, T) in machines.items()
        }
        found = best_of(calls, repeats)
        over_d[d] = {name: s / machines[name][2] * 1e9 for name, s in found.items()}
    return over_d


def exponents(over_d: dict, name: str) -> list[float]:
    """Local exponents of the time per round in d."""
    times = [row[name] for row in over_d.values() if name in row]
    return [float(np.log2(b / a)) for a, b in pairwise(times)]


def memory() -> dict:
    """The peak of the memory that a game of T rounds allocates, in MB; it is compiled before."""
    found = {}
    for kept in ("average", "counts"):
        doubler, peaks = LinearDoubler(ConfidenceBall1, kept, scale=SCALE), {}
        play(doubler, scenario(Ball(8)), 100)()
        for T in (10**3, 10**5, 10**6):
            tracemalloc.start()
            play(doubler, scenario(Ball(8)), T)()
            peaks[T] = tracemalloc.get_traced_memory()[1] / 1e6
            tracemalloc.stop()
        found[kept] = peaks
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="turns of the interleaved timing")
    repeats = parser.parse_args().repeats
    seconds, over_d, peaks = target(repeats), growth(repeats), memory()
    local = {name: exponents(over_d, name) for name in over_d[2]}
    print(f"Doubler(ConfidenceBall1), ball, d = 8, T = 1e5: {seconds:.2f} s")
    for d, row in over_d.items():
        print(f"d = {d:<3}", *(f"{name} {ns:9.0f} ns" for name, ns in row.items()))
    for name, found in local.items():
        print(f"{name}: local exponents in d", *(f"{e:.2f}" for e in found))
    for kept, over_t in peaks.items():
        print(f"memory {kept}:", *(f"T = {T:.0e} {mb:.2f} MB" for T, mb in over_t.items()))
    found = {"seconds": seconds, "ns per round": over_d, "exponents": local, "memory": peaks}
    target_file = HERE.parent / "_build" / "bench-linear.json"
    target_file.parent.mkdir(exist_ok=True)
    target_file.write_text(json.dumps(found, indent=1, default=float))
    kept = {
        "d = 8, T = 1e5 in 2 s": seconds <= 2,
        "at most quadratic in d on the ball": max(local["ConfidenceBall1"]) <= 2,
        "the average arm's memory does not grow": peaks["average"][10**6] <= 1,
        "the list's memory does": peaks["counts"][10**6] >= 100 * peaks["counts"][10**3],
    }
    print("; ".join(f"{what}: {'yes' if good else 'NO'}" for what, good in kept.items()))
    sys.exit(0 if all(kept.values()) else 1)


if __name__ == "__main__":
    main()
