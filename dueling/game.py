"""The two games of Section 2: the dueling game, and the cardinal bandit it is reduced to."""

import numpy as np

from .engine.protocol import Rounds


class Game(Rounds):
    """A dueling game of T rounds over arms 0..K-1 with P[x, y] = Pr[b = 1 | x, y].

    ``play(x, y)`` returns the choice b; b = 1 says that the *right* arm y was chosen.
    ``plays[b, x, y]`` is the number of duels of (x, y) that ended with b, ``order[x]`` the
    scenario's own number of arm x. For the counts at the checkpoints a game keeps a table for each
    of them or, where that takes less memory, the ``log`` of all its duels.

    >>> game = Game(scenario("YJ").P, 3, np.array([3]), np.random.default_rng(1))
    >>> [game.play(0, y) for y in (1, 2, 1)], game.on()
    ([0, 0, 1], False)
    """

    def __init__(self, P, T, checkpoints, rng, order=None):
        self.K, self.P = len(P), P
        self.order = np.arange(self.K) if order is None else order
        self.plays = np.zeros((2, self.K, self.K), np.int64)
        short = len(checkpoints) * self.plays.nbytes > 8 * T
        self.log = np.zeros(T if short else 0, np.int64)
        super().__init__(T, checkpoints, rng, self.plays, rows=0 if short else None)

    def play(self, x, y):
        """The choice b_t between the left arm x and the right arm y: 1 means y."""
        if not (0 <= x < self.K and 0 <= y < self.K and self.t < self.T):
            raise ValueError("play was given an arm outside 0..K-1, or no round was left.")
        b = int(self.rng.random() < self.P[x, y])
        self.plays[b, x, y] += 1
        if len(self.log) > 0:
            self.log[self.t] = (b * self.K + x) * self.K + y
        self.end_round()
        return b

    def record(self):
        """Keep the counts of plays, unless there is a log."""
        for b in range(2):  # loops: they compile ten times faster than an assignment of arrays
            for x in range(self.K if len(self.log) == 0 else 0):
                for y in range(self.K):
                    self.kept[self.passed, b, x, y] = self.plays[b, x, y]

    def snapshots(self):
        """The counts of plays at each checkpoint, one after the other; 0 at one to come."""
        yield from self.kept
        counts, start = np.zeros_like(self.plays), 0
        for t in self.checkpoints if len(self.log) else ():
            counts += np.bincount(self.log[start:t], minlength=counts.size).reshape(counts.shape)
            start = t
            yield counts * (t <= self.t)


class Bandit(Rounds):
    """A cardinal bandit game of T rounds with Bernoulli(mu[x]) rewards.

    ``pulls[u, x]`` is the number of pulls of x with reward u; ``order`` is as in a game.

    >>> game = Bandit(np.array([0.8, 0.2]), 3, np.array([3]), np.random.default_rng(1))
    >>> [game.pull(x) for x in (0, 1, 0)], game.pulls.tolist()
    ([1, 0, 1], [[0, 1], [2, 0]])
    """

    def __init__(self, mu, T, checkpoints, rng, order=None):
        self.K, self.mu = len(mu), mu
        self.order = np.arange(self.K) if order is None else order
        self.pulls = np.zeros((2, self.K), np.int64)
        super().__init__(T, checkpoints, rng, self.pulls)

    def pull(self, x):
        """The reward u_t of arm x."""
        if not (0 <= x < self.K and self.t < self.T):
            raise ValueError("pull was given an arm outside 0..K-1, or no round was left.")
        u = int(self.rng.random() < self.mu[x])
        self.pulls[u, x] += 1
        self.end_round()
        return u

    def record(self):
        """Keep the counts of pulls."""
        for u in range(2):
            for x in range(self.K):
                self.kept[self.passed, u, x] = self.pulls[u, x]
