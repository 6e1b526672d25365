"""Elimination with random draws: a machine that an adaptive opponent cannot mislead."""

from math import ceil, log

import numpy as np

from ..engine import checks


class RandomDraws:
    r"""Drops arms in phases; in phase r it draws from the living arms A, uniformly and afresh.

    Phase r = 1, 2, ... has accuracy :math:`\varepsilon = 2^{-r}` and
    :math:`M = \lceil c |A| \ell / \varepsilon^2 \rceil` draws, where :math:`\ell = 2 \ln(K T)`,
    T is ``horizon`` and c is ``scale``; the theorem has c = 2. Its estimates are

    .. math:: X_x = \frac{|A|}M \sum_{t: x_t = x} \big(u_t - \tfrac12\big)

    and x leaves when :math:`X_x < \max X - \varepsilon`. A reward that is the utility of the arm
    plus anything that does not depend on the draw shifts every X alike: this is elimination for
    semiparametric bandits (Krishnamurthy, Wu and Syrgkanis 2018; Kim, Kim and Oh 2025).

    >>> simulate("YJ", Sparring(RandomDraws, horizon=99), T=99, runs=5, compiled=False)
    Sparring(RandomDraws, horizon=99) on YJ: 5 runs, T = 99, regret ...
    """

    @checks.in_a_game
    def __init__(self, K, rng, horizon, scale=2.0):
        self.K, self.rng = K, rng
        self.horizon = checks.whole("horizon", horizon)
        self.scale = checks.number("a number", 1e-9, 1e9, "scale", scale)
        self.alive, self.total = np.ones(K, np.bool_), np.zeros(K)
        self.accuracy = 1.0
        self.living = self.draws = self.left = self.x = 0
        self.reset()

    def reset(self):
        """All arms live again; the first phase begins."""
        self.alive[:] = True
        self.accuracy = 1.0
        self.begin()

    def begin(self):
        """The next phase: twice as accurate, its sums empty."""
        self.accuracy /= 2
        self.living = int(self.alive.sum())
        length = 2 * log(self.K * self.horizon) * self.living
        self.draws = ceil(self.scale * length / (self.accuracy * self.accuracy))
        self.left = self.draws
        self.total[:] = 0

    def advance(self):
        """A living arm, each with the same chance."""
        skip, self.x = int(self.rng.random() * self.living), 0
        while skip > 0 or not self.alive[self.x]:
            skip -= self.alive[self.x]
            self.x += 1
        return self.x

    def feedback(self, u):
        """Count the reward; at the end of a phase drop the arms that are surely worse."""
        self.total[self.x] += u - 0.5
        self.left -= 1
        if self.left > 0:
            return
        limit = self.total[self.alive].max() - self.accuracy * self.draws / self.living
        for x in range(self.K):
            if self.alive[x] and self.total[x] < limit:
                self.alive[x] = False
        self.begin()
