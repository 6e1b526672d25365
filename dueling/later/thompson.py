"""Two algorithms that draw from a posterior: Double Thompson Sampling and Self-Sparring."""

import numpy as np

from ..engine import checks
from ..engine.algorithm import Algorithm, number
from .record import Record, drawn


def double_thompson(W, game):
    """D-TS: one draw of the whole table chooses the first arm, a second one its rival."""
    t = 1
    while game.on():
        W.bound(t)
        x = W.first()
        y = W.second(x)
        W.note(x, y, game.play(x, y))
        t += 1


def self_sparring(S, game):
    """Self-Sparring: both arms are drawn from one posterior, which learns from both."""
    while game.on():
        x, y = S.draw(), S.draw()
        b = game.play(x, y)
        S.learn(x, 1 - b)
        S.learn(y, b)


class Posteriors(Record):
    """The record of D-TS: the chance that x beats y is a draw of Beta(w[x, y] + 1, w[y, x] + 1)."""

    def __init__(self, K, rng, alpha):
        super().__init__(K, rng, alpha)
        self.score = np.zeros(K, np.int64)

    def first(self):
        """The arm that beats most others in a draw, of the set C that may beat most of them.

        An only candidate is taken without a draw, which would not change the law.
        """
        for x in range(self.K):
            self.score[x] = 0
            for y in range(self.K):
                self.score[x] += int(y != x and self.u[x, y] > 0.5)
        if self.top() > 1:
            self.score[:] = 0
            for x in range(self.K):
                for y in range(x):
                    theta = self.rng.beta(self.w[x, y] + 1, self.w[y, x] + 1)
                    self.score[x if theta > 0.5 else y] += 1
            for x in range(self.K):
                self.score[x] = self.score[x] if self.C[x] else -1
            self.top()
        return drawn(self.C, self.rng)

    def top(self):
        """Let C be the arms of the highest score, and count them."""
        best, size = self.score.max(), 0
        for x in range(self.K):
            self.C[x] = self.score[x] == best
            size += int(self.C[x])
        return size

    def second(self, x):
        """The arm of the largest draw against x, of those that do not surely beat it.

        The draw of x itself is 1/2. An arm y surely beats x if its bound from below,
        1 - u[x, y], is above 1/2.
        """
        rival, best = x, 0.5
        for y in range(self.K):
            if y != x and self.u[x, y] >= 0.5:
                theta = self.rng.beta(self.w[y, x] + 1, self.w[x, y] + 1)
                if theta > best:
                    rival, best = y, theta
        return rival


class Posterior:
    """The one posterior of Self-Sparring: Beta(wins, losses) of each arm, uniform at first."""

    def __init__(self, K, rng, eta):
        self.K, self.rng, self.eta = K, rng, eta
        self.wins, self.losses = np.ones(K), np.ones(K)

    def draw(self):
        """The arm of the largest draw."""
        arm, best = 0, -1.0
        for x in range(self.K):
            theta = self.rng.beta(self.wins[x], self.losses[x])
            if theta > best:
                arm, best = x, theta
        return arm

    def learn(self, x, u):
        """Count the reward u of x, 0 or 1."""
        self.wins[x] += self.eta * u
        self.losses[x] += self.eta * (1 - u)


class DoubleThompson(Algorithm):
    """Double Thompson Sampling, D-TS (Wu and Liu, NIPS 2016).

    ``alpha`` > 1/2 scales the bounds. The default 0.51 is that of H. Wu's own program, and of
    duelpy 1.0, which refers to the paper. Ties of the first arm are broken at random (their D-TS+
    breaks them otherwise). H. Wu's program starts from 1e-5 wins, not from 0, and counts an upper
    bound of exactly 1/2 as a win.

    >>> simulate("YJ", DoubleThompson(), T=99, runs=5, compiled=False)
    DoubleThompson(alpha=0.51) on YJ: 5 runs, T = 99, regret 5.61 ± 0.51, ...
    """

    text = staticmethod(double_thompson)

    def __init__(self, alpha: float = 0.51):
        self.alpha = checks.real("alpha", alpha, "a number > 1/2", lambda a: a > 0.5)
        name = f"DoubleThompson(alpha={number(self.alpha)})"
        super().__init__(name, parameters={"alpha": self.alpha})

    def parts(self, game) -> tuple:
        """The record of all pairs."""
        return (Posteriors(game.K, game.rng, self.alpha),)


class SelfSparring(Algorithm):
    """Independent Self-Sparring, two arms a round (Sui, Zhuang, Burdick and Yue, UAI 2017).

    ``eta`` > 0, the learning rate, is what a win or a loss counts; the public program of that name
    (a class ``SelfSparring`` beside ``SparringTS``) has 1. A duel of an arm with itself is a win
    and a loss of it, there as here.

    >>> simulate("YJ", SelfSparring(), T=99, runs=5, compiled=False)
    SelfSparring on YJ: 5 runs, T = 99, regret 4.84 ± 0.48, ...
    """

    text = staticmethod(self_sparring)

    def __init__(self, eta: float = 1.0):
        self.eta = checks.real("eta", eta, "a number > 0 and <= 1e9", lambda e: 0 < e <= 1e9)
        name = "SelfSparring" if self.eta == 1 else f"SelfSparring(eta={number(self.eta)})"
        super().__init__(name, parameters={"eta": self.eta})

    def parts(self, game) -> tuple:
        """The posterior."""
        return (Posterior(game.K, game.rng, self.eta),)
