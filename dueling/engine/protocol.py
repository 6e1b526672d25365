"""What a simulation asks of a scenario and of the game that it deals: two base classes."""

import hashlib

import numpy as np

from . import checks
from .value import Value

OUTSIDE = "was given an arm outside"  # in what a game says to an arm that it does not have


class Rounds:
    """T rounds of some game on the run's generator, and its counts at the checkpoints.

    A game counts what is played in every round and then ends it; ``record()`` copies the counts
    into ``kept[passed]``. Regret is not kept here: every pseudo-regret is a sum over the counts.
    """

    def __init__(self, T, checkpoints, rng, counts, rows=None):
        self.T, self.t, self.rng = T, 0, rng
        self.checkpoints, self.passed, self.due = checkpoints, 0, int(checkpoints[0])
        rows = len(checkpoints) if rows is None else rows
        self.kept = np.zeros((rows, *counts.shape), counts.dtype)

    @property
    def history(self):
        """The counts at all checkpoints, in one array."""
        return np.array(list(self.snapshots()))

    def snapshots(self):
        """The counts at each checkpoint, one after the other."""
        yield from self.kept

    def on(self):
        """Whether a round is left."""
        return self.t < self.T

    def end_round(self):
        """Move the clock on; at a checkpoint, record the counts."""
        self.t += 1
        if self.t == self.due:
            self.record()
            self.passed += 1
            self.due = self.checkpoints[self.passed] if self.passed < len(self.checkpoints) else 0


class Scenario(Value):
    """What a simulation asks of a game and its regret: the base of every scenario.

    A scenario is a value, which all threads share. ``name`` chooses the random numbers of the runs,
    ``digest`` tells apart what has the same name, and ``regrets`` names the regrets, the default
    first.

    >>> class Wins(Preferences):  # a reader's own: how often the right arm won, and no regret
    ...     def measure(self, game, regret=None):
    ...         return {"wins": game.plays[1].sum()}
    >>> game = Wins([[0.5, 0.2], [0.8, 0.5]])
    >>> simulate(game, Uniform(), T=99, runs=3, compiled=False).arrays
    {'wins': array([54, 40, 52])}
    """

    regrets: tuple[str, ...] = ()

    def __init__(self, name: str | None, kind: str, *numbers: np.ndarray):
        if not isinstance(name, str | None):
            checks.refuse("name", name, "a string")
        self.digest = digest(*numbers)
        self.name = str(name or f"{kind}/{self.digest[:8]}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def regret(self, name: str | None) -> str:
        """The name, if it is one of the regrets; None is the first of them, or "none"."""
        regrets = self.regrets or ("none",)
        return checks.one_of("regret", regrets[0] if name is None else name, regrets)

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True) -> Rounds:
        """A new game of T rounds on the run's generator, which draws the order of the arms."""
        raise NotImplementedError

    def measure(self, game: Rounds, regret: str | None = None) -> dict:
        """What a finished game gives, arrays by name: ``regret`` at the checkpoints, and others."""
        raise NotImplementedError

    def realised(self, game: Rounds, rng, regret: str | None = None) -> np.ndarray:
        """A draw of the realised regret at the checkpoints, if there are utilities to draw."""
        raise ValueError(f"realised is True; {self} has no utilities to draw.")

    def facts(self) -> dict:
        """What decides the game, for the record of a result."""
        return {}

    def is_arm(self, x) -> bool:
        """Whether x is an arm of the game: 0..K-1, unless a subclass says otherwise."""
        return checks.is_whole(x) and 0 <= x < self.K


def digest(*arrays: np.ndarray) -> str:
    """A short hash of the numbers, rounded to twelve digits so that all machines agree on it."""
    rounded = [np.round(a, 12) + 0.0 for a in arrays]
    return hashlib.sha256(b"".join(a.astype("<f8").tobytes() for a in rounded)).hexdigest()[:16]
