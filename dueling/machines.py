"""Singleton bandit machines (Section 2): closed units with ``reset``, ``advance``, ``feedback``.

A machine is built as ``machine(K, rng, **parameters)``; ``rng`` is the run's own generator, and a
machine may draw from it. ``advance`` returns the next arm, ``feedback`` takes its reward in [0, 1],
and the two alternate. Any class of this shape runs compiled inside every reduction, as long as its
fields are numbers and NumPy arrays that keep their type and shape; no annotation is needed.
"""

from math import inf, log, sqrt

import numpy as np

from . import checks


class UCB:
    r"""UCB(alpha), Algorithm 1: plays the arm x that maximises the index

    .. math:: \hat\mu_x + \sqrt{(\alpha + 2) \ln t / (2 t_x)}

    where t is the machine's own clock. An arm without a pull has index infinity (the printed
    formula reads 0/0 there). Ties go to a uniformly random arm, or to the first one with
    ``ties="first"``. The paper proves its lemmas for alpha > 0; Auer's UCB1 is alpha = 2.
    """

    def __init__(self, K, rng, alpha=3.0, ties="random"):
        self.K, self.rng = K, rng
        self.alpha = checks.real("alpha", alpha, "a number > -2", lambda a: a > -2)
        self.random_ties = checks.one_of("ties", ties, ("random", "first")) == "random"
        self.total, self.mean, self.narrow = np.zeros(K), np.zeros(K), np.zeros(K)
        self.pulls = np.zeros(K, np.int64)
        self.t = self.x = 1
        self.reset()

    def reset(self):
        """Forget all: every mean is infinite, the clock shows 1."""
        self.total[:] = 0
        self.pulls[:] = 0
        self.mean[:] = inf
        self.narrow[:] = 0
        self.t = 1

    def advance(self):
        """The arm of largest index."""
        width = sqrt((self.alpha + 2) * log(self.t) / 2)
        mean, narrow = self.mean, self.narrow
        best, ties = -inf, 0
        for x in range(self.K):
            index = mean[x] + width * narrow[x]
            if index > best:
                best, ties, self.x = index, 1, x
            elif index == best and self.random_ties:
                ties += 1
                if self.rng.random() * ties < 1:
                    self.x = x
        return self.x

    def feedback(self, u):
        """Update the mean of the arm just played with its reward u."""
        x = self.x
        self.pulls[x] += 1
        self.total[x] += u
        self.mean[x] = self.total[x] / self.pulls[x]
        self.narrow[x] = 1 / sqrt(self.pulls[x])
        self.t += 1


class Thompson:
    """Thompson sampling with a uniform prior: plays the arm of largest draw from its posterior.

    A reward u in [0, 1] adds u to the successes and 1 - u to the failures of its arm.
    """

    def __init__(self, K, rng):
        self.K, self.rng = K, rng
        self.wins, self.losses = np.ones(K), np.ones(K)
        self.x = 0

    def reset(self):
        """Back to the uniform prior."""
        self.wins[:] = 1
        self.losses[:] = 1

    def advance(self):
        """The arm whose Beta(wins, losses) draw is largest."""
        best = -1.0
        for x in range(self.K):
            draw = self.rng.beta(self.wins[x], self.losses[x])
            if draw > best:
                best, self.x = draw, x
        return self.x

    def feedback(self, u):
        """Count the reward u."""
        self.wins[self.x] += u
        self.losses[self.x] += 1 - u
