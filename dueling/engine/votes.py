"""From wins to chances: tables of wins and logs of votes, in the orientation of most papers."""

import warnings
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import checks

TIES = (None, "tie")  # the outcomes that name no winner


def chances(W: ArrayLike) -> np.ndarray:
    """P[x, y], the share of the duels of x and y that y won, where W[i, j] is how often i beat j.

    W holds counts, or probabilities with W + W^T = 1. A pair that was never played gets 1/2, and a
    warning says so; the diagonal is 1/2 whatever W says there.
    """
    W = checks.square("W", W)
    np.fill_diagonal(W, 0)
    duels = W + W.T
    checks.each("W", W, W >= 0, ">= 0")
    if (W <= 1).all() and (2 * W % 1).any():
        good = (duels == 0) | (abs(duels - 1) <= 1e-12)
        checks.each("(W + W^T)", duels, good, "1, as of probabilities")
    unplayed = np.triu(duels == 0, 1).sum()
    if unplayed:
        pairs = f"{unplayed} of {len(W) * (len(W) - 1) // 2} pairs"
        warnings.warn(f"{pairs} were never played; each counts as 1/2.", stacklevel=3)
    return np.divide(W.T, duels, out=np.full_like(W, 0.5), where=duels > 0)


def tally(log: Iterable[Sequence], counts: Iterable[int] | None = None) -> tuple[np.ndarray, list]:
    """W[i, j], how often name i beat name j in the log, and the names in order of appearance.

    A row is (winner, loser), or (a, b, outcome) with the winner's name as the outcome, None or
    "tie" for a tie, which counts half a win for each. ``counts`` says how often each row occurred.

    >>> tally([("tea", "milk"), ("tea", "milk", "milk"), ("milk", "tea", None)], counts=[2, 1, 1])
    (array([[0. , 2.5],
           [1.5, 0. ]]), ['tea', 'milk'])
    """
    rows = [_row(r, row) for r, row in enumerate(log if np.iterable(log) else [log])]
    times = [1] * len(rows) if counts is None else [checks.whole("counts", n, 0) for n in counts]
    if len(times) != len(rows):
        raise ValueError(f"counts has {len(times)} entries; the log has {len(rows)} rows.")
    names = list(dict.fromkeys(name for a, b, _ in rows for name in (a, b)))
    W, place = np.zeros((len(names), len(names))), {name: i for i, name in enumerate(names)}
    for (a, b, share), n in zip(rows, times, strict=True):
        i, j = place[a], place[b]
        W[i, j] += n * share
        W[j, i] += n * (1 - share)
    return W, names


def _row(r: int, row: Any) -> tuple:
    """The names a and b of a row, and a's share of the win: 1, 0 or a half."""
    entries = () if isinstance(row, str) or not np.iterable(row) else tuple(row)
    names = entries[:2]
    strange = any(name in TIES or name != name for name in names)  # nan is not itself
    if len(entries) not in (2, 3) or names[0] == names[1] or strange:
        such = "it must be (winner, loser) or (a, b, outcome), of two different names"
        raise ValueError(f"row {r} of the log is {row!r}; {such}; {TIES[1]!r} is none.")
    a, b, *outcome = entries
    if not outcome:
        return a, b, 1.0
    (winner,) = outcome
    if winner in TIES:
        return a, b, 0.5
    if winner not in (a, b) or isinstance(winner, Real):
        such = "it must be the winner's name, or None for a tie"
        raise ValueError(f"row {r} of the log has the outcome {winner!r}; {such}.")
    return a, b, float(winner == a)
