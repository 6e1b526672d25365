"""Two more machines: MOSS, and Tsallis-INF with the estimator of small variance."""

from math import inf, log, sqrt

from ..engine import checks
from ..engine.hints import in_a_game
from ..machines import UCB, Adversarial, tsallis


class MOSS(UCB):
    r"""MOSS (Audibert and Bubeck 2009): UCB whose bonus ends once an arm had its share of pulls.

    .. math:: \hat\mu_x + \sqrt{\max(0, \ln(T / (K t_x))) / t_x}

    where T is ``horizon``. Ties and arms without a pull are as in UCB.

    >>> simulate("YJ", Sparring(MOSS, horizon=99), T=99, runs=5, compiled=False)
    Sparring(MOSS, horizon=99) on YJ: 5 runs, T = 99, regret 5.43 ± 0.51, ...
    """

    @in_a_game
    def __init__(self, K, rng, horizon):
        super().__init__(K, rng)
        self.horizon = checks.whole("horizon", horizon)

    def advance(self):
        """The arm of largest index."""
        best, ties = -inf, 0
        for x in range(self.K):
            index = self.index(x)
            if index > best:
                best, ties, self.x = index, 1, x
            elif index == best:
                ties += 1
        skip = int(self.rng.random() * ties) if ties > 1 else 0
        while skip > 0:
            self.x += 1
            if self.index(self.x) == best:
                skip -= 1
        return self.x

    def index(self, x):
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
