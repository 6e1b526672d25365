"""Kernels that begin warm: each is a fork of one process that has imported and compiled before.

The first seconds of a notebook go into imports and into compiling the same few algorithms. Here one
process does both, once for a whole build. It reads an order from its standard input, a JSON line
for each kernel, forks, and answers with the number of the new process.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

from .leash import leashed, tie
from .sources import imports

POSSIBLE = sys.platform == "linux"  # elsewhere libraries do not survive a fork
BARE = ["-P"]  # of a kernel, warm or cold: no module comes from the folder that it works in
PAYS = 4  # so many notebooks at least; for fewer, warming up takes longer than it saves


def worthwhile(codes: Iterable[str], least: int) -> list[str]:
    """The packages that the code of at least so many notebooks imports, Python's own left out."""
    times = Counter(name for code in codes for name in _packages(code) - sys.stdlib_module_names)
    return sorted(name for name, number in times.items() if number >= least)


def _packages(code: str) -> set[str]:
    try:
        named = [pair for node in ast.walk(ast.parse(code)) for pair in imports(node, "")]
    except SyntaxError:  # a cell with a magic command
        return set()
    return {(base or name).partition(".")[0] for base, name in named}


# --- in the build


class Nursery:
    """The warm process, as the build sees it."""

    def __init__(self, environment: Mapping[str, str], packages: list[str]):
        command = leashed([sys.executable, *BARE, "-m", __name__, *packages])
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=dict(environment), **pipes)
        self.one_at_a_time = Lock()

    def kernel(self, arguments: list[str], environment: Mapping[str, str], cwd: Path) -> Forked:
        """A new kernel with these arguments, variables and folder."""
        order = {"arguments": arguments, "environment": dict(environment), "cwd": str(cwd)}
        answer = ""
        with self.one_at_a_time, suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the process that kernels are forked from has ended; see above.")
        return Forked(int(answer))

    def close(self) -> None:
        """End the process; its kernels have ended before."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Forked:
    """A kernel of the nursery, with what Jupyter asks of a ``subprocess.Popen``."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid = pid

    def poll(self) -> int | None:
        """None while it runs; its true exit status is the nursery's to know."""
        try:
            return os.kill(self.pid, 0)
        except ProcessLookupError:
            return 1

    def wait(self) -> int:
        """Wait until it has ended."""
        while self.poll() is None:
            time.sleep(0.01)
        return 1

    def send_signal(self, number: int) -> None:
        """Send a signal, if it is still there."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


# --- in the warm process


def warm_up(packages: list[str]) -> None:
    """Import what the notebooks import; with our own package, compile what most of them play."""
    for name in ("ipykernel.kernelapp", *packages):
        with suppress(ImportError):  # the notebook that needs it says so
            import_module(name)
    if "matplotlib" in packages:
        import_module("matplotlib.figure")  # pyplot itself must find its kernel
    if "dueling" in packages:
        from tqdm import tqdm

        from dueling import section7, simulate

        for name in section7.ALGORITHMS | section7.OURS:
            simulate("arith/linear", name, T=2, runs=1, workers=1)
        tqdm.monitor.exit()  # a process is forked while it has one thread
    gc.freeze()  # what is here is never collected in a child, which shares it


def become_kernel(arguments: list[str], environment: dict[str, str], cwd: str) -> NoReturn:
    """Be a kernel from here on, in a session of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    tie()
    with open(os.devnull, "r+") as nothing:
        for stream in (sys.stdin, sys.stdout):
            os.dup2(nothing.fileno(), stream.fileno())
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(argv=arguments)
    os._exit(0)


def bury(*signalled: Any) -> None:
    """Let kernels that ended be gone."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Fork a kernel for each order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the build decides what ends
    warm_up(sys.argv[1:])
    signal.signal(signal.SIGCHLD, bury)
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            become_kernel(**json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
