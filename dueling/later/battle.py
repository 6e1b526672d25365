"""Choice from m items: the battling game of Saha and Gopalan (2018), linear, and two reductions.

A pair of the m slots is drawn and duels under the linear link; the winner's slot is seen, and not
the pair.
"""

from collections.abc import Callable

import numpy as np

from ..engine import checks
from ..engine.algorithm import Algorithm, Constants, label
from ..engine.protocol import Rounds, Scenario


class Choice(Rounds):
    r"""T rounds of a choice from m slots, in which slot i wins with the probability below.

    .. math:: \tfrac1m\big(1 + u_i - \bar u_{-i}\big)

    where :math:`u_i` is the utility of the arm in slot i and :math:`\bar u_{-i}` the mean of the
    others. ``shown[x]`` counts the slots in which arm x was shown.

    >>> game = Choice(np.array([0.9, 0.1]), 3, 2, np.array([2]), np.random.default_rng(1))
    >>> game.choose([0, 1, 1]), game.choose([1, 1, 1]), game.shown.tolist()
    (2, 0, [1, 5])
    """

    def __init__(self, mu, m, T, checkpoints, rng, order=None):
        self.K, self.mu, self.m = len(mu), mu, m
        self.order = np.arange(self.K) if order is None else order
        self.shown = np.zeros(self.K, np.int64)
        super().__init__(T, checkpoints, rng, self.shown)

    def choose(self, arms):
        """The slot, 0..m-1, whose arm is chosen among those shown."""
        if len(arms) != self.m or self.t >= self.T:
            raise ValueError("choose was not given m arms, or no round was left.")
        for x in arms:
            if not 0 <= x < self.K:
                raise ValueError("choose was given an arm outside 0..K-1.")
            self.shown[x] += 1
        i, j = int(self.rng.random() * self.m), int(self.rng.random() * (self.m - 1))
        j += j >= i  # a uniformly random pair of different slots
        b = self.rng.random() < (1 + self.mu[arms[j]] - self.mu[arms[i]]) / 2
        self.end_round()
        return j if b else i

    def record(self):
        """Keep the counts."""
        for x in range(self.K):
            self.kept[self.passed, x] = self.shown[x]


class Battle(Scenario):
    r"""The game of utilities mu in which one of m slots is chosen.

    Regret is :math:`\mu(x^*)` minus the mean utility of the slots; with m = 2 it is the dueling
    game under the linear link, and its average regret.

    >>> Battle([0.8, 0.2, 0.2], m=5, name="five of three")
    Battle(five of three)
    """

    regrets = ("average",)

    def __init__(self, mu, m: int = 2, name: str | None = None):
        self.mu, self.m = checks.utilities("mu", mu), checks.whole("m", m, 2, 10**6)
        self.K = len(self.mu)
        super().__init__(name, f"battle/{self.m}", self.mu, np.array([self.m]))

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True) -> Choice:
        """A game of T rounds on the run's generator, in an order of the arms drawn from it."""
        p = rng.permutation(self.K) if permute else np.arange(self.K)
        return Choice(self.mu[p], self.m, T, checkpoints, rng, p)

    def measure(self, game: Choice, regret: str | None = None) -> dict:
        """Regret at the checkpoints, and how often each arm was shown."""
        self.regret(regret)
        kept, shown = np.empty_like(game.kept), np.empty_like(game.shown)
        kept[:, game.order], shown[game.order] = game.kept, game.shown
        return {"regret": kept @ (self.mu.max() - self.mu) / self.m, "shown": shown}

    def facts(self) -> dict:
        """The utilities, and the number of slots."""
        return {"mu": self.mu, "m": self.m}


def battle_sparring(S, game):
    """One machine a slot; that of the chosen slot is fed 1, the others 0."""
    arms = np.zeros(game.m, np.int64)
    for i in range(game.m):
        S[i].reset()
    while game.on():
        for i in range(game.m):
            arms[i] = S[i].advance()
        winner = game.choose(arms)
        for i in range(game.m):
            S[i].feedback(1 if i == winner else 0)


