r"""What a preference table satisfies: the hypotheses of the theorems beyond the linear link.

P[x, y] = Pr[the right arm y is chosen against the left arm x], and :math:`\Delta(x,y)` =
Pr[x beats y] - 1/2, with x on the right: :math:`P_{yx}-\frac12`. Who beats whom is asked of
:func:`fair`, and is the same wherever :math:`P+P^\top=1`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine import checks

NOISE = 1e-12
"""Differences of table entries below this count as zero."""


def fair(P: ArrayLike) -> np.ndarray:
    """The chance that y is chosen against x when a coin says who is left: (P + 1 - P^T) / 2."""
    return (P + 1 - P.T) / 2


def condorcet(P: ArrayLike) -> int | None:
    r"""The Condorcet winner x*, the arm that no other beats; None where there is none.

    .. math:: D_y:=\tfrac12(P_{y,x^*}+1-P_{x^*,y})-\tfrac12\ge0\quad\text{for all }y

    A draw is no defeat, so that :math:`D_y=0` may hold for an arm besides x*: it costs nothing.
    Where several arms have no superior, x* is the one that wins most, the first of them. The
    theorems that divide by :math:`D_y` need more, D > 0 for every arm that costs, and say so.

    >>> condorcet([[0.5, 0.2], [0.8, 0.5]])
    0
    """
    even = fair(P)
    unbeaten = np.flatnonzero((even >= 0.5 - NOISE).all(axis=0))
    if len(unbeaten) == 0:
        return None
    return int(unbeaten[np.argmax(even[:, unbeaten].sum(axis=0))])


def copeland(P: ArrayLike) -> np.ndarray:
    """The Copeland score of each arm: the share of the other arms that it beats, a draw half.

    >>> copeland([[0.5, 0.2], [0.8, 0.5]]).tolist()
    [1.0, 0.0]
    """
    return (_beaten(P) - 0.5) / (len(P) - 1)


def borda(P: ArrayLike) -> np.ndarray:
    """The Borda score of each arm: the chance that it beats another arm chosen at random.

    >>> borda([[0.5, 0.25], [0.75, 0.5]]).tolist()
    [0.75, 0.25]
    """
    return (fair(P).sum(axis=0) - 0.5) / (len(P) - 1)


def gap_matrix(P: ArrayLike, star: int | None = None) -> np.ndarray:
    r"""G[x, y], the gap of arm y inside machine :math:`S_x`: that of Pr[y beats x, which is left].

    .. math:: G_{xy}=P_{x,x^*}-P_{xy}

    Where sides do not matter, :math:`P+P^\top=1`, this is :math:`D_x+\Delta(x,y)`.
    `star` is x*, the Condorcet winner unless given. Negative entries are machines that prefer y.

    >>> gap_matrix([[0.5, 0.2], [0.8, 0.5]]).tolist()
    [[0.0, 0.3], [0.0, 0.30000000000000004]]
    """
    G = P[:, [_star(P, star)]] - P
    return np.where(np.abs(G) > NOISE, G, 0.0)


def gamma_extended(P: ArrayLike, star: int | None = None) -> float:
    r"""The least gamma of the extended triangle inequality, inf where none will do.

    .. math:: G_{x^*y}\le\gamma\,G_{xy}\quad\text{for all }x,\ y\ne x^*

    Where sides do not matter, this reads :math:`D_y\le\gamma\,[D_x+\Delta(x,y)]`.
    """
    star = _star(P, star)
    G = np.delete(gap_matrix(P, star), star, axis=1)
    D = np.delete(gap_matrix(P, star)[star], star)
    return float(np.max(D / G)) if np.all(G > 0) else math.inf


def gamma_transitivity(P: ArrayLike, order: Sequence[int] | None = None) -> float:
    r"""The least gamma >= 1 of relaxed stochastic transitivity, inf where none will do.

    .. math:: \gamma\,\Delta(x^*,y)\ge\max\{\Delta(x^*,x),\Delta(x,y)\}\quad
        \text{for }x^*\succ x\succ y

    `order` lists the arms from best to worst, by number of arms beaten unless given.
    """
    D, worst = P.T - 0.5, 1.0
    for star, x, y in _triples(P, order):
        need = max(D[star, x], D[x, y])
        if need > NOISE:
            worst = max(worst, need / D[star, y] if D[star, y] > NOISE else math.inf)
    return float(worst)


def triangle_violations(P: ArrayLike, order: Sequence[int] | None = None) -> list[tuple[int, int]]:
    r"""The pairs (x, y) at which the stochastic triangle inequality fails.

    .. math:: \Delta(x^*,y)>\Delta(x^*,x)+\Delta(x,y),\qquad x^*\succ x\succ y
    """
    D, triples = P.T - 0.5, _triples(P, order)
    return [(x, y) for s, x, y in triples if D[s, y] > D[s, x] + D[x, y] + NOISE]


def gamma_natural(low: float, high: float) -> float:
    r"""The best gamma of the natural link for utilities in [low, high].

    .. math:: \frac{(1+\gamma_0)^2}{4\gamma_0},\qquad\gamma_0=\text{high}/\text{low}
    """
    if not 1e-9 <= low <= high:
        checks.refuse("low", low, f"at least 1e-09 under the natural link, at most high = {high}")
    return (1 + high / low) ** 2 / (4 * high / low)


def gamma_logit(low: float, high: float) -> float:
    r"""The best gamma of the logit link for utilities in [low, high].

    .. math:: \cosh^2(w/2),\qquad w=\text{high}-\text{low}
    """
    if low > high:
        checks.refuse("low", low, f"at most high = {high}")
    return math.cosh((high - low) / 2) ** 2


def best_arms(P: ArrayLike) -> list[tuple[int, ...]]:
    """For each x, the arms that machine S_x would play if it knew P: those that beat x most."""
    return [tuple(int(y) for y in np.flatnonzero(row > row.max() - NOISE)) for row in P]


def card(P: ArrayLike) -> dict[str, Any]:
    """What a table satisfies: the hypotheses of the theorems, one entry each."""
    star = condorcet(P)
    undecided = np.argwhere(np.triu(np.abs(P - 0.5) <= NOISE, 1))
    return {
        "K": len(P),
        "antisymmetry defect": float(np.abs(P + P.T - 1).max()),
        "undecided pairs": [(int(x), int(y)) for x, y in undecided],
        "Condorcet winner": star,
        "order": _order(P),
        "gamma, transitivity": gamma_transitivity(P),
        "triangle violations": triangle_violations(P),
        "gamma, extended": math.inf if star is None else gamma_extended(P, star),
        "best arms": best_arms(P),
    }


def _order(P) -> list[int]:
    """The arms by the number of arms they beat, a draw counting half; ties by index."""
    return [int(x) for x in np.argsort(-_beaten(P), kind="stable")]


def _beaten(P) -> np.ndarray:
    """How many arms each arm beats, a draw half; so it has half an arm of itself."""
    D = fair(P).T - 0.5
    return np.where(D > NOISE, 1.0, np.where(D < -NOISE, 0.0, 0.5)).sum(axis=1)


def _triples(P, order) -> list[tuple[int, int, int]]:
    if order is not None and sorted(order) != list(range(len(P))):
        checks.refuse("order", order, f"each of the {len(P)} arms once")
    star, *rest = _order(P) if order is None else map(int, order)
    return [(star, x, y) for i, x in enumerate(rest) for y in rest[i + 1 :]]


def _star(P: np.ndarray, star: int | None) -> int:
    star = condorcet(P) if star is None else star
    if star is None:
        raise ValueError("P has no Condorcet winner; it must have one, or star must be given.")
    return checks.arm("star", star, len(P))


checks.guard(
    globals(),
    P=partial(checks.preferences, antisymmetric=False),
    star=partial(checks.whole, least=0),
    order=lambda name, value: checks.numbers(name, value, 1),
    low=("a utility", 0, 1),
    high=("a utility", 0, 1),
)
