r"""Right-hand sides of the paper's statements, corrected, and as printed where they differ.

Throughout :math:`\Delta_x=\max\mu-\mu_x`, :math:`H=\sum_{x:\Delta_x>0}1/\Delta_x`, regret is
:math:`\sum_t\frac12(\Delta_{x_t}+\Delta_{y_t})`, :math:`\beta=\alpha+2`, and a machine is
UCB(alpha) with its own clock. Sums over arms are over the suboptimal ones; `M` arms are optimal.
Lemma A, Lemma B, Theorem D, Theorem M and Theorem D.1 are the corrected statements; a name that
ends in ``_printed`` is the paper's own formula, which need not be true.

Where a statement says nothing, a bound on a probability is 1 and a bound on an excess is inf.
A bound minimised over eps is valid for each eps, hence for any grid of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from ..engine import checks

EPS = np.arange(1, 200) / 200
"""The grid of eps over which the sharp bounds are minimised."""

LEAST = 1e-9
"""The least positive gap, alpha and eps: what is smaller is a rounding error, or overflows."""


# UCB: Lemma A, pull counts of an arm with gap g


def pulls_sharp(g: ArrayLike, n: ArrayLike, alpha: float, eps: ArrayLike = EPS) -> Any:
    r"""Lemma A2, minimised over eps: a bound :math:`A(g,n)` on :math:`\mathbb E N_i(n)`.

    .. math:: A(g,n)=\min\Big\{n,\ \nu+\frac1\alpha\nu^{-\alpha}
        +\frac{e^{-2\nu\varepsilon^2g^2}}{1-e^{-2\varepsilon^2g^2}}\Big\},\qquad
        \nu=\Big\lceil\frac{\beta\ln n}{2(1-\varepsilon)^2g^2}\Big\rceil.

    >>> round(float(pulls_sharp(0.3, 32000, alpha=3.0)))
    441
    """
    g, n = (np.asarray(a)[..., None] for a in (g, n))
    eps = np.atleast_1d(eps)
    nu = _nu(g, n, alpha, eps)
    return np.minimum(n[..., 0], (nu + _excess(nu, eps, g, alpha)).min(axis=-1))[()]


def _pulls_A3(g, n, alpha: float) -> Any:
    return 2 * (alpha + 2) * np.log(n) / g**2 + 1 + 2 / alpha


def _nu(g, n, alpha: float, eps) -> np.ndarray:
    return np.maximum(1, np.ceil((alpha + 2) * np.log(n) / (2 * ((1 - eps) * g) ** 2)))


def _excess(nu, eps, g, alpha: float) -> np.ndarray:
    rate = 2 * (eps * g) ** 2
    return nu**-alpha / alpha + np.exp(-nu * rate) / -np.expm1(-rate)


# UCB: Lemma B, the tail of a pull count


def tail_B2(s: ArrayLike, g: float, T: float, alpha: float) -> Any:
    r"""Lemma B2: a bound on :math:`\Pr[N_i(T)\ge s]`, with no threshold.

    .. math:: \frac1\alpha(s-1)^{-\alpha}+\exp\Big(-\big[\sqrt{2(s-1)}\,g-\sqrt{\beta\ln T}\big]_+^2
        \Big), \qquad s\ge2; \text{ else } 1.
    """
    n = np.ceil(s) - 1
    m = np.maximum(n, 1)
    lead = np.maximum(np.sqrt(2 * m) * g - np.sqrt((alpha + 2) * np.log(T)), 0)
    return np.where(n >= 1, m**-alpha / alpha + np.exp(-(lead**2)), 1.0)[()]


# UCB: regret of one cardinal bandit with means mu


def ucb_sharp(mu: ArrayLike, T: float, alpha: float, eps: ArrayLike = EPS) -> float:
    r"""Lemma A2 summed: regret of UCB, :math:`\min(T\Delta_{\max},\sum_y\Delta_yA(\Delta_y,T))`."""
    return _machine(_suboptimal(mu), T, alpha, eps)


def _machine(g: np.ndarray, n: float, alpha: float, eps) -> float:
    """Regret of one machine with gaps g after n rounds, never above n times the largest gap."""
    if n == 0 or len(g) == 0:
        return 0.0
    return float(min(n * g.max(), np.sum(g * pulls_sharp(g, n, alpha, eps))))


# Doubler: Theorem D


def epochs(T: int) -> tuple[int, int]:
    """(k, Z) with T = 2 + 4 + ... + 2^k + Z and 0 <= Z < 2^(k+1): k full epochs and a rest."""
    k = (T + 2).bit_length() - 2
    return k, T + 2 - 2 ** (k + 1)


def doubler(B: Callable[[int], float], T: int, first: float = 1.0) -> float:
    r"""Theorem D: regret of Doubler, if `B(n)` bounds the regret of a fresh machine.

    .. math:: \Delta_{x_1}+3\sum_{i=1}^{k-1}B(2^i)+\Big(1+\frac Z{2^k}\Big)B(2^k)+B(Z)

    `B(0) = 0`, and `B` is valid for the gaps :math:`\Delta_y/2` that the machine sees, whatever the
    left player; `first` is :math:`\Delta_{x_1}`, the gap of the first list, at most 1.
    """
    k, Z = epochs(T)
    full = 3 * sum(B(2**i) for i in range(1, k))
    return first + full + (1 + Z / 2**k) * B(2**k) + B(Z)


def doubler_power(c: float, a: float, T: int, first: float = 1.0) -> float:
    r"""Theorem D(b): regret of Doubler if :math:`B(n)=cn^a`, 0 < a <= 1.

    .. math:: \Delta_{x_1}+c\Big[\frac3{2^a-1}(T+2)^a+T^a\Big]
    """
    checks.real("a", a, f"a power in [{LEAST:g}, 1]", lambda a: LEAST <= a <= 1)
    return first + c * (3 / (2**a - 1) * (T + 2) ** a + T**a)


def doubler_machine_sharp(
    mu: ArrayLike, alpha: float, eps: ArrayLike = EPS
) -> Callable[[int], float]:
    r"""Lemma A2 inside an epoch: the function B of one UCB machine.

    .. math:: B(n)=\min\Big(\frac n2\Delta_{\max},\
        \sum_y\frac{\Delta_y}2A\big(\tfrac{\Delta_y}2,n\big)\Big)
    """
    g = _suboptimal(mu) / 2
    return lambda n: _machine(g, n, alpha, eps)


def doubler_ucb_sharp(
    mu: ArrayLike, T: int, alpha: float, x1: int | None = None, eps: ArrayLike = EPS
) -> float:
    """Theorem D with Lemma A2: regret of Doubler with UCB machines, first list {x1}.

    >>> round(doubler_ucb_sharp([0.8, 0.5], 32000, alpha=3.0))
    3129
    """
    return doubler(doubler_machine_sharp(mu, alpha, eps), T, _first(mu.max() - mu, x1))


def doubler_ucb_closed(mu: ArrayLike, T: int, alpha: float) -> float:
    r"""The corrected Corollary 3.3: regret of Doubler with UCB machines, in closed form.

    .. math:: 1+6\ln2\,\beta H\,k(k+1)+\frac{3k}2\Big(1+\frac2\alpha\Big)\sum_y\Delta_y+B(Z),\qquad
        B(n)=4\beta H\ln n+\frac12\Big(1+\frac2\alpha\Big)\sum_y\Delta_y
    """
    (k, Z), Delta = epochs(T), _suboptimal(mu)
    lead, rest = 4 * (alpha + 2) * np.sum(1 / Delta), (1 + 2 / alpha) * Delta.sum() / 2
    last = lead * math.log(Z) + rest if Z else 0.0
    return float(1 + 3 * (lead * math.log(2) * k * (k + 1) / 2 + k * rest) + last)


def doubler_log_printed(c: float, a: float, T: int) -> float:
    r"""Theorem 3.1 as printed: :math:`2c\frac a{a+1}\log_2^{a+1}T` if :math:`B(n)=c\log_2^an`.

    False for a < 3/2: the leading constant is :math:`3c/(a+1)`.
    """
    return 2 * c * a / (a + 1) * math.log2(T) ** (a + 1)


# MultiSBM: Theorem M, linear link


def multisbm(mu: ArrayLike, T: float, alpha: float, x1: int | None = None) -> float:
    r"""Theorem M: regret of MultiSBM with UCB machines, K arms of which M are optimal.

    .. math:: &\tfrac12\Delta_{x_1}+8\beta H\Big(M\ln T+\sum_x\ln m_x\Big)
        +K\Big(1+\frac2\alpha\Big)\sum_y\Delta_y+\frac{2K}\alpha\sum_x\nu_x^{-\alpha},\\
        &\nu_x=\Big\lceil\frac{8\beta\ln T}{\Delta_x^2}\Big\rceil,\quad m_x=1+K\nu_x.

    >>> round(multisbm([0.8, 0.5], 32000, alpha=3.0))
    2602
    """
    K, Delta = len(mu), _suboptimal(mu)
    M, beta = K - len(Delta), alpha + 2
    nu = np.ceil(8 * beta * math.log(T) / Delta**2)
    lead = 8 * beta * np.sum(1 / Delta) * (M * math.log(T) + np.log(1 + K * nu).sum())
    rest = K * (1 + 2 / alpha) * Delta.sum() + 2 * K / alpha * np.sum(nu**-alpha)
    return float(_first(mu.max() - mu, x1) / 2 + lead + rest)


def multisbm_sharp(
    mu: ArrayLike, T: float, alpha: float, x1: int | None = None, eps: ArrayLike = EPS
) -> float:
    r"""Theorem M, sharp form: :func:`multisbm_gaps_sharp` with gaps :math:`\Delta_y/2`.

    .. math:: &\tfrac12\Delta_{x_1}+M\sum_y\Delta_yA(\tfrac{\Delta_y}2,T)+\sum_x\Big[
        \min\big(\Delta_{\max}m_x,\sum_y\Delta_yA(\tfrac{\Delta_y}2,m_x)\big)
        +\Delta_{\max}K\,e(\tfrac{\Delta_x}2,\nu_x)\Big],\\
        &m_x=\min(T,1+K\nu_x).
    """
    Delta = mu.max() - mu
    return multisbm_gaps_sharp(np.tile(Delta / 2, (len(mu), 1)), Delta, T, alpha, x1, eps)


# MultiSBM: Theorem D.1, any preference table


def multisbm_gamma(
    D: ArrayLike, w: ArrayLike, gamma: float, T: float, alpha: float, x1: int | None = None
) -> float:
    r"""Theorem D.1: regret of MultiSBM under the extended triangle inequality with gamma.

    .. math:: &\tfrac12w_{x_1}+2\beta\sum_y\frac{w_y}{D_y^2}\Big[\ln T
        +\gamma^2\Big((M-1)\ln T+\sum_x\ln m_x\Big)\Big]\\
        &\quad+K\Big(1+\frac2\alpha\Big)\sum_yw_y
        +w_{\max}\frac{2K}\alpha\sum_x\nu_x^{-\alpha},\\
        &\nu_x=\Big\lceil\frac{2\beta\gamma^2\ln T}{D_x^2}\Big\rceil,\quad m_x=1+K\nu_x.

    `D[y]` is Pr[x* beats y] - 1/2 and a round costs :math:`\frac12(w_{x_t}+w_{y_t})`. Sums are over
    the arms that cost; `M` arms cost nothing, and the machine of each may run for all T rounds.
    """
    cost = _costly("D", D, w, 1)
    is_star = np.arange(len(D))[:, None] == D.argmin()
    nu = np.ceil(2 * (alpha + 2) * gamma**2 * math.log(T) / D[cost] ** 2)
    G = np.where(is_star, D, D / gamma)
    return _multisbm_A3(G, w, T, alpha, x1, np.tile(nu, (len(D), 1)))


def multisbm_gaps(
    G: ArrayLike, w: ArrayLike, T: float, alpha: float, x1: int | None = None
) -> float:
    r"""Theorem D.1 from the gap matrix: regret of MultiSBM; needs no gamma.

    .. math:: &\tfrac12w_{x_1}+\sum_{x:w_x=0}\sum_yw_yA_3(G_{xy},T)+\sum_{x:w_x>0}\Big[\sum_yw_y
        A_3(G_{xy},m_x)+w_{\max}\frac2\alpha\sum_z\nu_{zx}^{-\alpha}\Big],\\
        &\nu_{zx}=\Big\lceil\frac{2\beta\ln T}{G_{zx}^2}\Big\rceil,\quad m_x=1+\sum_z\nu_{zx}.

    `G[x, y]` is the gap of arm y inside machine :math:`S_x` (:func:`gap_matrix`), positive
    wherever :math:`w_y>0`; Lemma A3's bound is :math:`A_3(g,n)=2\beta\ln n/g^2+1+2/\alpha`.
    """
    cost = _costly("G", G, w, 2)
    nu = np.ceil(2 * (alpha + 2) * math.log(T) / G[:, cost] ** 2)
    return _multisbm_A3(G, w, T, alpha, x1, nu)


def multisbm_gaps_sharp(
    G: ArrayLike, w: ArrayLike, T: float, alpha: float, x1: int | None = None, eps: ArrayLike = EPS
) -> float:
    r"""Theorem D.1 from the gap matrix with Lemma A2: regret of MultiSBM, minimised over eps.

    .. math:: \tfrac12w_{x_1}+\sum_{x:w_x=0}\sum_yw_yA(G_{xy},T)+\sum_{x:w_x>0}\Big[
        \min\big(w_{\max}m_x,\sum_yw_yA(G_{xy},m_x)\big)+w_{\max}\sum_ze(G_{zx},\nu_{zx})\Big]

    with :math:`A`, and :math:`\nu_{zx}` for :math:`g=G_{zx}` and n = T, of :func:`pulls_sharp`,
    where :math:`e` is what follows :math:`\nu`; :math:`m_x=\min(T,1+\sum_z\nu_{zx})`, one eps for
    each x; and the first double sum is capped like the second, with :math:`m_x=T`.
    """
    cost = _costly("G", G, w, 2)
    eps, total = np.atleast_1d(eps), _first(w, x1) / 2
    for x, g in enumerate(G[:, cost] if cost.any() else ()):
        m, late = np.array([T], dtype=float), 0.0
        if w[x]:
            nu = _nu(G[:, [x]], T, alpha, eps)
            m = np.minimum(T, 1 + nu.sum(axis=0))
            late = w.max() * _excess(nu, eps, G[:, [x]], alpha).sum(axis=0)
        right = w[cost] @ pulls_sharp(g[:, None], m, alpha, eps)
        total += np.min(np.minimum(w.max() * m, right) + late)
    return float(total)


def _multisbm_A3(G, w, T: float, alpha: float, x1: int | None, nu: np.ndarray) -> float:
    """The closed form of Theorem D.1 for thresholds nu[z, x], x over the arms that cost."""
    cost = w > 0
    m = np.full(len(w), float(T))
    m[cost] = 1 + nu.sum(axis=0)
    right = np.sum(w[cost] * _pulls_A3(G[:, cost], m[:, None], alpha))
    late = w.max() * 2 / alpha * np.sum(nu**-alpha)
    return float(_first(w, x1) / 2 + right + late)


# Leading constants


def multisbm_leading(mu: ArrayLike, alpha: float) -> float:
    r"""MultiSBM: :math:`\limsup R/\ln T\le2\beta MH` (sharp); Theorem M has four times that."""
    Delta = _suboptimal(mu)
    return 2 * (alpha + 2) * float(np.sum(1 / Delta)) * (len(mu) - len(Delta))


def doubler_log_leading(c: float, a: float) -> float:
    r"""Theorem D(a): :math:`\frac{3c}{a+1}`, of :math:`\log_2^{a+1}T` if :math:`B=c\log_2^an`.

    It cannot be improved; with natural logarithms in both places divide by ln 2.
    """
    return 3 * c / (a + 1)


def doubler_log_leading_printed(c: float, a: float) -> float:
    r"""Theorem 3.1 as printed: :math:`\frac{2ca}{a+1}`, too small for a < 3/2."""
    return 2 * c * a / (a + 1)


def lower_leading(mu: ArrayLike, line: str = "c") -> float:
    r"""Any consistent algorithm, max mu < 1: a bound from below on :math:`\liminf R/\ln T`.

    .. math:: \text{(a)}\ \frac12\sum_y\frac{\Delta_y}{\mathrm{kl}(\mu_y,\max\mu)},\qquad
        \text{(c)}\ \sum_y\frac{\Delta_y/2}{\max_{z\ne y}
        \mathrm{kl}(\frac{1+\mu_y-\mu_z}2,\frac{1+\max\mu-\mu_z}2)}

    and (b) is twice (a). Line (a) holds for Bernoulli utilities and every link, (b) and (c) for the
    linear link and all utilities; (a) <= (b) <= (c).

    >>> [round(lower_leading([0.8, 0.5, 0.5], line), 2) for line in "abc"]
    [1.34, 2.69, 6.36]
    """
    Delta, low = mu.max() - mu, mu < mu.max()
    if line == "c":
        told = _kl((1 + mu[:, None] - mu) / 2, (1 + mu.max() - mu) / 2)
        np.fill_diagonal(told, 0)
        return float(np.sum(Delta[low] / 2 / told.max(axis=1)[low]))
    return float(np.sum(Delta[low] / _kl(mu[low], mu.max()))) / (2 if line == "a" else 1)


def _kl(p, q) -> np.ndarray:
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def _suboptimal(mu: np.ndarray) -> np.ndarray:
    """The gaps that are not 0."""
    Delta = mu.max() - mu
    return Delta[Delta > 0]


def _first(cost: np.ndarray, x1: int | None) -> float:
    """The cost of the first left arm, the largest if it is not given."""
    return float(cost.max() if x1 is None else cost[checks.arm("x1", x1, len(cost))])


def _costly(name: str, gaps: np.ndarray, w: np.ndarray, ndim: int) -> np.ndarray:
    """Which arms cost; refused where the gap of one of them is not positive."""
    K = np.size(w)
    if np.shape(w) != (K,) or K < 2 or w.min() != 0:
        checks.refuse("w", w, "the costs of K >= 2 arms, the least of them 0")
    if np.shape(gaps) != (K,) * ndim:
        raise ValueError(f"{name} has shape {np.shape(gaps)}; it must be {(K,) * ndim}, as w is.")
    checks.each(name, gaps, (gaps >= LEAST) | (w == 0), f"at least {LEAST:g} for an arm that costs")
    return w > 0


# What is allowed


def _means(name: str, value: Any) -> np.ndarray:
    mu = checks.utilities(name, value)
    gaps = mu.max() - mu
    checks.each(
        name, mu, (gaps == 0) | (gaps >= 2 * LEAST), f"the largest, or {2 * LEAST:g} below it"
    )
    return mu


checks.guard(
    globals(),
    a=("a power", 0, 10),
    alpha=("a number", LEAST, 1e9),
    B=partial(checks.instance, Callable, "a function of a number of rounds"),
    c=("a factor", 0, 1e9),
    D=("a gap", 0, 1),
    eps=("a number", LEAST, 1 - LEAST),
    first=("a gap", 0, 1),
    G=("a gap", -1, 1),
    g=("a gap", LEAST, 1),
    gamma=("a number", 1, 1e9),
    line=partial(checks.one_of, allowed=("a", "b", "c")),
    mu=_means,
    n=("a number of rounds", 1, 1e300),
    s=("a number of pulls", 0, 1e300),
    T=("a number of rounds", 2, 1e300),
    w=("a cost", 0, 1e9),
    x1=partial(checks.whole, least=0),
)
