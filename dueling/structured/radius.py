"""Two radii for the confidence set of a linear bandit, and the bounds of Doubler over them.

``"Freedman"`` is that of Dani, Hayes and Kakade (COLT 2008), ``"self-normalised"`` that of
Abbasi-Yadkori, Pál and Szepesvári (NIPS 2011).
"""

from math import exp, log, sqrt

from ..engine.compiled import compilable
from ..theory.bounds import epochs
from .sets import REACH

RADII = ("Freedman", "self-normalised")


@compilable
def squared_radius(n, delta, t):
    r"""The squared radius of Dani, Hayes and Kakade in dimension n.

    .. math:: \beta_t=\max(128\,n\ln t\,\ln(t^2/\delta),\ (\tfrac83\ln(t^2/\delta))^2)
    """
    ell = 2 * log(t) - log(delta)
    root = 8 / 3 * ell
    return max(128 * n * log(t) * ell, root * root)


@compilable
def self_normalised(n, delta, log_det):
    r"""The squared radius of Abbasi-Yadkori, Pál and Szepesvári in dimension n.

    .. math:: b_t=\Big(\tfrac12\sqrt{\ln\det A_t+2\ln(1/\delta)}+\sqrt n\Big)^2

    in spanner coordinates, where :math:`A_1=I` and :math:`\ln\det A_t\le n\ln t`.
    """
    root = sqrt(log_det - 2 * log(delta)) / 2 + sqrt(n)
    return root * root


def last_radius(n: int, delta: float, T: int, radius: str = "Freedman") -> float:
    r"""The squared radius in round T, :func:`squared_radius` or at most :func:`self_normalised`.

    The package's spanner lets coordinates reach r = 1.001, so that
    :math:`\ln\det A_T\le n\ln(r^2T)`.

    >>> round(last_radius(3, 1e-6, 10**6) / last_radius(3, 1e-6, 10**6, "self-normalised"))
    6343
    """
    if radius == "Freedman":
        return squared_radius(n, delta, T)
    return self_normalised(n, delta, n * log(REACH**2 * T))


def delta_of_epoch(i: int, n: int, radius: str = "Freedman") -> float:
    r"""The failure probability of Doubler's epoch i, which is 2^i long.

    .. math:: \delta_i=\min(2^{-i},\ e^{-3\sqrt n/8})

    The second term makes :math:`\beta_1\ge n`, which the guarantee of Dani, Hayes and Kakade
    needs; with the self-normalised radius :math:`\delta_i=2^{-i}`.
    """
    return min(0.5**i, exp(-3 * sqrt(n) / 8)) if radius == "Freedman" else 0.5**i


def regret_bound(
    ball: int, n: int, T: int, delta: float, gap: float | None = None, radius: str = "Freedman"
) -> float:
    r"""With probability 1 - delta, the regret of ConfidenceBall in T rounds of dimension n.

    .. math:: \sqrt{8nT\beta_T\ln(T+1)}\text{ or, with a gap, }8n\beta_T\ln(T+1)/\Delta

    for ConfidenceBall_2; for ConfidenceBall_1 :math:`n\beta_T` replaces :math:`\beta_T`, the
    :func:`last_radius`.
    """
    squares = 8 * n * last_radius(n, delta, T, radius) * log(T + 1) * (n if ball == 1 else 1)
    return sqrt(T * squares) if gap is None else squares / gap


def epoch_bound(
    ball: int, n: int, i: int, gap: float | None = None, cap: float = 0.5, radius: str = "Freedman"
) -> float:
    r"""The function B of Theorem D at :math:`m=2^i`: expected regret of ConfidenceBall in epoch i.

    :func:`regret_bound` with :math:`\delta_i` and half the gap, plus :math:`\delta_im` times
    ``cap`` for the failure; never above m times ``cap``, the largest regret of m rounds.
    """
    m, delta = 2**i, delta_of_epoch(i, n, radius)
    likely = regret_bound(ball, n, m, delta, None if gap is None else gap / 2, radius)
    return min(m * cap, likely + delta * m * cap)


def doubler_bound(
    ball: int, n: int, T: int, gap: float | None = None, cap: float = 0.5, radius: str = "Freedman"
) -> float:
    r"""Expected regret of Doubler over ConfidenceBall: Theorem D with B of :func:`epoch_bound`.

    The last, incomplete epoch of Z rounds costs the right arm at most min(Z cap, B of that epoch).
    """
    k, Z = epochs(T)

    def B(i):
        return epoch_bound(ball, n, i, gap, cap, radius)

    full = 3 * sum(B(i) for i in range(1, k))
    return 2 * cap + full + (1 + Z / 2**k) * B(k) + min(Z * cap, B(k + 1))
