"""Measure ConfidenceBall inside Doubler: ``python bench/linear.py``, part of the bench."""

import argparse
import json
import subprocess
import sys
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
    """Growth of the peak memory of a fresh process, in MB, from T = 10^3 to each horizon."""
    found = {}
    for kept in ("average", "counts"):
        code = (
            "import resource, sys, numpy as np; from dueling.structured import *\n"
            "X = Ball(8); scenario = LinearUtilities(X, 0.4 * np.eye(8)[0], 0.5)\n"
            f"doubler = LinearDoubler(ConfidenceBall1, {kept!r}, scale={SCALE})\n"
            "for T in (10**3, 10**5, 10**6):\n"
            "    game, _ = scenario.game(T, np.array([T]), np.random.default_rng(1))\n"
            "    doubler.play(game)\n"
            "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        words = [sys.executable, "-c", code]
        out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        peaks = np.array([int(p) for p in out.split()])
        unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS
        grown = ((peaks - peaks[0]) * unit / 1e6).round(1).tolist()
        found[kept] = dict(zip((10**3, 10**5, 10**6), grown, strict=True))
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
    print("peak memory over that at T = 1000, MB:", peaks)
    found = {"seconds": seconds, "ns per round": over_d, "exponents": local, "memory": peaks}
    target_file = HERE.parent / "_build" / "bench-linear.json"
    target_file.parent.mkdir(exist_ok=True)
    target_file.write_text(json.dumps(found, indent=1, default=float))
    kept = {
        "d = 8, T = 1e5 in 2 s": seconds <= 2,
        "at most quadratic in d on the ball": max(local["ConfidenceBall1"]) <= 2,
        "memory of the average arm does not grow": peaks["average"][10**6] <= 1,
    }
    print("; ".join(f"{what}: {'yes' if good else 'NO'}" for what, good in kept.items()))
    sys.exit(0 if all(kept.values()) else 1)


if __name__ == "__main__":
    main()
