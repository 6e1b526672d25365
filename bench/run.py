"""Measure the engine: ``make bench``. Ratios come from interleaved runs of one process."""

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from dueling import ALGORITHMS, UCB, Sparring, Utilities, scenario, simulate
from dueling.section7 import NAMES

HERE = Path(__file__).parent
T = 32000


def best_of(calls: dict, repeats: int) -> dict:
    """The least CPU seconds of each call; the calls take turns, so that noise hits all alike."""
    best = dict.fromkeys(calls, np.inf)
    for turn in range(repeats + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if turn:  # the first turn compiles
                best[name] = min(best[name], time.process_time() - start)
    return best


def play(algorithm, game_of, horizon: int):
    def call():
        rng = np.random.default_rng(1)
        game = game_of.game(horizon, np.array([horizon]), rng)
        algorithm.play(game)

    return call


def c_kernels() -> dict:
    """The tuned C kernels, built now; none where there is no C compiler."""
    cc = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if cc is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "kernel.so"
        build = [cc, "-O3", "-shared", "-fPIC", HERE / "kernel.c", "-o", library, "-lm"]
        if subprocess.run([*build, "-march=native"], capture_output=True).returncode:
            subprocess.run(build, check=True)  # Apple's compiler may not know the flag
        lib = ctypes.CDLL(str(library))
    game = scenario("arith/linear")
    n = np.arange(T + 2.0)
    n[0] = 1
    P, gap = game.P, game.table("average")
    seed = np.random.default_rng(1).integers(0, 2**63, 4).astype(np.uint64)
    tables = np.sqrt(2.5 * np.log(n)), 1 / n, 1 / np.sqrt(n)

    def kernel(name):
        f = getattr(lib, name)
        f.restype = ctypes.c_double

        def call():  # it holds the arrays: C is given their addresses only
            first, *rest = (ctypes.c_void_p(a.ctypes.data) for a in (P, gap, seed, *tables))
            return f(first, rest[0], ctypes.c_int64(T), *rest[1:])

        return call

    return {f"C {name}": kernel(name.lower()) for name in ("Sparring", "MultiSBM")}


def peers(horizon: int) -> dict:
    """The algorithms shared with duelpy, on the same game and horizon; none where it is missing."""
    np.float, np.int, np.bool = float, int, bool  # duelpy 1.0 asks NumPy for names that it dropped
    try:
        from duelpy.algorithms.beat_the_mean import BeatTheMeanBandit
        from duelpy.algorithms.interleaved_filtering import InterleavedFiltering
        from duelpy.feedback.matrix_feedback import MatrixFeedback
    except Exception as error:
        print(f"duelpy cannot be imported here ({error}); no ratio to it")
        return {}
    wins = 1 - scenario("arith/linear").P

    def run(algorithm):
        def call():
            state = np.random.RandomState(1)
            feedback = MatrixFeedback(wins, random_state=state)
            algorithm(feedback, time_horizon=horizon, random_state=state).run()

        return call

    return {"IF": run(InterleavedFiltering), "BTMB": run(BeatTheMeanBandit)}


def per_duel(calls: dict, horizon: int, repeats: int) -> dict:
    """ns per duel of each call."""
    return {name: s / horizon * 1e9 for name, s in best_of(calls, repeats).items()}


def ours(game, horizon: int) -> dict:
    return {name: play(a, game, horizon) for name, a in ALGORITHMS.items()}


def speed(repeats: int) -> dict:
    """ns per duel of the five algorithms and of the C kernels, at T = 32000 and six arms."""
    found = per_duel(ours(scenario("arith/linear"), T) | c_kernels(), T, repeats)
    for name, ns in found.items():
        print(f"{name:12s} {ns:7.1f} ns per duel")
    for name in ("Sparring", "MultiSBM"):
        if f"C {name}" in found:
            found[f"{name} / C"] = found[name] / found[f"C {name}"]
            print(f"{name} takes {found[f'{name} / C']:.2f} x the time of the C kernel")
    return found


class Outside(UCB):
    """UCB as a reader's own class: compiled, its indices are checked."""


def checked(repeats: int) -> float:
    """The time of Sparring over a class from outside of the package, over the package's own."""
    game, kinds = scenario("arith/linear"), (UCB, Outside)
    calls = {kind: play(Sparring(kind, alpha=3.0), game, T) for kind in kinds}
    ns = per_duel(calls, T, repeats)
    print(
        f"a machine whose indices are checked takes {ns[Outside] / ns[UCB]:.2f} x the time of UCB"
    )
    return ns[Outside] / ns[UCB]


TIMED = """
import json, runpy, sys
bench = runpy.run_path(sys.argv[1])
calls = bench["ours"](bench["scenario"]("arith/linear"), bench["T"])
print(json.dumps(bench["per_duel"](calls, bench["T"], int(sys.argv[2]))))
"""


def timed(checkout: Path, repeats: int) -> dict:
    """ns per duel of a checkout's package, in a new process, as its own bench measures them."""
    command = [sys.executable, "-c", TIMED, checkout / "bench" / "run.py", str(repeats)]
    path = os.environ | {"PYTHONPATH": str(checkout)}
    out = subprocess.run(
        command, env=path, cwd=checkout, capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout)


def against(other: Path, repeats: int, turns: int = 5) -> dict:
    """Our time over that of another checkout for each algorithm: the best of turns of each."""
    best = {}
    for checkout in (HERE.parent, other.resolve()) * turns:
        for name, ns in timed(checkout, repeats).items():
            best[checkout, name] = min(ns, best.get((checkout, name), np.inf))
    found = {a: best[HERE.parent, a] / best[other.resolve(), a] for a in ALGORITHMS}
    for name, ratio in found.items():
        print(f"{name:12s} takes {ratio:.3f} x the time that it takes in {other}")
    return found


def against_duelpy(horizon: int = 2000) -> dict:
    """How often duelpy's time holds ours, for the algorithms that both have."""
    found = {}
    fast = per_duel(ours(scenario("arith/linear"), horizon), horizon, 20)
    for name, call in peers(horizon).items():
        theirs = per_duel({name: call}, horizon, 1)[name]
        found[name] = theirs / fast[name]
        print(f"{name} of duelpy: {theirs:.0f} ns per duel, {found[name]:.0f} x ours")
    return found


def growth(repeats: int) -> dict:
    """ns per duel over T (six arms), and over K.

    Over K at T = 32000, where most of MultiSBM's 256 machines have not yet seen all arms and break
    ties among those without a pull, and at T = 10^6, where they have. There Beat-the-Mean has ended
    its tournament of six arms early and plays on at no cost, but not the one of 256.
    """
    game, over_t, over_k = scenario("arith/linear"), {}, {}
    for horizon in (10**3, 10**4, 10**5, 10**6, 10**7):
        turns = repeats if horizon < 10**6 else 1
        over_t[horizon] = per_duel(ours(game, horizon), horizon, turns)
        row("T", horizon, over_t[horizon])
    for horizon, turns in ((T, max(2, repeats // 8)), (10**6, 2)):
        found = over_k[horizon] = {}
        for K in (6, 16, 64, 256):
            wide = Utilities(np.linspace(0.8, 0.2, K))
            found[K] = per_duel(ours(wide, horizon), horizon, turns)
            row("K", K, found[K])
        grown = times(found[256], found[6])
        print(f"T = {horizon}, from K = 6 to 256, a factor of 42.7:", *grown)
    return {"T": over_t, "K": over_k}


def row(axis: str, value: int, ns: dict) -> None:
    print(f"{axis} = {value:<9}", *(f"{name} {v:8.1f} ns" for name, v in ns.items()))


def times(wide: dict, narrow: dict) -> list[str]:
    return [f"{name} {wide[name] / narrow[name]:.1f} x" for name in wide]


def memory() -> dict:
    """Growth of the peak memory of a fresh process, in MB, from T = 10^3 to each horizon."""
    code = (
        "import resource; from dueling import *\n"
        "for T in (10**3, 10**5, 10**7):\n"
        "    for a in ALGORITHMS:\n"
        "        simulate('arith/linear', a, T=T, runs=1, workers=1)\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peaks = np.array([int(p) for p in out.stdout.split()])
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS
    grown = ((peaks - peaks[0]) * unit / 1e6).round(1).tolist()
    found = dict(zip((10**3, 10**5, 10**7), grown, strict=True))
    print("peak memory over that at T = 1000, MB:", found)
    return found


def figure(runs: int) -> dict:
    """CPU and wall seconds of the paper's figure: 16 scenarios, 5 algorithms, 400 runs, T."""
    for name in ALGORITHMS:
        simulate("YJ", name, T=100, runs=1, workers=1)  # compile
    found = {}
    for workers in sorted({1, os.cpu_count()}):
        cpu, wall = time.process_time(), time.perf_counter()
        for name, algorithm in product(NAMES, ALGORITHMS):
            simulate(name, algorithm, T=T, runs=runs, workers=workers)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        found[workers] = {"cpu": cpu * 400 / runs, "wall": wall * 400 / runs}
        took = ", ".join(f"{seconds:.1f} s {kind}" for kind, seconds in found[workers].items())
        print(f"the whole figure on {workers} core(s): {took}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40, help="turns of the interleaved timing")
    parser.add_argument("--runs", type=int, default=400, help="runs per panel of the figure")
    parser.add_argument("--against", type=Path, help="only compare with this checkout")
    options = parser.parse_args()
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: other work makes all this slower"
    )
    if options.against:
        against(options.against, options.repeats)
        return
    found = {
        "ns per duel": speed(options.repeats),
        "x checked": checked(options.repeats),
        "x duelpy": against_duelpy(),
        "growth": growth(options.repeats),
        "memory": memory(),
        "figure": figure(options.runs),
    }
    target = HERE.parent / "_build" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1, default=float))


if __name__ == "__main__":
    main()
