"""The paper's three sentences of result, R1, R2 and R3, as verdicts over paired comparisons."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dueling.engine.comparison import signs

OTHERS = ("MultiSBM", "Doubler", "IF", "BTMB")


def verdict(signs_of: list[int]) -> str:
    """``holds`` when all are significantly below, ``fails`` when one is above, else ``open``."""
    if all(s == -1 for s in signs_of):
        return "holds"
    return "fails" if any(s == 1 for s in signs_of) else "open"


def sentences(sign: dict, scenario: str) -> dict[str, str]:
    """The verdicts on R1, R2 and R3 in one scenario.

    R1: Sparring is below all others. R2: of the others, IF and MultiSBM are below Doubler and
    BTMB. R3: MultiSBM is below IF.
    """
    top, rest = ("IF", "MultiSBM"), ("Doubler", "BTMB")
    return {
        "R1": verdict([sign[scenario, "Sparring", o] for o in OTHERS]),
        "R2": verdict([sign[scenario, a, b] for a in top for b in rest]),
        "R3": verdict([sign[scenario, "MultiSBM", "IF"]]),
    }


def tally(final: Mapping[str, Mapping[str, np.ndarray]], level: float = 0.01) -> dict[str, dict]:
    """In how many scenarios each of R1, R2 and R3 holds, is open, and fails.

    Holm's correction is over all comparisons in all scenarios.
    """
    sign = signs(final, level)
    verdicts = [sentences(sign, scenario) for scenario in final]
    words = ("holds", "open", "fails")
    return {R: {w: sum(s[R] == w for s in verdicts) for w in words} for R in ("R1", "R2", "R3")}
