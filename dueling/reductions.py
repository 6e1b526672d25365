"""The paper's three reductions, Algorithms 2-4, over any singleton bandit machine, and Champion.

The lower-case functions are the algorithms; they run as they stand, and compiled, from this one
text. ``Doubler(UCB, alpha=3)`` and its siblings name an algorithm together with its machine.
Champion is this edition's own.
"""

from collections.abc import Callable

import numpy as np

from .engine import checks
from .engine.algorithm import Algorithm, Constants, check_machine, defaults, label


def doubler(S, L, game):
    """Algorithm 2: the left arm imitates the right arms of the previous epoch.

    The multiset L is kept as counts, so memory does not grow with T. Epoch i has 2^i rounds.
    """
    L.start(0)  # an arbitrary singleton
    i = 1
    while game.on():
        S.reset()
        for _ in range(2**i):
            if game.on():
                x = L.draw()
                y = S.advance()
                b = game.play(x, y)
                S.feedback(b)
                L.note(y)
        L.renew()
        i += 1


def multisbm(S, game):
    """Algorithm 3: S[x] answers the left arm x; the right arm becomes the next left arm."""
    for x in range(game.K):
        S[x].reset()
    y = 0  # an arbitrary arm
    while game.on():
        x = y
        y = S[x].advance()
        b = game.play(x, y)
        S[x].feedback(b)


def sparring(S_L, S_R, game):
    """Algorithm 4: two machines, one for each side; the chosen side is fed 1, the other 0."""
    S_L.reset()
    S_R.reset()
    while game.on():
        x, y = S_L.advance(), S_R.advance()
        b = game.play(x, y)
        S_L.feedback(1 - b)
        S_R.feedback(b)


def champion(S, c, game):
    """The left arm stands for an epoch of 2^i rounds, and S[x] challenges it, never reset.

    The arm played most on the right is the next left arm, unless the present one has more than r
    times its plays.
    """
    for x in range(game.K):
        S[x].reset()
    x, i = 0, 0  # an arbitrary arm
    plays = np.zeros(game.K, np.int64)
    while game.on():
        plays[:] = 0
        for _ in range(2**i):
            if game.on():
                y = S[x].advance()
                b = game.play(x, y)
                S[x].feedback(b)
                plays[y] += 1
        z = int(np.argmax(plays))
        if plays[x] <= c.r * plays[z]:
            x = z
        i += 1


class Multiset:
    """The list L of Doubler: uniform draws from the arms of the last epoch, kept as counts."""

    def __init__(self, K, rng):
        self.K, self.rng = K, rng
        self.counts, self.size = np.zeros(K, np.int64), 0
        self.next, self.noted = np.zeros(K, np.int64), 0

    def start(self, x):
        """L becomes the singleton {x}."""
        self.counts[:] = 0
        self.counts[x] = self.size = 1
        self.next[:] = 0
        self.noted = 0

    def draw(self):
        """A uniformly random element of L."""
        i = int(self.rng.random() * self.size)
        x = below = 0
        for y in range(self.K - 1):  # to the end: no branch that the processor cannot foresee
            below += self.counts[y]
            if below <= i:
                x += 1
        return x

    def note(self, y):
        """Put y into the next epoch's list."""
        self.next[y] += 1
        self.noted += 1

    def renew(self):
        """L becomes the multiset of the arms noted since the last call."""
        for x in range(self.K):
            self.counts[x], self.next[x] = self.next[x], 0
        self.size, self.noted = self.noted, 0


class Doubler(Algorithm):
    """Doubler over ``machine(K, rng, **parameters)``.

    >>> simulate("arith/linear", Doubler(UCB, alpha=1), T=99, runs=5, compiled=False)
    Doubler(UCB, alpha=1) on arith/linear: 5 runs, T = 99, regret 26.2 ± 1.1, ...
    """

    text = staticmethod(doubler)

    def __init__(self, machine: Callable, **parameters):
        super().__init__(label("Doubler", machine, parameters), machine, parameters)

    def parts(self, game) -> tuple:
        """One machine and the multiset L."""
        return self.new_machine(game), Multiset(game.K, game.rng)


class MultiSBM(Algorithm):
    """MultiSBM over ``machine(K, rng, **parameters)``.

    >>> simulate("arith/linear", MultiSBM(Thompson), T=99, runs=5, compiled=False)
    MultiSBM(Thompson) on arith/linear: 5 runs, T = 99, regret 24.3 ± 1.5, ...
    """

    text = staticmethod(multisbm)

    def __init__(self, machine: Callable, **parameters):
        super().__init__(label("MultiSBM", machine, parameters), machine, parameters)

    def parts(self, game) -> tuple:
        """One machine for each arm."""
        return ([self.new_machine(game) for _ in range(game.K)],)


class Sparring(Algorithm):
    """Sparring over two copies of ``machine(K, rng, **parameters)``, or with its own right machine.

    ``right(K, rng)`` makes the right machine where it differs; the parameters are the left one's.

    >>> simulate("arith/linear", Sparring(UCB, right=Thompson), T=99, runs=5, compiled=False)
    Sparring(UCB, Thompson) on arith/linear: 5 runs, T = 99, regret 21.1 ± 1.1, ...
    """

    text = staticmethod(sparring)

    def __init__(self, machine: Callable, right: Callable | None = None, **parameters):
        super().__init__(label("Sparring", machine, parameters, right), machine, parameters)
        self.right = right
        if right is not None:
            check_machine(right, {})

    def settings(self) -> dict:
        """Those of the left machine and, where it differs, of the right one."""
        return super().settings() | ({"right": defaults(self.right)} if self.right else {})

    def parts(self, game) -> tuple:
        """The left and the right machine."""
        left = self.new_machine(game)
        return left, self.new_machine(game, self.right)


class Champion(Algorithm):
    """Champion over ``machine(K, rng, **parameters)``, the reduction of this edition.

    ``r`` in (0, 1] says how firmly the champion stays: 1 is the plain rule, and with several best
    arms a smaller r, such as 1/2, lets the left arm change finitely often.

    >>> simulate("arith/linear", Champion(UCB, alpha=1), T=99, runs=5, compiled=False)
    Champion(UCB, alpha=1) on arith/linear: 5 runs, T = 99, regret 23.1 ± 1.8, ...
    """

    text = staticmethod(champion)

    def __init__(self, machine: Callable, r: float = 1.0, **parameters):
        self.r = checks.share("r", r)
        name = label("Champion", machine, parameters | ({"r": self.r} if self.r < 1 else {}))
        super().__init__(name, machine, parameters)

    def settings(self) -> dict:
        """Those of the machine, and how firmly the champion stays."""
        return super().settings() | {"r": self.r}

    def parts(self, game) -> tuple:
        """One machine for each arm, and the constant."""
        machines = [self.new_machine(game) for _ in range(game.K)]
        return machines, Constants(game.rng, r=self.r)
