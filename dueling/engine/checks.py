"""Checks of arguments: one sentence that names the argument, its value and what is allowed."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np


def whole(name: str, value: Any, least: int = 1, most: float = 2**62) -> int:
    """The value as an ``int``, if it is a whole number from ``least`` to ``most``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    finite = number and (isinstance(value, Integral) or _finite(value))
    if not finite or value != int(value) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number >= {least}.")
    if value > most:
        raise ValueError(f"{name} is {value!r}; it must be at most {most}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """The value as a ``bool``, if it is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)


def real(name: str, value: Any, allowed: str, good: Callable[[Any], bool]) -> float:
    """The value as a ``float``, if it is a finite number for which ``good(value)`` holds."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and _finite(value) and good(value)):
        raise ValueError(f"{name} is {value!r}; it must be {allowed}.")
    return float(value)


def one_of(name: str, value: Any, allowed: Iterable) -> Any:
    """The value, if it is among ``allowed``; otherwise the nearest names are offered."""
    allowed = list(allowed)
    if not any(isinstance(value, type(known)) and value == known for known in allowed):
        near = get_close_matches(str(value), map(str, allowed), n=3, cutoff=0.4) or allowed
        raise ValueError(f"{name} is {value!r}; did you mean {' or '.join(map(repr, near))}?")
    return value


def utilities(name: str, value: Any) -> np.ndarray:
    """The value as a vector of K >= 2 numbers in [0, 1]."""
    mu = numbers(name, value, 1)
    if len(mu) < 2:
        raise ValueError(f"{name} has {len(mu)} arm(s); a duel needs K >= 2.")
    _inside(name, mu)
    return mu


def preferences(name: str, value: Any, antisymmetric: bool = True) -> np.ndarray:
    """The value as a K x K table in [0, 1] with P + P^T = 1, K >= 2."""
    P = numbers(name, value, 2)
    if P.shape[0] != P.shape[1]:
        raise ValueError(f"{name} has shape {P.shape}; a preference table is square.")
    if len(P) < 2:
        raise ValueError(f"{name} has {len(P)} arm(s); a duel needs K >= 2.")
    if antisymmetric and not P.diagonal().any():
        such = "Preferences.wins(W) takes W[i, j], how often i beat j"
        raise ValueError(f"{name} has zeros on its diagonal; it must have 1/2 there; {such}.")
    _inside(name, P)
    bad = np.argwhere(abs(P + P.T - 1) > 1e-12)
    if antisymmetric and len(bad):
        x, y = map(int, bad[0])
        raise ValueError(
            f"{name}[{x}, {y}] + {name}[{y}, {x}] is {P[x, y] + P[y, x]:.6g}; it must be 1."
        )
    return P


def names(name: str, value: Iterable, K: int) -> tuple[str, ...]:
    """The value as a name for each of the K arms, no two alike."""
    words = tuple(map(str, value))
    if len(set(words)) != K or len(words) != K:
        raise ValueError(f"{name} is {list(words)!r}; it must be {K} different names.")
    return words


def numbers(name: str, value: Any, ndim: int) -> np.ndarray:
    """The value as an array of finite floats of dimension ``ndim``."""
    try:
        array = np.array(value, dtype=float, order="C")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {value!r}; it must be an array of numbers.") from None
    if array.ndim != ndim:
        raise ValueError(f"{name} has {array.ndim} dimension(s); it must have {ndim}.")
    if not np.isfinite(array).all():
        at = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ValueError(f"{name}{list(at)} is {array[at]}; it must be a finite number.")
    return array


def checkpoints(value: Any, T: int) -> np.ndarray:
    """Strictly increasing whole rounds in 1..T; by default 1, 2, 4, ... and T itself."""
    if value is None:
        return np.array(sorted({2**i for i in range(T.bit_length()) if 2**i <= T} | {T}), np.int64)
    given = np.asarray(value, dtype=object)
    if given.ndim != 1:
        raise ValueError(f"checkpoints has {given.ndim} dimension(s); it must be a list of rounds.")
    rounds = [whole("checkpoints", t) for t in given]
    if not rounds or rounds != sorted(set(rounds)):
        raise ValueError(f"checkpoints is {value!r}; it must be strictly increasing, not empty.")
    if rounds[-1] > T:
        raise ValueError(f"checkpoints has {rounds[-1]}; it must not exceed the horizon T = {T}.")
    return np.array(rounds, np.int64)


def _finite(value: Real) -> bool:
    """Whether the value is a number that a ``float`` can hold."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def _inside(name: str, array: np.ndarray) -> None:
    outside = np.argwhere((array < 0) | (array > 1))
    if len(outside):
        at = tuple(map(int, outside[0]))
        raise ValueError(f"{name}{list(at)} is {array[at]:.6g}; it must lie in [0, 1].")


def arm(name: str, value: Any, K: int) -> int:
    """The value as an ``int``, if it is an arm 0..K-1."""
    if value not in range(K):
        raise ValueError(f"{name} must be an arm, 0 to {K - 1}; it is {value!r}.")
    return int(value)


def is_whole(value: Any) -> bool:
    """Whether the value is an integer arm label (``bool`` excluded)."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
