"""Champion for games whose sides value the arms differently."""

from collections.abc import Callable

import numpy as np

from ..engine.algorithm import Algorithm, label


def two_sided_champion(S_L, S_R, game):
    """Champion by turns: S_R[x] challenges the left arm x, then S_L[y] the right arm y.

    Both turns of epoch i have 2^i rounds. The arm played most in a turn stands in the next.
    """
    for x in range(game.K):
        S_L[x].reset()
        S_R[x].reset()
    x, i = 0, 0  # an arbitrary arm
    while game.on():
        plays = np.zeros(game.K, np.int64)
        for _ in range(2**i):
            if game.on():
                y = S_R[x].advance()
                b = game.play(x, y)
                S_R[x].feedback(b)
                plays[y] += 1
        y = int(np.argmax(plays))
        plays[:] = 0
        for _ in range(2**i):
            if game.on():
                x = S_L[y].advance()
                b = game.play(x, y)
                S_L[y].feedback(1 - b)
                plays[x] += 1
        x = int(np.argmax(plays))
        i += 1


class TwoSidedChampion(Algorithm):
    """Champion for a game whose sides value the arms differently: a champion on each side.

    >>> simulate("arith/linear", TwoSidedChampion(UCB, alpha=1), T=99, runs=5, compiled=False)
    TwoSidedChampion(UCB, alpha=1) on arith/linear: 5 runs, T = 99, regret 20.4 ± 2.7, ...
    """

    text = staticmethod(two_sided_champion)

    def __init__(self, machine: Callable, **parameters):
        super().__init__(label("TwoSidedChampion", machine, parameters), machine, parameters)

    def parts(self, game) -> tuple:
        """Two machines for each arm: one to answer it from the left, one from the right."""
        return tuple([self.new_machine(game) for _ in range(game.K)] for _ in range(2))
