r"""Regret from the sums inside the proofs, with nothing fitted and nothing drawn.

A UCB machine keeps the indices of its arms level. Without the noise in the means, arm y with gap
:math:`g_y` has after n rounds

.. math:: N_y(n)=\frac{(\alpha+2)\ln n}{2(g_y+c)^2},\qquad c>0\text{ such that }\sum_yN_y(n)=n.

The proofs of Theorems D and M say how the reductions put machines together; with these counts in
place of bounds on them their sums predict the regret. Here P[x, y] = Pr[the right arm y wins], a
duel (x, y) costs :math:`(w_x+w_y)/2`, and x* is the arm with w = 0.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..engine import checks

ONE = 1 + 1e-9  # sums of probabilities are rounded


def pulls(g: ArrayLike, n: ArrayLike, alpha: float) -> np.ndarray:
    """N_y(n) for gaps ``g[..., y]`` and n rounds; n/K each while n <= K."""
    g, n = np.atleast_1d(g), np.asarray(n)[..., None]
    if g.min(axis=-1).any():
        checks.refuse("g", g, "the gaps of all arms, the least of them 0")
    level = (alpha + 2) * np.log(np.maximum(n, 2)) / 2
    c = np.sqrt(level / n)  # the arms of gap 0 alone; Newton's method rises from here
    for _ in range(20):
        counts = level / (g + c) ** 2
        c = c + (counts.sum(axis=-1, keepdims=True) - n) / (2 * counts / (g + c)).sum(
            axis=-1, keepdims=True
        )
    counts = level / (g + c) ** 2
    even = np.where(n > g.shape[-1], counts, 1.0)
    return n * even / even.sum(axis=-1, keepdims=True)


def gaps(chances: ArrayLike) -> np.ndarray:
    """g[..., y], how much less often y wins than the arm that wins most, in each row."""
    chances = np.atleast_1d(chances)
    return chances.max(axis=-1, keepdims=True) - chances


def doubler(P: ArrayLike, w: ArrayLike, T: int, alpha: float) -> float:
    """The sum of Theorem D: in each epoch the left arms are the right arms of the last one."""
    w = _costs(P, w)
    left, total, length = np.full(len(w), 1 / len(w)), 0.0, 2
    while T > 0:
        n = min(length, T)
        right = pulls(gaps(left @ P), n, alpha)
        total += (n * left + right) @ w / 2
        left, length, T = right / n, 2 * length, T - n
    return float(total)


def visits(P: ArrayLike, T: float, alpha: float) -> np.ndarray:
    """n_x of MultiSBM: x is visited as often as the machines, run for n_z rounds, pull it."""
    inside, n = gaps(P), np.full(len(P), T / len(P))
    for _ in range(500):
        n, last = pulls(inside, n, alpha).sum(axis=0), n
        if np.allclose(n, last, rtol=1e-9, atol=0):
            break
    return n


def multisbm(P: ArrayLike, w: ArrayLike, T: float, alpha: float) -> float:
    """The sum of Theorem M: every visit to x costs w_x (Observation C.1)."""
    return float(visits(P, T, alpha) @ _costs(P, w))


def sparring(P: ArrayLike, w: ArrayLike, T: float, alpha: float) -> float:
    """The conjecture: two machines, each as if its opponent always played x*.

    >>> arith = scenario("arith/linear")
    >>> round(sparring(arith.P, arith.gaps, 32000, alpha=3.0))
    1192
    """
    w = _costs(P, w)
    return float(pulls(gaps(P[np.argmin(w)]), T, alpha) @ w)


def _costs(P: np.ndarray, w: np.ndarray) -> np.ndarray:
    if np.shape(w) != (len(P),):
        checks.refuse("w", w, f"a list of {len(P)} costs, one for each arm of P")
    return w


checks.guard(
    globals(),
    alpha=checks.alpha,
    chances=("a probability", 0, ONE),
    g=("a gap", 0, ONE),
    n=("a number of rounds", 1e-9, 1e100),
    P=partial(checks.preferences, antisymmetric=False),
    T=("a number of rounds", 1, 1e100),
    w=("a cost", 0, 1e9),
)
