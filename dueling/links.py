r"""Link functions and utility laws (Section 2).

A link :math:`\phi(a, b)` is the probability that an item of utility a is chosen against an item of
utility b; it must satisfy :math:`\phi(a, b) + \phi(b, a) = 1`. A reader's own link is any such
function of two numbers or arrays.

A utility law says how the utility of an arm with mean m is drawn. Utilities are never observed, so
only expectations over the law matter, and a law is a function ``law(m) -> (atoms, weights)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import roots_jacobi

from .engine import checks

Law = Callable[[float], tuple[np.ndarray, np.ndarray]]


def linear(a: ArrayLike, b: ArrayLike) -> Any:
    """(1 + a - b) / 2, the link of all of the paper's theorems.

    The paper prints (1 + v - u)/2 for the pair (u, v) next to Pr[b = 0] = phi(u, v); the two
    together would prefer the worse arm. This is the orientation of Section 7 and of every proof.

    >>> float(linear(0.8, 0.2))
    0.8
    """
    return (1 + np.subtract(a, b)) / 2


def natural(a: ArrayLike, b: ArrayLike, zero: float | None = None) -> Any:
    """The ratio a / (a + b); at a = b = 0 the value ``zero``, or an error when none is given.

    >>> float(natural(0.75, 0.25))
    0.75
    """
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    none = a + b == 0
    if none.any() and zero is None:
        raise ValueError(
            "natural link has no value at (0, 0), where it reads 0/0; state one, "
            "for example link=functools.partial(natural, zero=0.5)."
        )
    return np.where(none, zero if zero is not None else np.nan, a / np.where(none, 1, a + b))


def logit(a: ArrayLike, b: ArrayLike) -> Any:
    """1 / (1 + exp(b - a)).

    >>> round(float(logit(0.8, 0.2)), 3)
    0.646
    """
    return 1 / (1 + np.exp(np.subtract(b, a)))


def deterministic(m: float) -> tuple[np.ndarray, np.ndarray]:
    """The law that always gives the mean m (the paper's own simplification).

    >>> deterministic(0.3)
    (array([0.3]), array([1.]))
    """
    return np.array([m]), np.array([1.0])


def bernoulli(m: float) -> tuple[np.ndarray, np.ndarray]:
    """Utility 1 with probability m, else 0.

    >>> bernoulli(0.25)
    (array([0., 1.]), array([0.75, 0.25]))
    """
    return np.array([0.0, 1.0]), np.array([1 - m, m])


def beta(concentration: float, nodes: int = 24) -> Law:
    """The law Beta(c m, c (1 - m)) as Gauss-Jacobi nodes, exact in degrees below 2 ``nodes``.

    >>> values, weights = beta(5)(0.3)
    >>> round(float(values @ weights), 3)
    0.3
    """
    c = checks.real("concentration", concentration, "a number > 0", lambda v: v > 0)
    nodes = checks.whole("nodes", nodes)

    def law(m: float) -> tuple[np.ndarray, np.ndarray]:
        if m in (0, 1):
            return deterministic(m)
        powers = c * (1 - m) - 1, c * m - 1
        if min(powers) > -1:
            z, w = roots_jacobi(nodes, *powers)
            values, weights = (1 + z) / 2, w / w.sum()
            if abs(values @ weights - m) < 1e-9:
                return values, weights
        raise ValueError(
            f"concentration is {c!r}; at the mean {float(m)!r} it must be less extreme, or the "
            "nodes are not exact."
        )

    law.__name__ = f"beta({c!r})"
    return law


def atoms(law: Law, mu: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """The atoms and weights of every arm, checked: values in [0, 1], total weight 1, mean mu."""
    try:
        table = tuple(_pair(x, law(m)) for x, m in enumerate(mu))
    except TypeError as error:
        raise ValueError(f"law is {law!r}; it must be a function of one mean ({error}).") from error
    for x, (values, weights) in enumerate(table):
        inside = ((values >= 0) & (values <= 1)).all()
        if not (inside and abs(weights.sum() - 1) <= 1e-9):  # false where one of them is nan
            raise ValueError(f"law gives arm {x} values outside [0, 1] or weights that miss 1.")
        if abs(values @ weights - mu[x]) > 1e-9:
            mean = float(values @ weights)
            raise ValueError(f"law gives arm {x} mean {mean!r}; it must be {float(mu[x])!r}.")
    return table


def _pair(x: int, pair) -> tuple[np.ndarray, np.ndarray]:
    """What the law gives arm x, as a vector of values and one of weights."""
    try:
        values, weights = (np.array(part, float) for part in pair)
        good = values.shape == weights.shape == (len(values),) and not (weights < 0).any()
    except (TypeError, ValueError):
        good = False
    if not good or len(values) == 0:
        raise ValueError(f"law gives arm {x} no list of values with weights >= 0.")
    return values, weights


def on_arrays(phi: Callable) -> Callable:
    """The link as a function of arrays: one that takes only numbers is called pair by pair."""
    a, b = np.array([[0.25], [0.5]]), np.array([[0.5, 0.75]])
    try:
        wide = np.asarray(phi(a, b), float).shape in ((), (2, 2))
    except Exception:  # whatever a reader's function makes of an array
        wide = False

    def one(a, b) -> float:
        value = phi(a, b)
        try:
            return float(value)
        except (TypeError, ValueError):
            at = f"phi({a:.6g}, {b:.6g}) = {value!r}"
            raise ValueError(f"link gives {at}; it must be a number in [0, 1].") from None

    return phi if wide else np.vectorize(one, otypes=[float])


def check_link(phi: Callable, values: np.ndarray) -> None:
    """Refuses a link that leaves [0, 1] or breaks phi(a, b) + phi(b, a) = 1 on these utilities."""
    a, b = np.meshgrid(values, values, indexing="ij")
    try:
        forth = np.broadcast_to(np.asarray(phi(a, b), float), a.shape)
        back = np.broadcast_to(np.asarray(phi(b, a), float), a.shape)
    except TypeError as error:
        raise ValueError(f"link must be a function of two utilities ({error}).") from error
    for wrong, rule in (
        (~((forth >= 0) & (forth <= 1)), "phi(a, b) must lie in [0, 1]"),
        (abs(forth + back - 1) > 1e-12, "phi(a, b) + phi(b, a) must be 1"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"link gives phi({values[i]:.6g}, {values[j]:.6g}) = {forth[i, j]:.6g} and "
                f"phi({values[j]:.6g}, {values[i]:.6g}) = {back[i, j]:.6g}; {rule}."
            )
