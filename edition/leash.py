"""Run a command that does not outlive the process that started it.

python leash.py PID COMMAND...     PID is the process that starts this
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h; kept when another program is executed


def leashed(command: list[str]) -> list[str]:
    """The command on a leash: where there is Linux, it is killed when this process ends."""
    return [sys.executable, "-I", str(Path(__file__)), str(os.getpid()), *command]


def tie() -> None:
    """Let this process be killed when its parent ends, where there is Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(parent: int, command: list[str]) -> None:
    """Become the command, unless the parent is gone already."""
    tie()
    if os.getppid() != parent:
        sys.exit("The build that started this is gone.")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}.")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