def battle_champion(S, c, game):
    """Champion with its challenger in c of the slots, fed 1 if it is chosen."""
    for x in range(game.K):
        S[x].reset()
    x, i = 0, 0  # an arbitrary arm
    plays, arms = np.zeros(game.K, np.int64), np.zeros(game.m, np.int64)
    while game.on():
        plays[:] = 0
        for _ in range(2**i):
            if game.on():
                y = S[x].advance()
                for slot in range(game.m):
                    arms[slot] = y if slot < c.challengers else x
                S[x].feedback(1 if game.choose(arms) < c.challengers else 0)
                plays[y] += 1
        x = int(np.argmax(plays))
        i += 1


class BattleSparring(Algorithm):
    """Sparring for m slots, over m copies of ``machine(K, rng, **parameters)``.

    >>> five = Battle([0.8, 0.2, 0.2], m=5, name="five")
    >>> simulate(five, BattleSparring(UCB, alpha=1), T=99, runs=5, compiled=False)
    BattleSparring(UCB, alpha=1) on five: 5 runs, T = 99, regret 31.8 ± 0.94, ...
    """

    text = staticmethod(battle_sparring)
    needs = "choose"

    def __init__(self, machine: Callable, **parameters):
        super().__init__(label("BattleSparring", machine, parameters), machine, parameters)

    def parts(self, game) -> tuple:
        """One machine for each slot."""
        return ([self.new_machine(game) for _ in range(game.m)],)


class BattleChampion(Algorithm):
    """Champion for m slots, of which the challenger takes ``challengers``.

    By default these are the number for which the limit of the regret over ln T is least, about m/3.

    >>> five = Battle([0.8, 0.2, 0.2], m=5, name="five")
    >>> simulate(five, BattleChampion(UCB, alpha=1), T=99, runs=5, compiled=False)
    BattleChampion(UCB, alpha=1) on five: 5 runs, T = 99, regret 24.1 ± 4.7, ...
    """

    text = staticmethod(battle_champion)
    needs = "choose"

    def __init__(self, machine: Callable, challengers: int | None = None, **parameters):
        self.challengers = None if challengers is None else checks.whole("challengers", challengers)
        settings = {} if challengers is None else {"challengers": self.challengers}
        name = label("BattleChampion", machine, settings | parameters)
        super().__init__(name, machine, parameters)

    def settings(self) -> dict:
        """Those of the machine, and the number of challengers."""
        return super().settings() | {"challengers": self.challengers}

    def parts(self, game) -> tuple:
        """One machine for each arm, and the number of challengers."""
        c = self.challengers or challengers(game.m)
        if c >= game.m:
            raise ValueError(f"challengers is {c}; it must be less than m = {game.m}, the slots.")
        return [self.new_machine(game) for _ in range(game.K)], Constants(game.rng, challengers=c)


def price(m: int, c: int) -> float:
    r"""What a choice from m with c challengers costs Champion, over what a duel costs.

    .. math:: \kappa = \frac{m (m-1)^2}{2 c (m-c)^2}

    >>> price(2, 1), price(9, 1), price(9, 3)
    (1.0, 4.5, 2.6666666666666665)
    """
    m = checks.whole("m", m, 2)
    c = checks.whole("c", c, 1, m - 1)
    return m * (m - 1) ** 2 / (2 * c * (m - c) ** 2)


def challengers(m: int) -> int:
    """The number of challengers of least :func:`price`.

    >>> [challengers(m) for m in (2, 3, 9, 30)]
    [1, 1, 3, 10]
    """
    m = checks.whole("m", m, 2)
    near = range(max(1, m // 3), min(m - 1, m // 3 + 1) + 1)  # it falls up to m/3, then rises
    return min(near, key=lambda c: price(m, c))
