"""Winner Stays for strong regret: the winner of a duel stays for the next one."""

import numpy as np

from ..engine import checks
from ..engine.algorithm import Algorithm, Constants, number
from ..engine.compiled import compilable
from .record import drawn


def winner_stays(c, game):
    """WS-S: round i of Winner Stays, then beta^i duels of its winner with itself, for i = 1, 2, ...

    C[x] is how much more often x won than it lost. Round i is over when all arms but one have
    C = -i, so that one has (K - 1) i.
    """
    K, i, length = game.K, 1, c.beta
    C, top = np.zeros(K, np.int64), np.zeros(K, np.bool_)
    x = y = -1
    while game.on():
        while game.on() and C.max() < (K - 1) * i:
            z = leader(C, -1, x, y, top, c.rng)
            x, y = z, leader(C, z, x, y, top, c.rng)
            b = game.play(x, y)
            C[x] += 1 - 2 * b
            C[y] += 2 * b - 1
        z = int(np.argmax(C))  # in the last round it may be unfinished: then no duel is left
        n = 1
        while n <= length and game.on():
            game.play(z, z)
            n += 1
        i, length = i + 1, length * c.beta


@compilable
def leader(C, other, x, y, top, rng):
    """An arm of largest C, not ``other``: x if it is among them, else y, else one at random."""
    best = -(2**62)
    for z in range(len(C)):
        if z != other:
            best = max(best, C[z])
    for z in range(len(C)):
        top[z] = z != other and C[z] == best
    for z in (x, y):
        if z >= 0 and top[z]:
            return z
    return drawn(top, rng)


class WinnerStays(Algorithm):
    """Winner Stays for strong regret, WS-S (Chen and Frazier, ICML 2017).

    ``beta`` > 1 is how fast the duels of the winner with itself grow. Public programs do not agree
    on it: duelpy 1.0 has 2 (and one duel in the place of a round), a program that
    compares it with Beat the Winner Reset 1.05. Here it is 1.1.

    >>> simulate("YJ", WinnerStays(), T=99, runs=5, compiled=False)
    WinnerStays(beta=1.1) on YJ: 5 runs, T = 99, regret 3.96 ± 0.32, ...
    """

    text = staticmethod(winner_stays)

    def __init__(self, beta: float = 1.1):
        good = "a number > 1 and <= 1e6"
        self.beta = checks.real("beta", beta, good, lambda b: 1 < b <= 1e6)
        super().__init__(f"WinnerStays(beta={number(self.beta)})", parameters={"beta": self.beta})

    def parts(self, game) -> tuple:
        """The constant."""
        return (Constants(game.rng, beta=self.beta),)
