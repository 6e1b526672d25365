"""A text that waits: it runs in a thread of its own, and each duel lasts until it is answered."""

import threading
from queue import SimpleQueue

import numpy as np

from ..engine import checks
from ..engine.algorithm import Algorithm


class Stopped(BaseException):
    """Nobody will answer any more: the text ends where it stands."""


class Turns:
    """The game that a live text plays; T may be None, for a game without an end.

    ``duel`` is what the text waits for, (x, y, coin), or None once it has played its T rounds. The
    coin is drawn from the text's generator where a :class:`~dueling.game.Game` draws the outcome,
    so that the same seed and the same outcomes give the same run; here it decides ties alone.

    >>> turns = Turns(MultiSBM(UCB), 3, 4, np.random.default_rng(1))
    >>> turns.duel[:2], [turns.answer(b)[:2] for b in (0, 1, 1)], turns.answer(0)
    ((0, 1), [(1, 0), (0, 0), (0, 2)], None)
    """

    def __init__(self, algorithm: Algorithm, K: int, T: int | None, rng: np.random.Generator):
        self.K, self.rng, self.t = K, rng, 0
        self.algorithm, self.horizon = algorithm, T
        self.asked, self.answers = SimpleQueue(), SimpleQueue()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.duel = self._next()

    @property
    def T(self) -> int:
        """The horizon, for the texts that ask for it."""
        if self.horizon is None:
            raise ValueError(f"T is None; {self.algorithm} asks for it, so it must be given.")
        return self.horizon

    def on(self) -> bool:
        """Whether a round is left."""
        return self.horizon is None or self.t < self.horizon

    def play(self, x: int, y: int) -> int:
        """The choice between x and y, once somebody has told it: 1 means y."""
        pair = [checks.arm("an arm of play", z, self.K) for z in (x, y)]
        self.asked.put((*pair, self.rng.random()))
        b = self.answers.get()
        if b is None:
            raise Stopped
        self.t += 1
        return b

    def answer(self, b: int) -> tuple | None:
        """Tell the text how its duel ended: the duel that it asks for next."""
        self.duel = None
        self.answers.put(b)
        self.duel = self._next()
        return self.duel

    def stop(self) -> None:
        """Let the thread end."""
        self.answers.put(None)

    def _run(self) -> None:
        try:
            self.algorithm.play(self, compile=False)
            self.asked.put(None)
        except Stopped:
            pass
        except Exception as error:
            self.asked.put(error)

    def _next(self) -> tuple | None:
        duel = self.asked.get()
        if isinstance(duel, Exception):
            raise duel
        return duel
