"""Two machines that go through their arms in turn: Successive Elimination, Explore-Then-Commit."""

from math import log, sqrt

import numpy as np

from ..engine import checks


class SuccessiveElimination:
    r"""Successive Elimination: sweeps the arms in a fixed order, drops those that are surely worse.

    After r full sweeps an arm leaves when its mean plus :math:`\sqrt{\ln(2 K T^2) / (2 r)}` is
    below the best mean minus the same radius; T is ``horizon``.

    >>> simulate("YJ", Doubler(SuccessiveElimination, horizon=99), T=99, runs=5, compiled=False)
    Doubler(SuccessiveElimination, horizon=99) on YJ: 5 runs, T = 99, regret 6.05 ± 0.17, ...
    """

    @checks.in_a_game
    def __init__(self, K, rng, horizon):
        self.K, self.rng = K, rng
        self.horizon = checks.whole("horizon", horizon)
        self.alive, self.total = np.ones(K, np.bool_), np.zeros(K)
        self.sweeps, self.x = 0, 0

    def reset(self):
        """All arms are alive again."""
        self.alive[:] = True
        self.total[:] = 0
        self.sweeps, self.x = 0, 0

    def advance(self):
        """The next living arm of the sweep."""
        while not self.alive[self.x]:
            self.x = (self.x + 1) % self.K
        return self.x

    def feedback(self, u):
        """Count the reward; at the end of a sweep, drop the arms that are surely worse."""
        self.total[self.x] += u
        for x in range(self.x + 1, self.K):
            if self.alive[x]:
                self.x = x
                return
        self.sweeps += 1
        self.x = 0
        r, T = self.sweeps, float(self.horizon)
        radius = sqrt(log(2 * self.K * (T * T)) / (2 * r))
        best = 0.0
        for x in range(self.K):
            if self.alive[x]:
                best = max(best, self.total[x] / r)
        for x in range(self.K):
            if self.alive[x] and self.total[x] / r + radius < best - radius:
                self.alive[x] = False


class ExploreThenCommit:
    """Explore-Then-Commit: ``rounds`` sweeps over the arms, then the best mean for ever.

    The sweep starts at arm ``first``; the commitment's ties go to a random arm.

    >>> simulate("YJ", MultiSBM(ExploreThenCommit, rounds=3), T=99, runs=5, compiled=False)
    MultiSBM(ExploreThenCommit, rounds=3) on YJ: 5 runs, T = 99, regret 6.06 ± 0.26, ...
    """

    @checks.in_a_game
    def __init__(self, K, rng, rounds, first=0):
        self.K, self.rng = K, rng
        self.rounds = checks.whole("rounds", rounds)
        self.first = checks.whole("first", first, 0) % K
        self.total = np.zeros(K)
        self.t, self.x = 0, 0

    def reset(self):
        """Forget all rewards."""
        self.total[:] = 0
        self.t = 0

    def advance(self):
        """The next arm of the sweep, or the arm of the commitment."""
        if self.t < self.rounds * self.K:
            self.x = (self.first + self.t) % self.K
        elif self.t == self.rounds * self.K:
            ties = 0
            for x in range(self.K):
                if self.total[x] > self.total[self.x] or ties == 0:
                    self.x, ties = x, 1
                elif self.total[x] == self.total[self.x]:
                    ties += 1
                    if self.rng.random() * ties < 1:
                        self.x = x
        return self.x

    def feedback(self, u):
        """Count the reward."""
        self.total[self.x] += u
        self.t += 1
