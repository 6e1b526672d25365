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
from .engine.hints import in_a_game

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

    @in_a_game
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


class KLUCB:
    r"""KL-UCB for rewards 0 and 1 (Garivier and Cappé 2011): plays the arm x of largest index.

    .. math:: \max\{q : t_x \operatorname{kl}(\hat\mu_x, q) \le \ln t + c \ln(1 + \ln t)\}

    where t is the machine's own clock. Their theorem has c = 3, and Champion's needs c > 2. An arm
    without a pull has index infinity, ties go to a uniformly random arm.

    >>> simulate("YJ", Sparring(KLUCB), T=99, runs=5, compiled=False)
    Sparring(KLUCB) on YJ: 5 runs, T = 99, regret 5.31 ± 0.24, ...
    """

    @in_a_game
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
        best, ties = -inf, 0
        for x in range(self.K):
            self.index[x] = self.upper(x, budget, best)
            if self.index[x] > best:
                best, ties, self.x = self.index[x], 1, x
            elif self.index[x] == best:
                ties += 1
        skip = int(self.rng.random() * ties) if ties > 1 else 0
        while skip > 0:
            self.x += 1
            if self.index[self.x] == best:
                skip -= 1
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


class Thompson:
    """Thompson sampling with a uniform prior: plays the arm of largest draw from its posterior.

    A reward u in [0, 1] adds u to the successes and 1 - u to the failures of its arm.

    >>> simulate("YJ", Sparring(Thompson), T=99, runs=5, compiled=False)
    Sparring(Thompson) on YJ: 5 runs, T = 99, regret 5.24 ± 0.096, ...
    """

    @in_a_game
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

    @in_a_game
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


class SuccessiveElimination:
    r"""Successive Elimination: sweeps the arms in a fixed order, drops those that are surely worse.

    After r full sweeps an arm leaves when its mean plus :math:`\sqrt{\ln(2 K T^2) / (2 r)}` is
    below the best mean minus the same radius; T is ``horizon``.

    >>> simulate("YJ", Doubler(SuccessiveElimination, horizon=99), T=99, runs=5, compiled=False)
    Doubler(SuccessiveElimination, horizon=99) on YJ: 5 runs, T = 99, regret 6.05 ± 0.17, ...
    """

    @in_a_game
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

    @in_a_game
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
