"""Measure the engine: ``make bench``. Ratios come from interleaved runs of one process."""

import argparse
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dueling import ALGORITHMS, UCB, Doubler, MultiSBM, Sparring, Utilities, scenario, simulate
from dueling.scenarios import NAMES

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
        game, _ = game_of.game(horizon, np.array([horizon]), rng)
        algorithm.play(game)

    return call


def c_kernels() -> dict:
    """The tuned C kernels, built now; none where there is no C compiler."""
    cc = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if cc is None:
        return {}
    library = Path(tempfile.mkdtemp()) / "kernel.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([cc, *flags, HERE / "kernel.c", "-o", library, "-lm"], check=True)
    lib = ctypes.CDLL(str(library))
    game = scenario("arith/linear")
    n = np.arange(T + 2.0)
    n[0] = 1
    arrays = (game.P, game.table("average")), (np.sqrt(2.5 * np.log(n)), 1 / n, 1 / np.sqrt(n))
    (P, gap), tables = arrays
    seed = np.random.default_rng(1).integers(0, 2**63, 4).astype(np.uint64)

    def pointer(a):
        return ctypes.c_void_p(a.ctypes.data)

    def kernel(name):
        f = getattr(lib, name)
        f.restype = ctypes.c_double
        rest = [pointer(a) for a in tables]
        return lambda: f(pointer(P), pointer(gap), ctypes.c_int64(T), pointer(seed), *rest)

    return {f"C {name}": kernel(name.lower()) for name in ("Sparring", "MultiSBM")}


def peers() -> dict:
    """The algorithms shared with duelpy, on the same game and horizon; none where it is missing."""
    np.float, np.int = float, int  # duelpy 1.0 asks NumPy for names that it dropped
    try:
        from duelpy.algorithms.beat_the_mean import BeatTheMeanBandit
        from duelpy.algorithms.interleaved_filtering import InterleavedFiltering
        from duelpy.feedback.matrix_feedback import MatrixFeedback
    except Exception as error:
        print(f"duelpy cannot be imported here ({error}); no ratio to it")
        return {}
    horizon = 2000
    wins = 1 - scenario("arith/linear").P

    def run(algorithm):
        def call():
            state = np.random.RandomState(1)
            feedback = MatrixFeedback(wins, random_state=state)
            algorithm(feedback, time_horizon=horizon, random_state=state).run()

        return call

    found = {"IF": InterleavedFiltering, "BTMB": BeatTheMeanBandit}
    return {name: (run(cls), horizon) for name, cls in found.items()}


def speed(repeats: int) -> dict:
    """ns per duel of the five algorithms and of the C kernels, at T = 32000 and six arms."""
    game = scenario("arith/linear")
    calls = {name: play(a, game, T) for name, a in ALGORITHMS.items()} | c_kernels()
    return {name: s / T * 1e9 for name, s in best_of(calls, repeats).items()}


def growth(repeats: int) -> dict:
    """ns per duel over T (six arms) and over K (T = 32000)."""
    game = scenario("arith/linear")
    over_t, over_k = {}, {}
    machines = {"Sparring": Sparring(UCB), "MultiSBM": MultiSBM(UCB), "Doubler": Doubler(UCB)}
    for horizon in (10**3, 10**4, 10**5, 10**6, 10**7):
        calls = {n: play(a, game, horizon) for n, a in machines.items()}
        turns = repeats if horizon < 10**6 else 1
        over_t[horizon] = {n: s / horizon * 1e9 for n, s in best_of(calls, turns).items()}
    for K in (6, 16, 64, 256):
        wide = Utilities(np.linspace(0.8, 0.2, K))
        calls = {n: play(a, wide, T) for n, a in machines.items()}
        over_k[K] = {n: s / T * 1e9 for n, s in best_of(calls, max(2, repeats // 4)).items()}
    return {"T": over_t, "K": over_k}


def memory() -> dict:
    """Growth of the peak memory of a fresh process, in MB, from T = 10^3 to each horizon."""
    code = (
        "import resource, sys; from dueling import *\n"
        "peaks = []\n"
        "for T in (10**3, 10**5, 10**7):\n"
        "    for a in (Sparring(UCB), MultiSBM(UCB), Doubler(UCB)):\n"
        "        simulate('arith/linear', a, T=T, runs=1, workers=1)\n"
        "    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        "print(*peaks)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peaks = np.array([int(p) for p in out.stdout.split()])
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS
    return dict(zip((10**3, 10**5, 10**7), ((peaks - peaks[0]) * unit / 1e6).round(1), strict=True))


def figure(runs: int) -> dict:
    """CPU and wall seconds of the paper's figure: 16 scenarios, 5 algorithms, 400 runs, T."""
    for name in ALGORITHMS:
        simulate("YJ", name, T=100, runs=1, workers=1)  # compile
    cpu, wall = time.process_time(), time.perf_counter()
    for name in NAMES:
        for algorithm in ALGORITHMS:
            simulate(name, algorithm, T=T, runs=runs)
    scale = 400 / runs
    return {
        "cpu": (time.process_time() - cpu) * scale,
        "wall": (time.perf_counter() - wall) * scale,
        "workers": os.cpu_count(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40, help="turns of the interleaved timing")
    parser.add_argument("--runs", type=int, default=400, help="runs per panel of the figure")
    options = parser.parse_args()
    found = {"ns per duel": speed(options.repeats)}
    ns = found["ns per duel"]
    for name, value in ns.items():
        ratio = f"{value / ns['C Sparring']:6.2f} x C Sparring" if "C Sparring" in ns else ""
        print(f"{name:12s} {value:7.1f} ns per duel {ratio}")
    if "C MultiSBM" in ns:
        print(f"MultiSBM is {ns['MultiSBM'] / ns['C MultiSBM']:.2f} x C MultiSBM")
    found["x duelpy"] = {}
    for name, (call, horizon) in peers().items():
        theirs = best_of({name: call}, 1)[name] / horizon * 1e9
        found["x duelpy"][name] = theirs / ns[name]
        print(f"{name} of duelpy: {theirs:.0f} ns per duel, {theirs / ns[name]:.0f} x ours")
    found["growth"] = growth(options.repeats)
    for axis, rows in found["growth"].items():
        for value, row in rows.items():
            print(f"{axis} = {value:<9}", *(f"{n} {ns:8.1f} ns" for n, ns in row.items()))
    found["memory"] = memory()
    print("peak memory over that at T = 1000, MB:", found["memory"])
    found["figure"] = figure(options.runs)
    print("the whole figure:", {k: round(v, 1) for k, v in found["figure"].items()})
    found["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    target = HERE.parent / "_build" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1, default=float))


if __name__ == "__main__":
    main()
