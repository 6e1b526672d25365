"""Two algorithms on the table of pairs: Relative UCB, and Relative Minimum Empirical Divergence."""

import numpy as np

from ..engine import checks
from ..engine.algorithm import Algorithm, Constants, number
from .record import Divergence, Record, drawn


def rucb(W, game):
    """RUCB: an arm that no other surely beats meets the one that may beat it most clearly."""
    t = 1
    while game.on():
        W.bound(t)
        c = W.candidate()
        d = W.rival(c)
        W.note(c, d, game.play(c, d))
        t += 1


def rmed1(W, c, game):
    """RMED1: the arms that may be the best are gone through in turn, each against its rival.

    L is the present loop, R what is left of it, N the next one, where every arm goes that is not in
    R and has I_x - min I <= ln t + f.
    """
    K, t = game.K, 0
    for x in range(K):
        for y in range(x + 1, K):
            if game.on():
                W.note(x, y, game.play(x, y))
                t += 1
    L, R, N = np.ones(K, np.bool_), np.ones(K, np.bool_), np.zeros(K, np.bool_)
    while game.on():
        for x in range(K):
            if L[x] and game.on():
                y = W.rival(x)
                W.note(x, y, game.play(x, y))
                t += 1
                R[x] = False
                for z in range(K):
                    N[z] |= not R[z] and W.I[z] - W.I.min() <= np.log(t) + c.f
        L[:], R[:], N[:] = N, N, False


class Relative(Record):
    """The record of RUCB, with B, the arm that was the only candidate last, or -1."""

    def __init__(self, K, rng, alpha):
        super().__init__(K, rng, alpha)
        self.B = -1

    def candidate(self):
        """c, from the set C of the arms that no other arm surely beats; B has half the chance."""
        size = 0
        for x in range(self.K):
            self.C[x] = self.u[x].min() >= 0.5
            size += int(self.C[x])
        if self.B >= 0 and not self.C[self.B]:
            self.B = -1
        if size == 0:
            return int(self.rng.random() * self.K)
        if size == 1:
            self.B = drawn(self.C, self.rng)
        elif self.B >= 0 and self.rng.random() < 0.5:
            return self.B
        elif self.B >= 0:
            self.C[self.B] = False
        return drawn(self.C, self.rng)

    def rival(self, c):
        """The arm d of largest u[d, c], ties at random; c itself only if there is no tie."""
        best, size = self.u[:, c].max(), 0
        for d in range(self.K):
            self.C[d] = self.u[d, c] == best
            size += int(self.C[d])
        if size > 1:
            self.C[c] = False
        return drawn(self.C, self.rng)


class RUCB(Algorithm):
    """Relative Upper Confidence Bound (Zoghi, Whiteson, Munos and de Rijke, ICML 2014).

    ``alpha`` > 1/2 scales the bounds. The default 0.51 is that of J. Komiyama's program
    ``duelingbanditlib`` and of duelpy 1.0. The bound of an unplayed pair is 2, by the rule that
    x/0 is 1; the first of these programs has 1 there, and in the second no arm meets itself.

    >>> simulate("YJ", RUCB(), T=99, runs=5, compiled=False)
    RUCB(alpha=0.51) on YJ: 5 runs, T = 99, regret 5.67 ± 0.076, ...
    """

    text = staticmethod(rucb)

    def __init__(self, alpha: float = 0.51):
        self.alpha = checks.real("alpha", alpha, "a number > 1/2", lambda a: a > 0.5)
        super().__init__(f"RUCB(alpha={number(self.alpha)})", parameters={"alpha": self.alpha})

    def parts(self, game) -> tuple:
        """The record of all pairs."""
        return (Relative(game.K, game.rng, self.alpha),)


class RMED1(Algorithm):
    """Relative Minimum Empirical Divergence 1 (Komiyama, Honda, Kashima and Nakagawa, COLT 2015).

    ``f`` is added to ln t. The default :math:`0.3 K^{1.01}` is that of J. Komiyama's own program
    ``duelingbanditlib``, whose mended version is followed, and of duelpy 1.0. The order of the arms
    is the game's, and ties go to the first arm; that program sends ties of the worst rival to the
    last one.

    >>> simulate("YJ", RMED1(), T=99, runs=5, compiled=False)
    RMED1 on YJ: 5 runs, T = 99, regret 5.21 ± 0.26, ...
    """

    text = staticmethod(rmed1)

    def __init__(self, f: float | None = None):
        self.f = None if f is None else checks.real("f", f, "a number >= 0", lambda f: f >= 0)
        name = "RMED1" if f is None else f"RMED1(f={number(self.f)})"
        super().__init__(name, parameters={"f": self.f})

    def parts(self, game) -> tuple:
        """The record of all pairs, and the constant."""
        f = 0.3 * game.K**1.01 if self.f is None else self.f
        return Divergence(game.K), Constants(game.rng, f=f)
