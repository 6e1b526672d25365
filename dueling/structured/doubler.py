"""Doubler over a set of arms: two memories for its list L; and a machine watched by itself."""

import numpy as np

from ..engine import checks
from ..engine.algorithm import Algorithm, Single, label
from ..reductions import Doubler
from .algebra import put
from .games import LINK_NAMES


class AverageArm:
    """The list L of Doubler as one vector: the average of the arms of the last epoch."""

    def __init__(self, X, rng):
        self.first = X.spanner()[0, :-1].copy()
        self.mean, self.total, self.noted = self.first.copy(), np.zeros(X.d), 0

    def start(self, x):
        """L becomes a singleton of X (the argument, an arm's number, says nothing here)."""
        put(self.first, self.mean)
        self.noted = 0

    def draw(self):
        """The average arm."""
        return self.mean

    def note(self, y):
        """Add y to the next epoch's average."""
        self.noted += 1
        for j in range(len(y)):
            self.total[j] = y[j] + (self.total[j] if self.noted > 1 else 0.0)

    def renew(self):
        """The average becomes that of the arms noted since the last call."""
        for j in range(len(self.total)):
            self.mean[j] = self.total[j] / self.noted
        self.noted = 0


class History:
    """The list L of Doubler as counts over the arms played; a uniform draw from it.

    Equal arms share a counter where the arms can repeat (``merge``); on a ball they do not, and
    every arm of an epoch is kept: memory grows like T. ``most`` is the largest number of stored
    arms so far.
    """

    def __init__(self, X, rng, capacity, merge):
        self.rng, self.merge, self.first = rng, merge, X.spanner()[0, :-1].copy()
        self.arms, self.next = np.zeros((capacity, X.d)), np.zeros((capacity, X.d))
        self.counts, self.noting = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        self.size, self.stored, self.storing, self.noted, self.most = 1, 1, 0, 0, 1

    def start(self, x):
        """L becomes a singleton of X (the argument, an arm's number, says nothing here)."""
        put(self.first, self.arms[0])
        self.counts[0] = self.size = self.stored = 1
        self.storing = self.noted = 0

    def draw(self):
        """A uniformly random element of L."""
        left = int(self.rng.random() * self.size)
        k = 0
        if not self.merge:
            return self.arms[left]
        while left >= self.counts[k]:
            left -= self.counts[k]
            k += 1
        return self.arms[k]

    def note(self, y):
        """Put y into the next epoch's list."""
        k = self.find(y) if self.merge else self.storing
        if k == self.storing:
            put(y, self.next[k])
            self.noting[k] = 0
            self.storing += 1
        self.noting[k] += 1
        self.noted += 1

    def find(self, y):
        """The place of y in the next list, or the first free one."""
        for k in range(self.storing):
            same = True
            for j in range(len(y)):
                if self.next[k, j] != y[j]:
                    same = False
                    break
            if same:
                return k
        return self.storing

    def renew(self):
        """L becomes the multiset of the arms noted since the last call."""
        self.stored, self.size = self.storing, self.noted
        for k in range(self.stored):
            put(self.next[k], self.arms[k])
            self.counts[k] = self.noting[k]
        self.most = max(self.most, self.stored)
        self.storing = self.noted = 0


class LinearDoubler(Doubler):
    """Doubler over ``machine(X, rng, **parameters)``, with one of two memories for its list L.

    ``memory="average"`` keeps one vector and plays it as the left arm; this has the law of the
    paper's draw from the list when X is convex and the link linear, and is refused otherwise.
    ``memory="counts"`` keeps the arms of the last epoch with their counts.

    >>> disc = LinearUtilities(Ball(2), [0.3, 0.1], 0.5, name="disc")
    >>> LinearDoubler(ConfidenceBall1, scale=0.001)
    Doubler(ConfidenceBall1, memory=average, scale=0.001)
    >>> simulate(disc, LinearDoubler(ConfidenceBall1, scale=0.001), T=99, runs=5, compiled=False)
    Doubler(ConfidenceBall1, memory=average, scale=0.001) on disc: 5 runs, T = 99, regret 2...
    """

    def __init__(self, machine, memory: str = "average", **parameters):
        self.memory = checks.one_of("memory", memory, ("average", "counts"))
        name = label("Doubler", machine, {"memory": self.memory, **parameters})
        Algorithm.__init__(self, name, machine, parameters)

    def settings(self) -> dict:
        """Those of the machine, and the memory."""
        return super().settings() | {"memory": self.memory}

    def parts(self, game) -> tuple:
        """One machine and the list L."""
        X = game.X
        if self.memory == "counts":
            vertices = X.vertices()
            merge = vertices is not None
            capacity = min(len(vertices), game.T) if merge else game.T
            return self.new_machine(game), History(X, game.rng, capacity, merge)
        if not X.convex:
            raise ValueError(
                f"memory is 'average', but {X!r} is not convex: the average of arms need not be an "
                "arm; use memory='counts'."
            )
        if game.link != 0:
            raise ValueError(
                f"memory is 'average', but the link is {LINK_NAMES[game.link]}: only under the "
                "linear link does the average arm win as often as a random arm; use "
                "memory='counts'."
            )
        return self.new_machine(game), AverageArm(X, game.rng)


def watched(S, bandit):
    """``mab`` that also sees whether theta ever leaves the machine's confidence set."""
    S.reset()
    while bandit.on():
        x = S.advance()
        if S.outside(bandit.theta):
            bandit.escaped = 1
        u = bandit.pull(x)
        S.feedback(u)


class Watched(Single):
    """One machine on a linear cardinal bandit, its coverage watched.

    >>> disc = LinearCardinal(Ball(2), [0.3, 0.1], 0.5, name="disc")
    >>> watched = Watched(ConfidenceBall1, delta=0.01)
    >>> simulate(disc, watched, T=99, runs=5, compiled=False).arrays["escaped"]
    array([0, 0, 0, 0, 0])
    """

    text = staticmethod(watched)

    def rehearse(self, game, *arguments, **options) -> None:
        """As the same machine unwatched: a guarded machine shows no confidence set."""
        Single(self.machine, **self.parameters).rehearse(game, *arguments, **options)
        machine = self.new_machine(game)
        if not callable(getattr(machine, "outside", None)):
            kind = type(machine).__name__
            raise ValueError(f"machine {kind} has no operation 'outside', which is watched here.")
