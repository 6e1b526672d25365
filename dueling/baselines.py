"""The two elimination tournaments that the paper compares with: Interleaved Filter, Beat-the-Mean.

Public codes disagree on every constant of these two, and the conclusions of Section 7 depend on
them; so each constant is an argument, and the docstring says where its default comes from. The
two papers themselves were not at hand: what is said of them here is what public code says.
"""

from math import log, sqrt

import numpy as np

from .engine import checks
from .engine.algorithm import Algorithm, Constants, number
from .engine.compiled import compilable


def interleaved_filter(c, game):
    """The candidate duels every rival in turn; rivals drop out, or one of them takes its place."""
    K, L = game.K, log(1 / c.delta)
    candidate = 0  # an arbitrary arm
    W = np.ones(K, np.bool_)  # the rivals still in
    W[candidate] = False
    wins, n = np.zeros(K), 0  # of each rival, over n duels with this candidate
    while game.on():
        if not W.any():
            game.play(candidate, candidate)
            continue
        for b in range(K):
            if W[b] and game.on():
                wins[b] += game.play(candidate, b)
        n += 1
        radius = sqrt(c.scale * L / n)
        winner, best = -1, 0.5 + radius
        for b in range(K):
            if W[b] and wins[b] / n < 0.5 - radius:  # 1/2 is outside the interval: b is worse
                W[b] = False
            elif W[b] and wins[b] / n > best:
                winner, best = b, wins[b] / n
        if winner >= 0:
            for b in range(K):
                if c.prune and wins[b] / n < 0.5:  # IF2
                    W[b] = False
            candidate = winner
            W[candidate] = False
            wins[:] = 0
            n = 0


def beat_the_mean(c, game):
    """Arms duel random opponents of the working set; the worst leaves once intervals part."""
    K, L, scale = game.K, log(1 / c.delta), c.scale * (c.gamma * c.gamma)
    W, size = np.ones(K, np.bool_), K
    wins, n = np.zeros((K, K)), np.zeros((K, K))  # of arm b against each opponent
    w, m, mean = np.zeros(K), np.zeros(K), np.full(K, 0.5)  # over the opponents still in W
    while game.on():
        b = rarest(W, m, c.rng)
        if size == 1:
            game.play(b, b)
            continue
        o = opponent(W, size, b, c.self_duels, c.rng)
        won = 1 - game.play(b, o)
        wins[b, o] += won
        n[b, o] += 1
        w[b] += won
        m[b] += 1
        mean[b] = w[b] / m[b]
        worst, best, fewest = standing(W, mean, m)
        radius = scale * sqrt(L / fewest) if fewest > 0 else 1.0
        if mean[worst] + radius <= mean[best] - radius:
            W[worst] = False
            size -= 1
            for b in range(K):  # forget the comparisons *with* the worst arm, a column
                w[b] -= wins[b, worst]
                m[b] -= n[b, worst]
                mean[b] = w[b] / m[b] if m[b] > 0 else 0.5


@compilable
def rarest(W, m, rng):
    """The arm of W with the fewest comparisons, ties at random."""
    rare, fewest, ties = 0, np.inf, 0
    for b in range(len(W)):
        if W[b] and m[b] < fewest:
            rare, fewest, ties = b, m[b], 1
        elif W[b] and m[b] == fewest:
            ties += 1
    skip = int(rng.random() * ties)
    while skip > 0:
        rare += 1
        if W[rare] and m[rare] == fewest:
            skip -= 1
    return rare


@compilable
def opponent(W, size, b, self_duels, rng):
    """A uniformly random arm of W, with or without b itself."""
    skip, o = int(rng.random() * (size if self_duels else size - 1)), b
    for x in range(len(W)):  # to the end: leaving early is a branch that no processor can foresee
        if W[x] and (self_duels or x != b):
            if skip == 0:
                o = x
            skip -= 1
    return o


@compilable
def standing(W, mean, m):
    """The arms of W with the lowest and the highest mean, and the fewest comparisons in W."""
    worst, best, low, high, fewest = 0, 0, np.inf, -np.inf, np.inf
    for b in range(len(W)):
        if W[b]:
            fewest = min(fewest, m[b])
            if mean[b] < low:
                worst, low = b, mean[b]
            if mean[b] > high:
                best, high = b, mean[b]
    return worst, best, fewest


