r"""Exact laws of UCB, Sparring, MultiSBM, Doubler and Champion on small games, without sampling.

Each algorithm is a Markov chain: a ``start`` and a ``step`` from a state to its outcomes
``(probability, next state, what was played)``. One driver, :func:`evolve`, pushes the law of
the state forward and merges equal states. Nothing here is shared with the simulated algorithms.

A machine UCB(alpha) is the tuple of its arms' ``(n, s)``, pulls and wins; its clock is
:math:`t = 1 + \sum_x n_x`. A preference table has ``P[x, y]`` = Pr[the right arm y is chosen
against the left arm x]. If all probabilities are ``int`` or ``Fraction``, so are all results.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import product
from numbers import Rational
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..engine import checks


class Chain(NamedTuple):
    """A Markov chain: its first state, and the outcomes of one round from a state."""

    #: The first state.
    start: Hashable
    #: The outcomes of a round from a state, as (probability, next state, what was played).
    step: Callable[[Any], Iterator[tuple[Any, Hashable, Any]]]


# The driver


def evolve(chain: Chain, T: int) -> Iterator[tuple[dict, dict]]:
    """For t = 1..T, the law of what is played in round t and the law of the state after it."""
    law = {chain.start: 1}
    for _ in range(T):
        played, after = defaultdict(int), defaultdict(int)
        for state, p in law.items():
            for q, state_, what in chain.step(state):
                played[what] += p * q
                after[state_] += p * q
        law = dict(after)
        yield dict(played), law


def law(chain: Chain, T: int) -> dict:
    """The law of the state after T rounds: state -> probability.

    >>> law(ucb_chain([F(1, 2), F(1, 3)], alpha=1.0), T=1)  # (pulls, wins) of each arm
    {((1, 0), (0, 0)): Fraction(1, 4), ((1, 1), (0, 0)): Fraction(1, 4), ...}
    """
    return deque(evolve(chain, T), maxlen=1).pop()[1]


def marginal(law: dict, f: Callable[[Any], Hashable]) -> dict:
    """The law of f(state): value -> probability."""
    out = defaultdict(int)
    for state, p in law.items():
        out[f(state)] += p
    return dict(out)


def mean(law: dict, f: Callable[[Any], Any]) -> Any:
    """The expectation of f(state).

    >>> mean({1: F(1, 4), 5: F(3, 4)}, lambda n: n)
    Fraction(4, 1)
    """
    return sum(p * f(state) for state, p in law.items())


def plays(chain: Chain, T: int, K: int) -> np.ndarray:
    """Expected plays of each ordered pair: [t-1, x, y] = E #{s <= t : (x_s, y_s) = (x, y)}."""
    rounds = [played for played, _ in evolve(chain, T)]
    exact = all(isinstance(p, Rational) for p in rounds[0].values())
    out = np.zeros((len(rounds), K, K), dtype=object if exact else float)
    for t, played in enumerate(rounds):
        for pair, p in played.items():
            out[(t, *pair)] = p
    return np.cumsum(out, axis=0)


# The machine: Algorithm 1


def counts(machine: tuple) -> tuple[int, ...]:
    """How often the machine has pulled each arm.

    >>> counts(((2, 1), (1, 0)))
    (2, 1)
    """
    return tuple(n for n, _ in machine)


def _fresh(K: int) -> tuple:
    return ((0, 0),) * K


def _fed(machine: tuple, x: int, b: int) -> tuple:
    n, s = machine[x]
    return (*machine[:x], (n + 1, s + b), *machine[x + 1 :])


def _advance(alpha: float, ties: str, one: Any) -> Callable[[tuple], list]:
    r"""The map machine -> [(probability, arm)] over the arms of largest index.

    .. math:: \hat\mu_x + \sqrt{(\alpha+2)\ln t / (2 n_x)}, \qquad +\infty \text{ if } n_x = 0.

    For rational alpha, ln t is transcendental (t >= 2), so two pulled arms tie exactly when
    their (n, s) agree: equality of floats is equality of indices.
    """

    @cache
    def advance(machine: tuple) -> list:
        c = (alpha + 2) * math.log(1 + sum(n for n, _ in machine)) / 2
        index = [s / n + math.sqrt(c / n) if n else math.inf for n, s in machine]
        top = max(index)
        best = [x for x, i in enumerate(index) if i == top]
        best = best[:1] if ties == "first" else best
        return [(one / len(best), x) for x in best]

    return advance


def _coin(p: Any) -> list:
    """[(probability, b)] of a coin with Pr[b = 1] = p, outcomes of probability 0 left out."""
    return [(q, b) for q, b in ((1 - p, 0), (p, 1)) if q]


# The chains


def ucb_chain(means: ArrayLike, alpha: float, ties: str = "random") -> Chain:
    """Algorithm 1 on Bernoulli(means) rewards; the state is the machine."""
    advance = _advance(alpha, ties, type(means[0])(1))

    def step(S):
        for p, x in advance(S):
            for q, b in _coin(means[x]):
                yield p * q, _fed(S, x, b), x

    return Chain(_fresh(len(means)), step)


