"""Kernels that begin warm: each is a fork of one process that has imported and compiled before.

The first seconds of a notebook go into imports and into compiling the same few algorithms. Here one
process does both, once for a whole build. It reads an order from its standard input, a JSON line
for each kernel, forks, and answers with the number of the new process.
"""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

from .leash import leashed, tie

POSSIBLE = sys.platform == "linux"  # elsewhere libraries do not survive a fork
PAYS = 4  # so many notebooks at least; for fewer, warming up takes longer than it saves
WORTH = ("matplotlib.figure", "mpmath", "sympy", "z3", "edition.witness", "dueling")


def worthwhile(text: str) -> list[str]:
    """Of the modules that take long to import, those that the notebooks' code names."""
    words = {*re.findall(r"\w+", text)}
    return [name for name in WORTH if name.partition(".")[0] in words]


# --- in the build


class Nursery:
    """The warm process, as the build sees it."""

    def __init__(self, environment: Mapping[str, str], imports: list[str]):
        command = leashed([sys.executable, "-m", __name__, *imports])
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


def warm_up(imports: list[str]) -> None:
    """Import what the notebooks import; with the package, compile what most of them play."""
    for name in ("ipykernel.kernelapp", *imports):
        import_module(name)
    if "dueling" in imports:
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
    sys.path.pop(0)  # the folder of the build, which -m puts there
    warm_up(sys.argv[1:])
    signal.signal(signal.SIGCHLD, bury)
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            become_kernel(**json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
