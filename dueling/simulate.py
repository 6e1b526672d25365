"""Many runs of an algorithm on a scenario: the same bits on any number of workers."""

import os
from zlib import crc32

import joblib
import numpy as np
from tqdm import tqdm

from . import checks
from .algorithm import Algorithm
from .baselines import BTMB, IF
from .machines import UCB
from .reductions import Doubler, MultiSBM, Sparring
from .results import Result, provenance
from .scenarios import scenario as named_scenario

#: The five algorithms of Section 7 under the defaults of this edition.
ALGORITHMS = {
    "Sparring": Sparring(UCB, alpha=3.0),
    "MultiSBM": MultiSBM(UCB, alpha=3.0),
    "Doubler": Doubler(UCB, alpha=3.0),
    "IF": IF(),
    "BTMB": BTMB(),
}
REHEARSAL = 40  # rounds


def simulate(
    scenario,
    algorithm,
    T: int = 32000,
    runs: int = 400,
    seed: int = 2014,
    *,
    checkpoints=None,
    regret: str | None = None,
    realised: bool = False,
    permute: bool = True,
    common: bool = True,
    compiled: bool = True,
    workers: int | None = None,
    chunk: int | None = None,
    progress: bool | None = None,
) -> Result:
    """The regret of every run at the checkpoints, and the counts of plays at the end.

    Run r draws everything from one generator, ``SeedSequence(seed, spawn_key=(s, r))`` with s the
    CRC-32 of the scenario's name: first the permutation of the arms, then duels and machines in
    the order in which they ask. So a run does not depend on workers, chunks or the kind of pool,
    and with ``common=True`` all algorithms meet the same permutation and the same uniform numbers
    (common random numbers); ``common=False`` adds the algorithm's name to the key.

    Args:
        scenario: a name of :data:`dueling.scenarios.NAMES`, or a scenario.
        algorithm: a name of :data:`ALGORITHMS`, or an algorithm such as ``Sparring(UCB, alpha=1)``.
        T: the horizon.
        runs: how many independent games.
        seed: the root seed.
        checkpoints: increasing rounds; default 1, 2, 4, ... and T.
        regret: ``average``, ``choice`` or ``preference``; default the scenario's first.
        realised: also draw the realised regret (see :meth:`Utilities.realised`).
        permute: give each run its own random order of the arms.
        common: use common random numbers across algorithms.
        compiled: compile the algorithm's text; False runs the same text as plain Python.
        workers: threads; default all cores. Inside ``joblib.parallel_config(backend="dask")`` the
            runs go to that cluster.
        chunk: runs per task.
        progress: show a progress bar; default only on a terminal.
    """
    scenario = named_scenario(scenario) if isinstance(scenario, str) else scenario
    if isinstance(algorithm, str):
        algorithm = ALGORITHMS[checks.one_of("algorithm", algorithm, ALGORITHMS)]
    _check_kinds(scenario, algorithm)
    T, runs, seed = checks.whole("T", T), checks.whole("runs", runs), checks.whole("seed", seed, 0)
    workers = checks.whole("workers", os.cpu_count() if workers is None else workers)
    chunk = checks.whole("chunk", -(-runs // (8 * workers)) if chunk is None else chunk)
    rounds = checks.checkpoints(checkpoints, T)
    regret = checks.one_of("regret", regret or scenario.regrets[0], scenario.regrets)
    if realised and not hasattr(scenario, "realised"):
        raise ValueError(f"realised is True; {scenario} has no utilities to draw.")
    if realised and regret not in ("average", "choice"):
        raise ValueError(f"regret is {regret!r}; realised regret is 'average' or 'choice'.")
    if hasattr(scenario, "table"):
        scenario.table(regret)  # a table without a best arm is refused here
    rehearse(scenario, algorithm, T, compiled)
    setting = (scenario, algorithm, T, seed, rounds, regret, realised, permute, common, compiled)
    tasks = [range(r, min(r + chunk, runs)) for r in range(0, runs, chunk)]
    # the bar must not write into notebooks: by default it shows on a terminal only
    bar = tqdm(total=runs, disable=None if progress is None else not progress, unit="run")
    measured = []
    with bar:
        pool = joblib.Parallel(workers, prefer="threads", return_as="generator", pre_dispatch="all")
        for done in pool(joblib.delayed(_play)(setting, task) for task in tasks):
            measured += done
            bar.update(len(done))
    arrays = {name: np.array([m[name] for m in measured]) for name in measured[0]}
    settings = {
        "scenario": scenario.name,
        "algorithm": algorithm.name,
        "T": T,
        "runs": runs,
        "seed": seed,
        "regret": regret,
        "permute": permute,
        "common": common,
    }
    return Result(rounds, arrays, provenance(settings))


def stream(scenario, algorithm, seed: int, run: int, common: bool = True, purpose: tuple = ()):
    """The generator of one run."""
    name = () if common else (crc32(algorithm.name.encode()),)
    key = (crc32(scenario.name.encode()), run, *name, *purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def rehearse(scenario, algorithm: Algorithm, T: int, compiled: bool = True) -> None:
    """Play a few rounds in plain Python with guarded machines, so that mistakes show early.

    If the runs are to be compiled, the same rounds are played compiled: both must agree.
    """
    T = min(T, REHEARSAL)
    plain, _ = scenario.game(T, np.array([T]), np.random.default_rng(0))
    try:
        algorithm.rehearse(plain, scenario.is_arm, lasting=compiled)
    except ZeroDivisionError:
        raise ValueError(f"{algorithm} divides by zero in its first {T} rounds.") from None
    if plain.t != T:
        raise ValueError(f"{algorithm} played {plain.t} of {T} rounds; it must play them all.")
    if compiled:
        fast, _ = scenario.game(T, np.array([T]), np.random.default_rng(0))
        algorithm.play(fast)
        state = [game.rng.bit_generator.state for game in (plain, fast)]
        if state[0] != state[1] or not np.array_equal(plain.history, fast.history):
            raise ValueError(
                f"{algorithm} plays otherwise when compiled: keep every field of its machines to "
                "one type, and copy arrays element by element; or use compiled=False."
            )


def _play(setting: tuple, runs: range) -> list[dict]:
    scenario, algorithm, T, seed, rounds, regret, realised, permute, common, compiled = setting
    measured = []
    for run in runs:
        rng = stream(scenario, algorithm, seed, run, common)
        game, p = scenario.game(T, rounds, rng, permute)
        algorithm.play(game, compiled)
        found = scenario.measure(game, p, regret)
        history = found.pop("history", None)
        if realised:
            own = stream(scenario, algorithm, seed, run, common=False, purpose=(1,))
            found["realised"] = scenario.realised(history, own, regret)
        measured.append(found)
    return measured


def _check_kinds(scenario, algorithm) -> None:
    if not all(hasattr(scenario, name) for name in ("game", "measure", "is_arm", "regrets")):
        raise ValueError(f"scenario is {scenario!r}; it must be a name or a scenario.")
    if not isinstance(algorithm, Algorithm):
        raise ValueError(f"algorithm is {algorithm!r}; it must be a name or an algorithm.")