def doubler_chain(P: ArrayLike, alpha: float, ties: str = "random") -> Chain:
    """Algorithm 2; the state is (list, machine), the list stored as the multiplicity of each arm.

    The first list is {0}. An epoch is twice as long as its list, so it needs no counter.
    """
    K, one = len(P), type(P[0][0])(1)
    advance = _advance(alpha, ties, one)

    def step(state):
        L, S = state
        for (x, c), (p, y) in product(enumerate(L), advance(S)):
            for q, b in _coin(P[x][y]) if c else ():
                S_ = _fed(S, y, b)
                n = tuple(n for n, _ in S_)
                over = sum(n) == 2 * sum(L)
                yield one * c / sum(L) * p * q, (n, _fresh(K)) if over else (L, S_), (x, y)

    return Chain(((1,) + (0,) * (K - 1), _fresh(K)), step)


def multisbm_chain(P: ArrayLike, alpha: float, ties: str = "random", y0: int = 0) -> Chain:
    """Algorithm 3; the state is (next left arm, one machine per left arm)."""
    K, advance = len(P), _advance(alpha, ties, type(P[0][0])(1))

    def step(state):
        x, S = state
        for p, y in advance(S[x]):
            for q, b in _coin(P[x][y]):
                yield p * q, (y, (*S[:x], _fed(S[x], y, b), *S[x + 1 :])), (x, y)

    return Chain((checks.arm("y0", y0, K), (_fresh(K),) * K), step)


def sparring_chain(P: ArrayLike, alpha: float, ties: str = "random") -> Chain:
    """Algorithm 4; the state is (left machine, right machine), whose ties break independently."""
    advance = _advance(alpha, ties, type(P[0][0])(1))

    def step(state):
        L, R = state
        for (p, x), (q, y) in product(advance(L), advance(R)):
            for r, b in _coin(P[x][y]):
                yield p * q * r, (_fed(L, x, 1 - b), _fed(R, y, b)), (x, y)

    return Chain((_fresh(len(P)),) * 2, step)


def champion_chain(
    P: ArrayLike, alpha: float, ties: str = "random", r: float = 1.0, x1: int = 0
) -> Chain:
    """Champion, x1 on the left at first; the state is (left arm, plays of the epoch, machines).

    After t rounds an epoch is over when t + 1 is a power of two.
    """
    K, advance = len(P), _advance(alpha, ties, type(P[0][0])(1))

    def step(state):
        x, n, S = state
        over = (sum(map(sum, map(counts, S))) + 2).bit_count() == 1
        for p, y in advance(S[x]):
            m = (*n[:y], n[y] + 1, *n[y + 1 :])
            next_ = (_successor(x, m, r), (0,) * K) if over else (x, m)
            for q, b in _coin(P[x][y]):
                yield p * q, (*next_, (*S[:x], _fed(S[x], y, b), *S[x + 1 :])), (x, y)

    return Chain((checks.arm("x1", x1, K), (0,) * K, (_fresh(K),) * K), step)


def _successor(x: int, n: tuple, r: float) -> int:
    """The left arm after an epoch with left arm x and n plays of each right arm."""
    return x if n[x] > r * max(n) else n.index(max(n))


# Expected plays


def doubler(P: ArrayLike, T: int, alpha: float, ties: str = "random") -> np.ndarray:
    """Expected plays of Doubler, as an array (T, K, K): see :func:`plays`."""
    return plays(doubler_chain(P, alpha, ties), T, len(P))


def multisbm(P: ArrayLike, T: int, alpha: float, ties: str = "random", y0: int = 0) -> np.ndarray:
    """Expected plays of MultiSBM, as an array (T, K, K): see :func:`plays`.

    >>> multisbm([[F(1, 2), F(1, 5)], [F(4, 5), F(1, 2)]], T=3, alpha=1.0)[-1].tolist()
    [[Fraction(3, 4), Fraction(1, 1)], [Fraction(3, 4), Fraction(1, 2)]]
    """
    return plays(multisbm_chain(P, alpha, ties, y0), T, len(P))


def sparring(P: ArrayLike, T: int, alpha: float, ties: str = "random") -> np.ndarray:
    """Expected plays of Sparring, as an array (T, K, K): see :func:`plays`."""
    return plays(sparring_chain(P, alpha, ties), T, len(P))


def champion(
    P: ArrayLike, T: int, alpha: float, ties: str = "random", r: float = 1.0, x1: int = 0
) -> np.ndarray:
    """Expected plays of Champion, as an array (T, K, K): see :func:`plays`.

    >>> champion([[F(1, 2), F(1, 5)], [F(4, 5), F(1, 2)]], T=3, alpha=1.0)[-1].tolist()
    [[Fraction(33, 40), Fraction(47, 40)], [Fraction(1, 2), Fraction(1, 2)]]
    """
    return plays(champion_chain(P, alpha, ties, r, x1), T, len(P))


