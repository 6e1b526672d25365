"""Three more machines: KL-UCB, MOSS, and Tsallis-INF with the estimator of small variance."""

from math import exp, inf, log, sqrt

import numpy as np

from ..engine import checks
from ..engine.compiled import compilable
from ..machines import UCB, Adversarial, tsallis


@compilable
def kl(p, q):
    """The divergence of Bernoulli(p) from Bernoulli(q), for q strictly between 0 and 1."""
    left = p * log(p / q) if p > 0 else 0.0
    return left + (1 - p) * log((1 - p) / (1 - q)) if p < 1 else left


@compilable
def kl_upper(p, budget):
    """The largest q <= 1 with kl(p, q) <= budget, by Newton's steps down a convex function.

    They begin right of the root, at Pinsker's q = p + sqrt(budget / 2) or, if that is less, where
    (1 - p) ln(1 / (1 - q)) spends the budget and the entropy of p.
    """
    if p >= 1 or budget <= 0:
        return p
    entropy = p * log(p) + (1 - p) * log(1 - p) if p > 0 else 0.0
    q = min(p + sqrt(budget / 2), 1 - exp((entropy - budget) / (1 - p)))
    step = 1.0
    while step > 1e-8 and q < 1:  # the next step is of the order of its square
        step = (kl(p, q) - budget) * q * (1 - q) / (q - p)
        q -= step
    return q


@compilable
def largest(index, rng):
    """The place of the largest number; ties at random."""
    best, ties, at = -inf, 0, 0
    for x in range(len(index)):
        if index[x] > best:
            best, ties, at = index[x], 1, x
        elif index[x] == best:
            ties += 1
    skip = int(rng.random() * ties) if ties > 1 else 0
    while skip > 0:
        at += 1
        if index[at] == best:
            skip -= 1
    return at


class KLUCB:
    r"""KL-UCB for rewards 0 and 1 (Garivier and Cappé 2011): plays the arm x of largest index.

    .. math:: \max\{q : t_x \operatorname{kl}(\hat\mu_x, q) \le \ln t + c \ln(1 + \ln t)\}

    where t is the machine's own clock. Their theorem has c = 3, and Champion's needs c > 2. An arm
    without a pull has index infinity, ties go to a uniformly random arm.

    >>> simulate("YJ", Sparring(KLUCB), T=99, runs=5, compiled=False)
    Sparring(KLUCB) on YJ: 5 runs, T = 99, regret 5.31 ± 0.24, ...
    """

    @checks.in_a_game
    def __init__(self, K, rng, c=3.0):
        self.K, self.rng = K, rng
        self.c = checks.real("c", c, "at least 0", lambda c: c >= 0)
        self.total, self.index = np.zeros(K), np.zeros(K)
        self.pulls = np.zeros(K, np.int64)
        self.t = self.x = 1
        self.reset()

    def reset(self):
        """Forget all: no arm has been pulled, the clock shows 1."""
        self.total[:] = 0
        self.pulls[:] = 0
        self.t = 1

    def advance(self):
        """The arm of largest index."""
        budget = log(self.t) + self.c * log(1 + log(self.t))
        best = -inf
        for x in range(self.K):
            self.index[x] = self.upper(x, budget, best)
            best = max(best, self.index[x])
        self.x = largest(self.index, self.rng)
        return self.x

    def upper(self, x, budget, best):
        """The index of x, or -infinity if it is surely below the best one so far."""
        if self.pulls[x] == 0:
            return inf
        mean, share = self.total[x] / self.pulls[x], budget / self.pulls[x]
        if mean < best < 1 and kl(mean, best) > share + 1e-9:
            return -inf
        return kl_upper(mean, share)

    def feedback(self, u):
        """Count the reward u of the arm just played."""
        self.pulls[self.x] += 1
        self.total[self.x] += u
        self.t += 1


class MOSS(UCB):
    r"""MOSS (Audibert and Bubeck 2009): UCB whose bonus ends once an arm had its share of pulls.

    .. math:: \hat\mu_x + \sqrt{\max(0, \ln(T / (K t_x))) / t_x}

    where T is ``horizon``. Ties and arms without a pull are as in UCB.

    >>> simulate("YJ", Sparring(MOSS, horizon=99), T=99, runs=5, compiled=False)
    Sparring(MOSS, horizon=99) on YJ: 5 runs, T = 99, regret 5.43 ± 0.51, ...
    """

    @checks.in_a_game
    def __init__(self, K, rng, horizon):
        super().__init__(K, rng)
        self.horizon, self.index = checks.whole("horizon", horizon), np.zeros(K)

    def advance(self):
        """The arm of largest index."""
        for x in range(self.K):
            self.index[x] = self.upper(x)
        self.x = largest(self.index, self.rng)
        return self.x

    def upper(self, x):
        """The index of x, infinite if it was never pulled."""
        n = self.pulls[x]
        return self.mean[x] + sqrt(max(0.0, log(self.horizon / (self.K * n))) / n) if n else inf


class ReducedTsallis(Adversarial):
    r"""Tsallis-INF with :math:`\eta_t = 4/\sqrt t` and reduced variance (Zimmert and Seldin 2021).

    The loss of every arm x is estimated in every round, from the base line
    :math:`B_x = \frac12 [p_x \ge \eta_t^2]`: it is :math:`B_x`, and for the arm that was drawn
    :math:`B_x + (1 - u - B_x)/p_x`.

    >>> simulate("YJ", Sparring(ReducedTsallis), T=99, runs=5, compiled=False)
    Sparring(ReducedTsallis) on YJ: 5 runs, T = 99, regret 5.5 ± 0.26, ...
    """

    def weigh(self):
        """The weights of the 1/2-Tsallis-regularised leader."""
        tsallis(self.loss, 4 / sqrt(self.t), self.p)

    def feedback(self, u):
        """Add the estimated losses of all arms."""
        for x in range(self.K):
            base = 0.5 if self.p[x] * self.t >= 16 else 0.0
            self.loss[x] += base
            if x == self.x:
                self.loss[x] += (1 - u - base) / self.p[x]
        self.t += 1
