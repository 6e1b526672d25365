"""Many runs of an algorithm on a scenario: the same bits on any number of workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.pool import ThreadPool
from types import FunctionType
from typing import Any

import joblib
import numpy as np
from joblib.parallel import ThreadingBackend, get_active_backend
from numpy.typing import ArrayLike
from tqdm import tqdm

from .. import later, machines, section7
from . import checks, hints
from .algorithm import Algorithm
from .protocol import Scenario
from .provenance import provenance
from .results import Result
from .runs import Setting

REHEARSAL = 40  # rounds


@hints.known_arguments
def simulate(
    scenario: str | Scenario,
    algorithm: str | Algorithm | Callable,
    T: int = 32000,
    runs: int = 400,
    seed: int = 2014,
    *,
    checkpoints: ArrayLike | None = None,
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
        scenario: a name of :data:`dueling.section7.NAMES`, or a scenario.
        algorithm: a name of :data:`dueling.section7.ALGORITHMS`, an algorithm such as
            ``Sparring(UCB, alpha=1)``, or a function ``f(game)`` that plays while ``game.on()``.
        T: the horizon.
        runs: how many independent games.
        seed: the root seed.
        checkpoints: increasing rounds; default 1, 2, 4, ... and T.
        regret: ``average``, ``choice``, ``preference``, ``copeland`` or ``borda``; default the
            scenario's first. ``none`` counts the plays of a dueling game alone.
        realised: also draw the realised regret (see :meth:`Utilities.realised`).
        permute: give each run its own random order of the arms.
        common: use common random numbers across algorithms.
        compiled: compile the algorithm's text; False runs the same text as plain Python.
        workers: threads; default all cores. Inside ``joblib.parallel_config(backend="dask")`` the
            runs go to that cluster. After Ctrl-C no further run begins.
        chunk: runs per task.
        progress: show a progress bar; default only on a terminal.

    >>> result = simulate("arith/linear", "Sparring", T=99, runs=5, compiled=False)
    >>> result
    Sparring(UCB, alpha=3) on arith/linear: 5 runs, T = 99, regret 24.1 ± 0.71, ...
    >>> result.mean().round(2)
    array([ 0.3 ,  0.57,  1.04,  2.22,  4.46,  8.58, 16.07, 24.08])
    """
    scenario, algorithm = _scenario(scenario), _algorithm(algorithm)
    T, runs = checks.whole("T", T), checks.whole("runs", runs)
    workers = checks.whole("workers", os.cpu_count() if workers is None else workers)
    chunk = checks.whole("chunk", -(-runs // (8 * workers)) if chunk is None else chunk)
    setting = Setting(
        scenario,
        algorithm,
        T=T,
        seed=checks.whole("seed", seed, 0, np.inf),
        checkpoints=checks.checkpoints(checkpoints, T),
        regret=regret if regret == "none" else scenario.regret(regret),
        realised=checks.flag("realised", realised),
        permute=checks.flag("permute", permute),
        common=checks.flag("common", common),
        compiled=checks.flag("compiled", compiled),
    )
    progress = None if progress is None else checks.flag("progress", progress)
    rehearse(setting)
    tasks = [range(r, min(r + chunk, runs)) for r in range(0, runs, chunk)]
    measured = _all(_spread(setting.run, tasks, workers), runs, progress)
    arrays = {name: np.array([m[name] for m in measured]) for name in measured[0]}
    return Result(setting.checkpoints, arrays, provenance({**setting.about(), "runs": runs}))


def rehearse(setting: Setting) -> None:
    """Play and measure a few rounds in plain Python, machines guarded: mistakes show early.

    If the runs are to be compiled, the same rounds are played compiled: both must agree.
    """
    algorithm, T = setting.algorithm, min(setting.T, REHEARSAL)
    plain, fast = (
        setting.scenario.game(T, np.array([T]), np.random.default_rng(0)) for _ in range(2)
    )
    try:
        algorithm.rehearse(plain, setting.scenario.is_arm, lasting=setting.compiled)
    except ZeroDivisionError:
        raise ValueError(f"{algorithm} divides by zero in its first {T} rounds.") from None
    if plain.t != T:
        raise ValueError(f"{algorithm} played {plain.t} of {T} rounds; it must play them all.")
    measured = setting.measure(plain, 0)  # refuses a regret that the scenario does not have
    checks.instance(dict, "arrays by name", f"measure of {setting.scenario}", measured)
    if setting.compiled:
        algorithm.play(fast)
        state = [game.rng.bit_generator.state for game in (plain, fast)]
        if state[0] != state[1] or not np.array_equal(plain.history, fast.history):
            raise ValueError(
                f"{algorithm} plays otherwise when compiled: keep every field of its machines to "
                "one type, and copy arrays element by element; or use compiled=False."
            )


def _all(done: Iterator[list], runs: int, progress: bool | None) -> list[dict]:
    """What was measured of all runs, under a progress bar: by default on a terminal only."""
    measured, hidden = [], None if progress is None else not progress
    with closing(done), tqdm(total=runs, disable=hidden, unit="run") as bar:
        for batch in done:
            measured += batch
            bar.update(len(batch))
    return measured


def _spread(run: Callable, tasks: list[range], workers: int) -> Iterator[list]:
    """The measured runs of each task, in order: on threads, or where joblib is told to go."""
    if isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend):
        yield from _threads(run, tasks, workers)
    else:
        as_they_come = get_active_backend()[0].supports_return_generator
        kind = "generator" if as_they_come else "list"
        pool = joblib.Parallel(workers, return_as=kind, pre_dispatch="all")
        yield from pool(joblib.delayed(_each)(run, task) for task in tasks)


def _each(run: Callable, task: range) -> list:
    return [run(r) for r in task]


def _threads(run: Callable, tasks: list[range], workers: int) -> Iterator[list]:
    """Also one worker is a thread: a compiled game lets the main thread hear Ctrl-C."""
    stop = threading.Event()

    def until_stopped(task: range) -> list:
        return [run(r) for r in task if not stop.is_set()]

    with ThreadPool(min(workers, len(tasks))) as pool:
        try:
            yield from pool.imap(until_stopped, tasks)
        finally:
            stop.set()


def _scenario(value: Any) -> Scenario:
    if isinstance(value, str):
        return section7.scenario(value)
    hints.refuse_array(value)
    such = "a name or a scenario, such as Utilities([0.8, 0.5])"
    return checks.instance(Scenario, such, "scenario", value)


def _algorithm(value: Any) -> Algorithm:
    hints.refuse_machine(value, vars(machines) | vars(later))
    if isinstance(value, str):
        return section7.algorithm(value)
    if isinstance(value, FunctionType):
        return Algorithm.of(value)
    such = "a name or an algorithm, such as Sparring(UCB, alpha=3)"
    return checks.instance(Algorithm, such, "algorithm", value)