def costs(mu: ArrayLike) -> np.ndarray:
    r"""The cost of each pair: :math:`\tfrac12(\Delta_x + \Delta_y)`, a K x K table."""
    mu = np.asarray(mu)
    Delta = mu.max() - mu
    return (Delta[:, None] + Delta[None, :]) / 2


def regret(plays: np.ndarray, costs: np.ndarray) -> np.ndarray:
    r"""The expected pseudo-regret after each round: :math:`\sum_{x,y}` plays * costs."""
    if plays.shape[1:] != costs.shape:
        raise ValueError(f"costs has shape {costs.shape}; it must be {plays.shape[1:]}, as plays.")
    return (plays * costs).sum(axis=(1, 2))


# The cardinal bandit by tables: for each vector of pulls, an array over the vectors of wins


def ucb_laws(means: ArrayLike, T: int, alpha: float, ties: str = "random") -> Iterator[dict]:
    """For t = 1..T, the joint law of the pull counts of UCB(alpha): counts -> probability.

    The same law as :func:`ucb_chain` gives, with the win counts vectorised: fast enough for
    two arms and T = 100.
    """
    K, one = len(means), type(means[0])(1)
    tables = {(0,) * K: np.full((1,) * K, one)}
    for _ in range(T):
        tables = _pull(tables, means, alpha, ties, one)
        yield {n: p.sum() for n, p in tables.items()}


def ucb(means: ArrayLike, T: int, alpha: float, ties: str = "random") -> dict:
    """The joint law of the pull counts of UCB(alpha) after T rounds: counts -> probability.

    >>> ucb([F(1, 2), F(1, 3)], T=3, alpha=1.0)
    {(2, 1): Fraction(7, 12), (1, 2): Fraction(5, 12)}
    """
    return deque(ucb_laws(means, T, alpha, ties), maxlen=1).pop()


def pulls(law: dict, x: int) -> np.ndarray:
    """The law of arm x's pull count: an array whose entry n is Pr[N_x = n], n = 0..T."""
    state = next(iter(law))
    chance = marginal(law, itemgetter(checks.arm("x", x, len(state))))
    return np.array([chance.get(n, 0) for n in range(1 + sum(state))])


def ucb_regret(law: dict, means: ArrayLike) -> Any:
    r"""The expected regret :math:`\sum_x \Delta_x\,\mathbb E N_x` of a law of pull counts."""
    return mean(law, lambda n: sum(k * (max(means) - m) for k, m in zip(n, means, strict=True)))


def _pull(tables: dict, mu: list, alpha: float, ties: str, one: Any) -> dict:
    after = {}
    for n, p in tables.items():
        for x, share in enumerate(_shares(n, alpha, ties, one)):
            q = np.moveaxis(p * share, x, 0)
            if q.any():
                m = (*n[:x], n[x] + 1, *n[x + 1 :])
                table = after.setdefault(m, np.zeros([k + 1 for k in m], dtype=p.dtype))
                table = np.moveaxis(table, x, 0)
                table[:-1] += (1 - mu[x]) * q
                table[1:] += mu[x] * q
    return after


def _shares(n: tuple, alpha: float, ties: str, one: Any) -> np.ndarray:
    """For each arm, the probability that it is pulled, as a table over the win counts."""
    c = (alpha + 2) * math.log(1 + sum(n)) / 2
    s = np.indices([k + 1 for k in n])
    index = [w / k + math.sqrt(c / k) if k else w + math.inf for w, k in zip(s, n, strict=True)]
    best = np.array(index) == np.max(index, axis=0)
    if ties == "first":
        best &= np.cumsum(best, axis=0) == 1
    return best * one / best.sum(axis=0)


# What is allowed


def _exact(check: Callable, name: str, value: Any) -> list:
    """The checked table or list with Fractions if all its numbers are rational, else floats."""
    check(name, value)
    entries = np.array(value, dtype=object)
    kind = Fraction if all(isinstance(v, Rational) for v in entries.flat) else float
    return np.vectorize(kind, otypes=[object])(entries).tolist()


def _array(check: Callable, name: str, value: Any) -> np.ndarray:
    """The checked value as an array whose numbers stay what they are."""
    check(name, value)
    return np.asarray(value)


checks.guard(
    globals(),
    alpha=checks.alpha,
    chain=partial(checks.instance, Chain, "a Chain"),
    costs=partial(_array, partial(checks.numbers, ndim=2)),
    f=partial(checks.instance, Callable, "a function of a state"),
    K=("arms", 2, 1000),
    law=partial(checks.instance, dict, "a law, state -> probability"),
    machine=partial(checks.instance, tuple, "a machine, a tuple of pairs (n, s)"),
    means=partial(_exact, checks.utilities),
    mu=partial(_array, checks.utilities),
    P=partial(_exact, checks.preferences),
    plays=partial(_array, partial(checks.numbers, ndim=3)),
    r=checks.share,
    T=("rounds", 1, 1e9),
    ties=partial(checks.one_of, allowed=("random", "first")),
    x=partial(checks.whole, least=0),
    x1=partial(checks.whole, least=0),
    y0=partial(checks.whole, least=0),
)