class IF(Algorithm):
    r"""Interleaved Filter (Yue, Broder, Kleinberg and Joachims, JCSS 2012).

    Args:
        version: 1 or 2; when a rival takes over, IF2 also drops all that the candidate led.
        scale: c in the radius :math:`\sqrt{c \ln(1/\delta) / n}`. Default 4, the value of duelpy
            1.0, which refers to the proof of Lemma 4 of the journal paper; other public code
            takes 1.
        delta: default :math:`1/(T K^2)` with the known horizon T, as in all public codes seen.
        horizon: the T inside delta; default the game's own.

    After the tournament the winner duels itself.

    >>> simulate("YJ", IF(version=1, scale=1), T=99, runs=5, compiled=False)
    IF1(scale=1) on YJ: 5 runs, T = 99, regret 6.89 ± 0.64, ...
    """

    text = staticmethod(interleaved_filter)

    def __init__(self, version=2, scale=4.0, delta=None, horizon=None):
        self.version = checks.one_of("version", checks.whole("version", version), (1, 2))
        self.scale = checks.real("scale", scale, "a number > 0", lambda v: v > 0)
        self.delta, self.horizon = _error(delta), _horizon(horizon)
        settings = {"scale": self.scale, "delta": self.delta, "horizon": self.horizon}
        parameters = {**settings, "version": self.version}
        super().__init__(_label(f"IF{self.version}", settings), parameters=parameters)

    def parts(self, game) -> tuple:
        """The constants."""
        delta = self.delta or 1 / ((self.horizon or game.T) * game.K**2)
        return (Constants(game.rng, scale=self.scale, delta=delta, prune=self.version == 2),)


class BTMB(Algorithm):
    r"""Beat-the-Mean (Yue and Joachims, ICML 2011).

    Args:
        scale: s in the radius :math:`s \gamma^2 \sqrt{\ln(1/\delta) / n}`. Default 3, the value of
            duelpy 1.0 for every gamma. S. Huan's ``dueling-bandit`` refers to equation (4) of the
            paper for 3 and to equation (9) for a smaller radius, s = 1, where gamma = 1.
        gamma: the stochastic-transitivity parameter. Default 1.
        delta: default :math:`1/(2 T K)` with the known horizon T, as in both these codes; others
            take the :math:`1/(T K^2)` of IF.
        horizon: the T inside delta; default the game's own.
        self_duels: whether the opponent of b is drawn from all of W (default, as in
            ``dueling-bandit``) or from W without b (as in duelpy).

    The arm of W with the fewest comparisons plays left; only its own count grows. When the arm
    with the lowest mean is dropped, the comparisons that others made with it are dropped too.
    The last arm duels itself.

    >>> simulate("YJ", BTMB(scale=1), T=99, runs=5, compiled=False)
    BTMB(scale=1) on YJ: 5 runs, T = 99, regret 6.07 ± 0.056, ...
    """

    text = staticmethod(beat_the_mean)

    def __init__(self, scale=3.0, gamma=1.0, delta=None, horizon=None, self_duels=True):
        self.scale = checks.real("scale", scale, "a number > 0", lambda v: v > 0)
        self.gamma = checks.real("gamma", gamma, "a number >= 1", lambda v: v >= 1)
        self.delta, self.horizon = _error(delta), _horizon(horizon)
        self.self_duels = checks.flag("self_duels", self_duels)
        settings = {"scale": self.scale, "gamma": self.gamma, "delta": self.delta}
        settings |= {"horizon": self.horizon, "self_duels": self.self_duels}
        usual = {"gamma": 1.0, "self_duels": True}
        super().__init__(_label("BTMB", settings, usual), parameters=settings)

    def parts(self, game) -> tuple:
        """The constants."""
        delta = self.delta or 1 / (2 * (self.horizon or game.T) * game.K)
        chosen = {"scale": self.scale, "gamma": self.gamma, "self_duels": self.self_duels}
        return (Constants(game.rng, **chosen, delta=delta),)


def _label(name: str, settings: dict, usual: dict | None = None) -> str:
    """The name with every setting that is not None and not as usual."""
    telling = {k: v for k, v in settings.items() if v is not None and v != (usual or {}).get(k)}
    return f"{name}({', '.join(f'{k}={number(v)}' for k, v in telling.items())})"


def _error(delta):
    if delta is None:
        return None
    return checks.real("delta", delta, "a number in (0, 1)", lambda v: 0 < v < 1)


def _horizon(horizon):
    return None if horizon is None else checks.whole("horizon", horizon)
