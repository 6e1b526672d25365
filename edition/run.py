"""Run the book's notebooks with papermill; a notebook whose inputs did not change is not run again.

python -m edition.run [--profile smoke] [--only book/first] [-p book/first runs 100] [--jobs 2]

Notebooks that do not need each other run side by side. Outputs go to _build/executed/<profile>/,
never into the sources. Words after a lone -- are a command that runs next, under the same lock (the
Makefile renders the book that way).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import joblib
import yaml

from . import place
from .execute import execute
from .kernel import Kernel, environment, surroundings
from .leash import leashed
from .notebooks import (
    chosen_parameters,
    code_of,
    costs,
    fingerprint,
    fresh,
    in_order,
    measured,
    needs,
    notebooks,
    status,
)
from .nursery import PAYS, POSSIBLE, Nursery, worthwhile
from .place import Refusal, read, write
from .progress import Progress

HOUR = 3600
GUESS = 20.0  # seconds of a notebook that nothing is known about


# --- side by side


@dataclass(frozen=True)
class Run:
    """A notebook that is running: its kernel, when it began, and what it will come to."""

    kernel: Kernel
    began: float
    future: Future[None]

    def cost(self) -> dict[str, Any]:
        """The seconds on the clock and of the processors, and the peak memory, so far."""
        self.kernel.look()
        seconds = round(time.monotonic() - self.began, 1)
        cpu = round(self.kernel.cpu, 1)
        return {"seconds": seconds, "cpu": cpu, "peak_mb": self.kernel.peak_mb}


class Build:
    """An execution of notebooks, as many at a time as there are jobs."""

    def __init__(self, root: Path, profile: str, jobs: int, limit: int):
        self.root, self.profile, self.jobs, self.limit = root, profile, jobs, limit
        self.around = environment(profile)
        self.nursery: Nursery | None = None
        self.runs: dict[str, Run] = {}

    def run(self, stale: Mapping[str, Mapping[str, Any]], after: float) -> None:
        """Run notebooks, given what is known about each; at the first failure, stop the others.

        What comes after them will take so many seconds.
        """
        graph = {name: {*needs(self.root, name)} & {*stale} for name in stale}
        seconds = expected(self.root, self.profile, list(stale))
        first = ranks(graph, seconds)
        progress = Progress(seconds, self.jobs, after)
        todo = TopologicalSorter(graph)
        todo.prepare()
        ready: list[str] = []
        if POSSIBLE and len(stale) >= PAYS:
            codes = [code_of(self.root, [name]) for name in stale]
            self.nursery = Nursery(self.around, worthwhile(codes, PAYS))
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                while todo.is_active():
                    ready = sorted([*ready, *todo.get_ready()], key=first.__getitem__)
                    while ready and len(self.runs) < self.jobs:
                        name = ready.pop()
                        self.start(pool, name, stale[name])
                        progress.began(name)
                    for name, cost in self.ended(progress):
                        progress.ended(name, cost)
                        todo.done(name)
            finally:
                progress.close()
                self.stop()

    def start(self, pool: ThreadPoolExecutor, name: str, about: Mapping[str, Any]) -> None:
        """Start a notebook in a thread of its own."""
        kernel = Kernel(self.root, self.around, self.nursery)
        words = (self.root, self.profile, name, about, kernel, self.limit)
        self.runs[name] = Run(kernel, time.monotonic(), pool.submit(execute, *words))

    def ended(self, progress: Progress) -> Iterator[tuple[str, dict[str, Any]]]:
        """The notebooks that ended within the next second, and their costs."""
        futures = [run.future for run in self.runs.values()]
        done, _ = wait(futures, timeout=1.0, return_when=FIRST_COMPLETED)
        spent = {name: run.cost() for name, run in self.runs.items()}
        progress.show(spent)
        for name in [name for name, run in self.runs.items() if run.future in done]:
            self.runs.pop(name).future.result()
            note(self.root, self.profile, name, spent[name])
            yield name, spent[name]

    def stop(self) -> None:
        """End what is running, and wait until it is gone."""
        while any(not run.future.done() for run in self.runs.values()):
            for run in self.runs.values():
                run.kernel.kill()
            wait([run.future for run in self.runs.values()], timeout=0.2)
        if self.nursery:
            self.nursery.close()


def expected(root: Path, profile: str, names: list[str]) -> dict[str, float]:
    """The seconds of processor that each notebook will take: as last time, else as is typical."""
    last = {name: cost["cpu"] for name, cost in costs(root, profile).items()}
    seconds = typical(root).get(profile, {}) | last
    return {name: float(seconds.get(name, GUESS)) for name in names}


def typical(root: Path) -> dict[str, Any]:
    """The file of typical costs; empty if there is none."""
    path = root / "book" / "costs.yml"
    return yaml.safe_load(read(path)) if path.exists() else {}


def ranks(graph: Mapping[str, set[str]], seconds: Mapping[str, float]) -> dict[str, float]:
    """The seconds from the start of each notebook to the end of the longest chain that needs it."""
    ranked: dict[str, float] = {}
    for name in reversed([*TopologicalSorter(graph).static_order()]):
        after = [ranked[other] for other in ranked if name in graph[other]]
        ranked[name] = seconds[name] + max(after, default=0.0)
    return ranked


def note(root: Path, profile: str, name: str, cost: Mapping[str, Any]) -> None:
    """Keep the cost of a notebook's last run in status.json, apart from its outputs."""
    spent = costs(root, profile)
    spent[name] = dict(cost) | {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {package: version(package) for package in ("numpy", "numba", "matplotlib")},
    }
    write(status(root, profile), json.dumps(spent, indent=1, sort_keys=True) + "\n")


