"""Paired comparisons of algorithms.

Runs with common random numbers are compared pair by pair: run r of one algorithm against run r of
another, by a two-sided paired t-test of the mean difference, with Holm's correction over the whole
family of comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from . import checks


def paired(a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """The mean of a - b over runs, and the two-sided p-value of the paired t-test."""
    d = np.asarray(a, float) - np.asarray(b, float)
    if not d.any():
        return 0.0, 1.0
    return float(d.mean()), float(stats.ttest_1samp(d, 0.0).pvalue)


def holm(pvalues: ArrayLike, level: float = 0.01) -> np.ndarray:
    """Which hypotheses Holm's step-down procedure rejects at family-wise error ``level``."""
    level = checks.real("level", level, "a number in (0, 1)", lambda v: 0 < v < 1)
    p = np.asarray(pvalues, float)
    order = np.argsort(p)
    small = p[order] <= level / (len(p) - np.arange(len(p)))
    rejected = np.zeros(len(p), bool)
    rejected[order] = np.logical_and.accumulate(small)
    return rejected


def signs(final: Mapping[str, Mapping[str, np.ndarray]], level: float = 0.01) -> dict:
    """-1, 0 or 1 for each scenario and pair (a, b): a significantly below b, open, above b.

    ``final[scenario][algorithm]`` holds the final regret of every run; the family is the set of all
    comparisons of two algorithms in all scenarios.
    """
    keys, means, pvalues = [], [], []
    for scenario, by in final.items():
        names = sorted(by)
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                mean, p = paired(by[a], by[b])
                keys.append((scenario, a, b))
                means.append(mean)
                pvalues.append(p)
    sign = {}
    for (scenario, a, b), mean, sure in zip(keys, means, holm(pvalues, level), strict=True):
        sign[scenario, a, b] = int(np.sign(mean)) if sure else 0
        sign[scenario, b, a] = -sign[scenario, a, b]
    return sign
