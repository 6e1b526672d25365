"""Checks of arguments: one sentence, "x is 3; it must be ...", before any work starts."""

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial, wraps
from math import isfinite
from numbers import Integral, Real
from typing import Any, NoReturn, get_args, get_type_hints

import numpy as np


def refuse(name: str, value: Any, allowed: str) -> NoReturn:
    """The one sentence of a refusal."""
    raise ValueError(f"{name} is {shown(value)}; it must be {allowed}.")


def shown(value: Any) -> str:
    """The value in a sentence: on one line, without its middle where it is long."""
    try:
        text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    except ValueError:  # Python writes no integer of more than 4300 digits
        return f"a number of {value.bit_length()} bits"
    return text if len(text) <= 80 else f"{text[:50]} ... {text[-20:]}"


def whole(name: str, value: Any, least: int = 1, most: float = 2**62) -> int:
    """The value as an ``int``, if it is a whole number from ``least`` to ``most``."""
    if not ((is_whole(value) or _finite(value)) and least <= value == int(value)):
        refuse(name, value, f"a whole number >= {least}")
    if value > most:
        refuse(name, value, f"at most {most}")
    return int(value)


def is_whole(value: Any) -> bool:
    """Whether the value is an integer (``bool`` excluded), as the number of an arm is."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def arm(name: str, value: Any, K: int) -> int:
    """The value as an ``int``, if it is an arm 0..K-1."""
    if not (is_whole(value) and 0 <= value < K):
        refuse(name, value, f"an arm, 0 to {K - 1}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """The value as a ``bool``, if it is true or false."""
    if not isinstance(value, bool | np.bool_):
        refuse(name, value, "True or False")
    return bool(value)


def real(name: str, value: Any, allowed: str, good: Callable[[Any], bool]) -> float:
    """The value as a ``float``, if it is a finite number for which ``good(value)`` holds."""
    if not (_finite(value) and good(value)):
        refuse(name, value, allowed)
    return float(value)


def alpha(name: str, value: Any) -> float:
    """The value as the alpha of UCB: above -2, and so small that its indices are finite."""
    return real(name, value, "a number > -2 and <= 1e9", lambda a: -2 < a <= 1e9)


def share(name: str, value: Any) -> float:
    """The value as a share of something that is not empty."""
    return real(name, value, "above 0 and at most 1", lambda r: 0 < r <= 1)


def one_of(name: str, value: Any, allowed: Iterable) -> Any:
    """The value, if it is among ``allowed``; otherwise the nearest names are offered."""
    allowed = list(allowed)
    if not any(isinstance(value, type(one)) and value == one for one in allowed):
        text = value if isinstance(value, str) else shown(value)
        near = get_close_matches(text, map(str, allowed), n=3, cutoff=0.4) or allowed
        raise ValueError(f"{name} is {shown(value)}; did you mean {' or '.join(map(repr, near))}?")
    return value


def instance(kind: type, what: str, name: str, value: Any) -> Any:
    """The value, if it is of this kind and not empty."""
    if not (isinstance(value, kind) and value):
        refuse(name, value, what)
    return value


def numbers(name: str, value: Any, ndim: int | None = None) -> np.ndarray:
    """The value as a new array of finite floats, in ``ndim`` dimensions unless that is None."""
    try:
        array, plain = np.array(value, dtype=float, order="C"), np.asarray(value)
        good = plain.dtype.kind in "biuf" or all(isinstance(v, Real) for v in plain.flat)
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good or np.ma.is_masked(np.ma.array(value)):
        refuse(name, value, "an array of numbers, none of them masked")
    if ndim not in (None, array.ndim):
        raise ValueError(f"{name} has {array.ndim} dimension(s); it must have {ndim}.")
    each(name, array, np.isfinite(array), "a finite number")
    return array


def each(name: str, array: np.ndarray, good: np.ndarray, allowed: str) -> None:
    """Refuse the first entry that is not good, by its place."""
    for at in np.argwhere(~good).tolist():
        raise ValueError(f"{name}{at or ''} is {array[tuple(at)]:.12g}; it must be {allowed}.")


def number(what: str, low: float, high: float, name: str, value: Any) -> float:
    """The value as a ``float``, if it is a number in [low, high]."""
    return real(name, value, f"{what} in [{low:g}, {high:g}]", lambda v: low <= v <= high)


def within(what: str, low: float, high: float, name: str, value: Any) -> float | np.ndarray:
    """The value as a number, or as a nonempty array of numbers, in [low, high]."""
    if isinstance(value, Real):
        return number(what, low, high, name, value)
    array = numbers(name, value)
    if array.size == 0:
        refuse(name, value, "not empty")
    each(name, array, (low <= array) & (array <= high), f"{what} in [{low:g}, {high:g}]")
    return array


def utilities(name: str, value: Any) -> np.ndarray:
    """The value as a vector of K >= 2 numbers in [0, 1]."""
    return within("a number", 0, 1, name, _several(name, numbers(name, value, 1)))


def square(name: str, value: Any) -> np.ndarray:
    """The value as a K x K table of numbers, K >= 2."""
    table = numbers(name, value, 2)
    if table.shape[0] != table.shape[1]:
        raise ValueError(f"{name} has shape {table.shape}; it must be square.")
    return _several(name, table)


def _several(name: str, arms: np.ndarray) -> np.ndarray:
    if len(arms) < 2:
        raise ValueError(f"{name} has {len(arms)} arm(s); a duel needs K >= 2.")
    return arms


def preferences(name: str, value: Any, antisymmetric: bool = True) -> np.ndarray:
    """The value as a K x K table in [0, 1] with P + P^T = 1, K >= 2."""
    P = square(name, value)
    if antisymmetric and not P.diagonal().any():
        such = "Preferences.wins(W) takes W[i, j], how often i beat j"
        raise ValueError(f"{name} has zeros on its diagonal; it must have 1/2 there; {such}.")
    within("a number", 0, 1, name, P)
    if antisymmetric:
        each(f"({name} + {name}^T)", P + P.T, abs(P + P.T - 1) <= 1e-12, "1")
    return P


def names(name: str, value: Any, K: int) -> tuple[str, ...]:
    """The value as a name for each of the K arms, no two alike."""
    words = tuple(map(str, value)) if np.iterable(value) and not isinstance(value, str) else ()
    if len(set(words)) != K or len(words) != K:
        refuse(name, value, f"{K} different names")
    return words


def checkpoints(value: Any, T: int) -> np.ndarray:
    """Strictly increasing whole rounds in 1..T; by default 1, 2, 4, ... and T itself."""
    if value is None:
        return np.array(sorted({2**i for i in range(T.bit_length())} | {T}), np.int64)
    listed = np.asarray(value, dtype=object)
    if listed.ndim != 1:
        refuse("checkpoints", value, "a list of rounds")
    rounds = [whole("checkpoints", t) for t in listed]
    if not rounds or rounds != sorted(set(rounds)):
        refuse("checkpoints", value, "strictly increasing, not empty")
    if rounds[-1] > T:
        raise ValueError(f"checkpoints has {rounds[-1]}; it must not exceed the horizon T = {T}.")
    return np.array(rounds, np.int64)


def in_a_game(init: Callable) -> Callable:
    """The ``__init__`` of a machine, with a hint where the game's K and rng are missing."""

    @wraps(init)
    def begin(self, *values, **parameters):
        settings = {k: v for k, v in parameters.items() if k not in ("K", "rng")}
        if len(values) + len(parameters) - len(settings) < 2:
            kind = type(self).__name__
            parts = ", ".join([kind, *(f"{k}={v!r}" for k, v in settings.items())])
            such = f"which each game brings; write Sparring({parts})"
            raise TypeError(f"{kind} lacks K and rng, {such}.")
        init(self, *values, **parameters)

    return begin


