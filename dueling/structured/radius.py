"""The radius and the bounds of Dani, Hayes and Kakade (COLT 2008), and of Doubler over them."""

from math import exp, log, sqrt

from ..engine.compiled import compilable
from ..theory.bounds import epochs


@compilable
def squared_radius(n, delta, t):
    r"""The squared radius of Dani, Hayes and Kakade in dimension n.

    .. math:: \beta_t=\max(128\,n\ln t\,\ln(t^2/\delta),\ (\tfrac83\ln(t^2/\delta))^2)
    """
    ell = 2 * log(t) - log(delta)
    root = 8 / 3 * ell
    return max(128 * n * log(t) * ell, root * root)


def delta_of_epoch(i: int, n: int) -> float:
    r"""The failure probability of Doubler's epoch i, which is 2^i long.

    .. math:: \delta_i=\min(2^{-i},\ e^{-3\sqrt n/8})

    The second term makes :math:`\beta_1\ge n`, which the guarantee needs.
    """
    return min(0.5**i, exp(-3 * sqrt(n) / 8))


def regret_bound(ball: int, n: int, T: int, delta: float, gap: float | None = None) -> float:
    r"""With probability 1 - delta, the regret of ConfidenceBall in T rounds of dimension n.

    .. math:: \sqrt{8nT\beta_T\ln(T+1)}\text{ or, with a gap, }8n\beta_T\ln(T+1)/\Delta

    for ConfidenceBall_2; for ConfidenceBall_1 :math:`n\beta_T` replaces :math:`\beta_T`.
    """
    squares = 8 * n * squared_radius(n, delta, T) * log(T + 1) * (n if ball == 1 else 1)
    return sqrt(T * squares) if gap is None else squares / gap


def epoch_bound(ball: int, n: int, i: int, gap: float | None = None, cap: float = 0.5) -> float:
    r"""The function B of Theorem D at :math:`m=2^i`: expected regret of ConfidenceBall in epoch i.

    :func:`regret_bound` with :math:`\delta_i` and half the gap, plus :math:`\delta_im` times
    ``cap`` for the failure; never above m times ``cap``, the largest regret of m rounds.
    """
    m, delta = 2**i, delta_of_epoch(i, n)
    likely = regret_bound(ball, n, m, delta, None if gap is None else gap / 2)
    return min(m * cap, likely + delta * m * cap)


def doubler_bound(ball: int, n: int, T: int, gap: float | None = None, cap: float = 0.5) -> float:
    r"""Expected regret of Doubler over ConfidenceBall: Theorem D with B of :func:`epoch_bound`.

    The last, incomplete epoch of Z rounds costs the right arm at most min(Z cap, B of that epoch).
    """
    k, Z = epochs(T)

    def B(i):
        return epoch_bound(ball, n, i, gap, cap)

    full = 3 * sum(B(i) for i in range(1, k))
    return 2 * cap + full + (1 + Z / 2**k) * B(k) + min(Z * cap, B(k + 1))
