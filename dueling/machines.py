"""Singleton bandit machines (Section 2): closed units with ``reset``, ``advance``, ``feedback``.

A machine is built as ``machine(K, rng, **parameters)``; ``rng`` is the run's own generator, and a
machine may draw from it. ``advance`` returns the next arm, ``feedback`` takes its reward in [0, 1],
and the two alternate. Any class of this shape runs compiled inside every reduction, as long as its
fields are numbers and NumPy arrays that keep their type and shape; no annotation is needed. Into an
array copy (``self.old[:] = self.new``); random arms are ``rng.integers(0, K)``, with both ends. For
the same bits compiled and plain take functions of numbers from ``math`` and write x * x, not x**2.
"""

from math import exp, inf, log, sqrt

import numpy as np

from .engine import checks
from .engine.compiled import compilable

#: ln t for t = 1..2^15 - 1, sooner read than computed and with the same bits.
LN = np.array([-inf, *map(log, range(1, 2**15))])


@compilable
def draw(p, rng):
    """An index drawn with the probabilities p."""
    left = rng.random()
    for x in range(len(p)):
        left -= p[x]
        if left < 0:
            return x
    return int(np.argmax(p))


@compilable
def tsallis(loss, rate, p):
    """Set p to the weights of the 1/2-Tsallis-regularised leader of these losses."""
    z = loss.min() - 2 / rate  # the sum is >= 1 here and convex: Newton falls to its root
    for _ in range(100):
        total, slope = 0.0, 0.0
        for x in range(len(p)):
            d = rate * (loss[x] - z)
            p[x] = 4 / (d * d)
            total += p[x]
            slope += rate * p[x] ** 1.5
        z -= (total - 1) / slope
        if abs(total - 1) < 1e-12:
            break


class UCB:
    r"""UCB(alpha), Algorithm 1: plays the arm x of largest index.

    .. math:: \hat\mu_x + \sqrt{(\alpha + 2) \ln t / (2 t_x)}

    where t is the machine's own clock. An arm without a pull has index infinity (the printed
    formula reads 0/0 there). Ties go to a uniformly random arm, or to the first one with
    ``ties="first"``. The paper proves its lemmas for alpha > 0; Auer's UCB1 is alpha = 2.

    >>> simulate("YJ", Sparring(UCB, alpha=1), T=99, runs=5, compiled=False)
    Sparring(UCB, alpha=1) on YJ: 5 runs, T = 99, regret 5.36 ± 0.12, ...
    """

    @checks.in_a_game
    def __init__(self, K, rng, alpha=3.0, ties="random"):
        self.K, self.rng, self.logs = K, rng, LN
        self.alpha = checks.alpha("alpha", alpha)
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
        width = sqrt((self.alpha + 2) * self.ln(self.t) / 2)
        mean, narrow = self.mean, self.narrow
        best, ties = -inf, 0
        for x in range(self.K):
            index = mean[x] + width * narrow[x]
            if index > best:
                best, ties, self.x = index, 1, x
            elif index == best:
                ties += 1
        if ties > 1 and self.random_ties:
            skip = int(self.rng.random() * ties)
            while skip > 0:
                self.x += 1
                if mean[self.x] + width * narrow[self.x] == best:
                    skip -= 1
        return self.x

    def ln(self, t):
        """The natural logarithm of a whole number t >= 1."""
        return self.logs[t] if t < len(self.logs) else log(t)

    def feedback(self, u):
        """Update the mean of the arm just played with its reward u."""
        x = self.x
        self.pulls[x] += 1
        self.total[x] += u
        n = self.pulls[x]
        self.mean[x] = self.total[x] / n
        self.narrow[x] = 1 / sqrt(n)
        self.t += 1


class Thompson:
    """Thompson sampling with a uniform prior: plays the arm of largest draw from its posterior.

    A reward u in [0, 1] adds u to the successes and 1 - u to the failures of its arm.

    >>> simulate("YJ", Sparring(Thompson), T=99, runs=5, compiled=False)
    Sparring(Thompson) on YJ: 5 runs, T = 99, regret 5.24 ± 0.096, ...
    """

    @checks.in_a_game
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


class Adversarial:
    """What Exp3 and Tsallis-INF share: an arm is drawn with the probabilities p.

    ``loss[x]`` sums (1 - u) / p[x] over the rounds in which x was drawn; the subclass has
    ``weigh``, which sets p from the losses, up to a factor.
    """

    @checks.in_a_game
    def __init__(self, K, rng):
        self.K, self.rng = K, rng
        self.loss, self.p = np.zeros(K), np.ones(K) / K
        self.t, self.x = 1, 0

    def reset(self):
        """Forget all losses."""
        self.loss[:] = 0
        self.t = 1

    def advance(self):
        """An arm drawn from the weights."""
        self.weigh()
        total = 0.0
        for x in range(self.K):
            total += self.p[x]
        for x in range(self.K):
            self.p[x] /= total
        self.x = draw(self.p, self.rng)
        return self.x

    def feedback(self, u):
        """Add the importance-weighted loss."""
        self.loss[self.x] += (1 - u) / self.p[self.x]
        self.t += 1


class Exp3(Adversarial):
    r"""Exp3 with the anytime rate :math:`\eta_t = \sqrt{\ln K / (K t)}`, on losses 1 - u.

    Arm x is drawn with probability proportional to :math:`\exp(-\eta_t \hat L_x)`, where
    :math:`\hat L_x` sums loss / probability over the rounds in which x was drawn. Its pseudo-regret
    against any adversary is at most :math:`2\sqrt{T K \ln K}` (Bubeck and Cesa-Bianchi 2012,
    Theorem 3.1).

    >>> simulate("YJ", Sparring(Exp3), T=99, runs=5, compiled=False)
    Sparring(Exp3) on YJ: 5 runs, T = 99, regret 5.87 ± 0.2, ...
    """

    def weigh(self):
        """The exponential weights."""
        rate, least = sqrt(log(self.K) / (self.K * self.t)), self.loss.min()
        for x in range(self.K):
            self.p[x] = exp(-rate * (self.loss[x] - least))


class TsallisINF(Adversarial):
    r"""Tsallis-INF (Zimmert and Seldin 2021) with exponent 1/2 and :math:`\eta_t = 2/\sqrt t`.

    Arm x is drawn with probability :math:`p_x = 4 (\eta_t (\hat L_x - z))^{-2}`, where z makes the
    sum 1 and :math:`\hat L_x` sums loss / probability over the rounds in which x was drawn.

    >>> simulate("YJ", Sparring(TsallisINF), T=99, runs=5, compiled=False)
    Sparring(TsallisINF) on YJ: 5 runs, T = 99, regret 6.11 ± 0.2, ...
    """

    def weigh(self):
        """The weights of the 1/2-Tsallis-regularised leader."""
        tsallis(self.loss, 2 / sqrt(self.t), self.p)
