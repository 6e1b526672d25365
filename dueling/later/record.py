"""What the algorithms on pairs remember: who beat whom, how often, and bounds on the chances."""

from math import log, sqrt

import numpy as np

from ..engine.compiled import compilable
from .machines import kl


@compilable
def drawn(C, rng):
    """A uniformly random member of the set C, which is given as flags and not empty."""
    size = 0
    for x in range(len(C)):
        size += int(C[x])
    skip, x = int(rng.random() * size) if size > 1 else 0, 0
    while skip > 0 or not C[x]:
        skip -= int(C[x])
        x += 1
    return x


class Record:
    r"""w[x, y], how often x beat y, and :math:`u_{xy}`, a bound above the chance that it does.

    .. math:: u_{xy} = \frac{w_{xy}}{n_{xy}} + \sqrt{\frac{\alpha \ln t}{n_{xy}}}, \qquad
        n_{xy} = w_{xy} + w_{yx}, \quad u_{xx} = \tfrac12

    With 1 for every quotient x/0 the bound of a pair without a duel is 2. Duels of an arm with
    itself are not counted: they say nothing. C is a set of arms, as flags.
    """

    def __init__(self, K, rng, alpha):
        self.K, self.rng, self.alpha = K, rng, alpha
        self.w, self.u = np.zeros((K, K)), np.full((K, K), 0.5)
        self.C = np.zeros(K, np.bool_)

    def note(self, x, y, b):
        """Count the duel of x and y, which y won if b is 1."""
        if x != y:
            self.w[x, y] += 1 - b
            self.w[y, x] += b

    def bound(self, t):
        """Set u for round t."""
        level = self.alpha * log(t)
        for x in range(self.K):
            for y in range(x):
                n = self.w[x, y] + self.w[y, x]
                width = sqrt(level / n) if n > 0 else 1.0
                self.u[x, y] = (self.w[x, y] / n if n > 0 else 1.0) + width
                self.u[y, x] = (self.w[y, x] / n if n > 0 else 1.0) + width


class Divergence:
    r"""w[x, y], how often x beat y, and :math:`I_x`, how unlikely it is that x beats all others.

    .. math:: I_x = \sum_{y:\,w_{xy} \le n_{xy}/2} n_{xy} \operatorname{kl}\big(
        \tfrac{w_{xy}}{n_{xy}}, \tfrac12\big), \qquad n_{xy} = w_{xy} + w_{yx}
    """

    def __init__(self, K):
        self.K = K
        self.w, self.I = np.zeros((K, K)), np.zeros(K)

    def note(self, x, y, b):
        """Count the duel of x and y, which y won if b is 1, and renew the two sums."""
        if x != y:
            self.w[x, y] += 1 - b
            self.w[y, x] += b
            self.I[x], self.I[y] = self.sum(x), self.sum(y)

    def sum(self, x):
        """I_x."""
        total = 0.0
        for y in range(self.K):
            n = self.w[x, y] + self.w[y, x]
            if n > 0 and self.w[x, y] <= n / 2:
                total += n * kl(self.w[x, y] / n, 0.5)
        return total

    def share(self, x, y):
        """The part of their duels that x won, 1/2 if there was none."""
        n = self.w[x, y] + self.w[y, x]
        return self.w[x, y] / n if n > 0 else 0.5

    def rival(self, x):
        """Whom x meets: the arm of least I, unless x leads it and another arm leads x.

        Then it is the arm that leads x most clearly. Ties go to the first arm.
        """
        star, worst, leads = 0, int(x == 0), True
        for y in range(self.K):
            if self.I[y] < self.I[star]:
                star = y
            if y != x and self.share(x, y) <= 0.5:
                leads = False
            if y != x and self.share(x, y) < self.share(x, worst):
                worst = y
        return star if leads or (star != x and self.share(x, star) <= 0.5) else worst