def guard(module: dict, **rules: Callable | tuple) -> None:
    """Check and convert each argument of a module's public functions by the rule of its name.

    A rule is a function of the argument's name and value; or (what, low, high), for a whole number,
    a number or an array in that range, as the argument's type hint says.
    """
    for name, f in list(module.items()):
        if inspect.isfunction(f) and f.__module__ == module["__name__"] and name[0] != "_":
            module[name] = _guarded(f, rules)


def _guarded(f: Callable, rules: dict) -> Callable:
    signature, hints = inspect.signature(f), get_type_hints(f)
    checks = {name: _rule(rules[name], hints[name]) for name in signature.parameters}

    @wraps(f)
    def checked(*args, **options):
        bound = signature.bind(*args, **options)
        for name, value in bound.arguments.items():
            bound.arguments[name] = checks[name](name, value)
        return f(*bound.args, **bound.kwargs)

    return checked


def _rule(rule: Callable | tuple, hint: Any) -> Callable:
    if not callable(rule):
        by_hint = {int: partial(whole, least=rule[1], most=rule[2]), float: partial(number, *rule)}
        rule = by_hint.get(hint, partial(within, *rule))
    if type(None) not in get_args(hint):
        return rule
    return lambda name, value: None if value is None else rule(name, value)


def _finite(value: Any) -> bool:
    """Whether the value is a number that a ``float`` can hold."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        return False