def took(root: Path, profile: str) -> dict[str, float]:
    """The seconds that each command took the last time that it came after the notebooks."""
    try:
        kept = json.loads(read(status(root, profile).with_name("after.json")))
        return {command: float(seconds) for command, seconds in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def pages(root: Path, profile: str, command: list[str]) -> float:
    """The seconds of the command that makes the pages: as last time, else as is typical."""
    usual = typical(root).get("pages", 0.0) if command else 0.0
    return float(took(root, profile).get(shlex.join(command), usual))


def tell(root: Path, profile: str, names: list[str], jobs: int, seconds: float) -> None:
    """Let the status page tell how long the last execution took, all its notebooks together."""
    spent = costs(root, profile)
    cpu = sum(spent[name]["cpu"] for name in names)
    many = f"The last build ran {len(names)} notebooks, at most {jobs} at a time"
    spans = f"in {seconds:.0f} s on the clock, {cpu:.0f} s of the processors"
    write(measured(root, profile) / "build.md", f"{many}, {spans}.\n")


# --- the command line


@contextmanager
def alone(root: Path) -> Iterator[IO[str]]:
    """The build folder for this process alone, by a lock that the next command inherits.

    A second build waits, also for a renderer that survived the kill of its own build.
    """
    lock = root / "_build" / "executed" / ".lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another build is running: waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        for half in (root / "_build").rglob(".*.part"):  # of a build that was killed
            half.unlink(missing_ok=True)
        try:
            yield file
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def run_all(options: argparse.Namespace) -> None:
    """Give fresh outputs to every notebook asked for, and to all it needs."""
    root, profile = options.root, options.profile
    parameters = chosen_parameters(root, profile, options.given)
    asked = [name.removesuffix(".ipynb") for name in options.only] or notebooks(root)
    stale = {}
    for name in in_order(root, asked):
        mark = fingerprint(root, name, parameters)
        if fresh(root, profile, name, mark):
            print(f"{name}: unchanged", flush=True)
        else:
            stale[name] = {"fingerprint": mark, "parameters": dict(parameters.get(name, {}))}
    if stale:
        began = time.monotonic()
        after = pages(root, profile, options.command)
        Build(root, profile, options.jobs, options.limit).run(stale, after)
        tell(root, profile, [*stale], options.jobs, time.monotonic() - began)


def follow(command: list[str], root: Path, profile: str, lock: IO[str]) -> int:
    """The exit status of the next command, which holds the lock as long as any part of it lives."""
    began, around = time.monotonic(), surroundings(profile)
    done = subprocess.run(leashed(command), cwd=root, env=around, pass_fds=[lock.fileno()])
    if not done.returncode:
        seconds = round(time.monotonic() - began, 1)
        print(f"After the notebooks: {seconds:.0f} s.", flush=True)
        kept = took(root, profile) | {shlex.join(command): seconds}
        write(status(root, profile).with_name("after.json"), json.dumps(kept, indent=1) + "\n")
        line = f"What comes after the notebooks, the pages, took {seconds:.0f} s the last time.\n"
        write(measured(root, profile) / "pages.md", line)
    return done.returncode


def positive(text: str) -> int:
    """A whole number of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1")
    return int(text)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line, parsed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=lambda path: Path(path).resolve(), default=place.root())
    parser.add_argument("--profile", default=place.profile())
    parser.add_argument("--only", action="append", default=[], metavar="NOTEBOOK")
    triple = ("NOTEBOOK", "NAME", "VALUE")
    parser.add_argument("-p", dest="given", action="append", default=[], nargs=3, metavar=triple)
    side = "notebooks side by side; default: one for each core"
    parser.add_argument("--jobs", type=positive, default=joblib.cpu_count(), help=side)
    longest = "seconds after which a cell is stopped; default: an hour"
    parser.add_argument("--limit", type=positive, default=HOUR, help=longest)
    parser.add_argument("command", nargs="*", help="what to run next, after --")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """The exit status: 0, 1 after a refusal or a failure, 130 when interrupted."""
    try:
        options = arguments(argv)
        with alone(options.root) as lock:
            run_all(options)
            if options.command:
                return follow(options.command, options.root, options.profile, lock)
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted: the last good outputs are in place.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
