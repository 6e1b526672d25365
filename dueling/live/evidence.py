r"""What votes prove at every moment, however often one looks: test martingales of Ville's kind.

A vote between i and j is worth X = 1 to i if i wins, 0 if j wins and 1/2 in a tie. Of n votes i has
won s, the sum of the X. Given all votes before it, each has the mean p.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, xlogy

from ..engine import checks
from ..later.machines import kl_upper


def log_evidence(wins: ArrayLike, duels: ArrayLike) -> np.ndarray:
    r"""The logarithm of the evidence that i beats j, after s wins in n duels.

    .. math:: E = 2\int_{1/2}^1 (2q)^s\,(2(1-q))^{n-s}\,dq

    Where :math:`p\le\tfrac12`, E is a supermartingale that starts at 1: it ever reaches 1/delta
    with probability at most delta.

    >>> np.exp(log_evidence([0, 3, 9], [0, 4, 10])).round(2)
    array([ 1.  ,  1.3 , 18.51])
    """
    s, n = _votes(wins, duels)
    with np.errstate(divide="ignore"):  # the logarithm of what is too small for a float: -infinity
        upper = np.log(betainc(n - s + 1, s + 1, 0.5))
    return (n + 1) * np.log(2) + betaln(s + 1, n - s + 1) + upper


def interval(wins: float, duels: float, delta: float = 0.05) -> tuple[float, float]:
    r"""An interval that holds p at all times together, with probability at least 1 - delta.

    .. math:: \Big\{p : \int_0^1\frac{q^s(1-q)^{n-s}}{p^s(1-p)^{n-s}}\,dq<\frac1\delta\Big\}

    >>> [round(end, 3) for end in interval(30, 40)]
    [0.512, 0.914]
    """
    one = (checks.numbers(name, v, 0) for name, v in (("wins", wins), ("duels", duels)))
    s, n = map(float, _votes(*one))
    delta = checks.real("delta", delta, "a number in (0, 1)", lambda d: 0 < d < 1)
    if n == 0:
        return 0.0, 1.0
    mean = s / n
    spent = betaln(s + 1, n - s + 1) - xlogy(s, mean) - xlogy(n - s, 1 - mean)
    budget = (-np.log(delta) - spent) / n
    return float(1 - kl_upper(1 - mean, budget)), float(kl_upper(mean, budget))


def _votes(wins: ArrayLike, duels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    s, n = checks.numbers("wins", wins), checks.numbers("duels", duels)
    if s.shape != n.shape or (s < 0).any() or (s > n).any():
        checks.refuse(
            "wins", wins, f"as many numbers as duels, {checks.shown(duels)}, from 0 to these"
        )
    return s, n
