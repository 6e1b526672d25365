"""The progress of a build: what runs, for how long, and what is left, the pages included."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from typing import Any


def span(seconds: float) -> str:
    """A time in words: seconds below two minutes, else minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class Progress:
    """One line that changes on a terminal; elsewhere a line when a notebook begins and ends."""

    def __init__(self, seconds: Mapping[str, float], jobs: int, after: float = 0.0):
        """``after`` is how long what follows the notebooks will take."""
        self.left, self.jobs, self.count = dict(seconds), jobs, len(seconds)
        self.after = after
        self.spent: Mapping[str, Mapping[str, Any]] = {}
        self.live = sys.stdout.isatty()
        notebooks = f"{self.count} notebook{'s' * (self.count > 1)} to run, {jobs} at a time"
        pages = ", then the pages" if after else ""
        self.say(f"{notebooks}{pages}: about {span(self.rest())}.")

    def say(self, line: str) -> None:
        """Print a line that stays."""
        print(f"\r\x1b[K{line}" if self.live else line, flush=True)

    def began(self, name: str) -> None:
        """Say that a notebook runs, where the line does not."""
        if not self.live:
            self.say(f"{name}: running")

    def ended(self, name: str, cost: Mapping[str, Any]) -> None:
        """Say what a notebook cost, and what is left."""
        del self.left[name]
        done = f"{self.count - len(self.left)} of {self.count}"
        rest = f", about {span(self.rest())} left" if self.left or self.after else ""
        self.say(f"{name}: {cost['seconds']} s, {cost['peak_mb']} MB ({done}{rest})")

    def show(self, spent: Mapping[str, Mapping[str, Any]]) -> None:
        """Renew the line: the notebooks that run, each with its seconds, and what is left."""
        self.spent = spent
        if self.live:
            running = ", ".join(f"{name} {cost['seconds']:.0f} s" for name, cost in spent.items())
            line = f"{len(self.left)} left, about {span(self.rest())}: {running}"
            print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)

    def rest(self) -> float:
        """The seconds that are left, by the last known costs: a fair share, or the longest one."""
        used = {name: cost["cpu"] for name, cost in self.spent.items()}
        left = [max(s - used.get(name, 0.0), 0.0) for name, s in self.left.items()]
        return max(sum(left) / self.jobs, max(left, default=0.0)) + self.after

    def close(self) -> None:
        """Clear the line."""
        if self.live:
            print("\r\x1b[K", end="", flush=True)
