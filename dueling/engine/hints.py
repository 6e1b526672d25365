"""Hints for common slips: one sentence that says what to write instead."""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any

import numpy as np

#: What other packages call an argument of :func:`~dueling.engine.simulation.simulate`.
SYNONYMS = {
    "horizon": "T",
    "n_rounds": "T",
    "n_runs": "runs",
    "random_state": "seed",
    "n_jobs": "workers",
}


def known_arguments(f: Callable) -> Callable:
    """The function, with the right name offered for an argument that it does not know."""
    names = list(inspect.signature(f).parameters)

    @wraps(f)
    def call(*values, **options):
        for name in options:
            if name not in names:
                near = [SYNONYMS[name]] if name in SYNONYMS else get_close_matches(name, names)
                ask = " or ".join(f"{n}=" for n in near or names)
                raise TypeError(f"{f.__name__} has no argument {name!r}; did you mean {ask}?")
        return f(*values, **options)

    return call


def refuse_array(scenario: Any) -> None:
    """Refuse numbers in the place of a scenario, which says what they mean."""
    if isinstance(scenario, list | tuple | np.ndarray) or hasattr(scenario, "__array__"):
        raise ValueError(
            "scenario is an array; it must be Preferences.wins(W) where W[i, j] is how often i "
            "beat j, Preferences(P) where P[x, y] is the chance that the right arm y wins, or "
            "Utilities(mu)."
        )


def refuse_machine(algorithm: Any, machines: Mapping[str, Any]) -> None:
    """Refuse a machine, or the name of one of these, in the place of an algorithm over it.

    Small letters are as good as capitals.
    """
    machine = algorithm
    if isinstance(algorithm, str):
        named = {name.lower(): m for name, m in machines.items() if hasattr(m, "advance")}
        machine = named.get(algorithm.lower())
    if hasattr(machine, "advance"):
        name = getattr(machine, "__name__", type(machine).__name__)
        such = f"it must be a name or an algorithm, such as Sparring({name})"
        raise ValueError(f"algorithm is the machine {name}; {such}.")
