"""Paired comparisons of algorithms.

Runs with common random numbers are compared pair by pair: run r of one algorithm against run r of
another, by a two-sided paired t-test of the mean difference, with Holm's correction over the whole
family of comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from . import checks
from .algorithm import Algorithm
from .results import Result, brief, optional
from .simulation import REHEARSAL, simulate


def paired(a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """The mean of a - b over runs, and the two-sided p-value of the paired t-test."""
    d = np.asarray(a, float) - np.asarray(b, float)
    if not d.any():
        return 0.0, 1.0
    with np.errstate(divide="ignore"):  # a difference without spread is sure
        t = d.mean() / np.sqrt(d.var(ddof=1) / len(d))
    return float(d.mean()), float(2 * stdtr(len(d) - 1, -abs(t)))


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


def compare(
    games: Any,
    algorithms: str | Algorithm | Callable | Iterable,
    T: int = 32000,
    runs: int = 400,
    seed: int = 2014,
    **options: Any,
) -> Comparison:
    """Each algorithm on each game, with common random numbers: what :func:`simulate` gives of each.

    ``games`` and ``algorithms`` are lists of what :func:`simulate` takes (``ALGORITHMS`` will do),
    or one such thing, and ``options`` are its options. Every pair plays a few rounds first, so that
    mistakes show early.

    >>> compare("YJ", ["IF", "Sparring"], T=500, runs=20, compiled=False)
    game  algorithm               regret  error  median  worst  place
    YJ    IF2(scale=4)              29.6    1.9      27     40      1
    YJ    Sparring(UCB, alpha=3)    27.1   0.32      27   29.7      1
    """
    T, runs = checks.whole("T", T), checks.whole("runs", runs, 2)
    pairs = list(product(_listed("games", games), _listed("algorithms", algorithms)))
    trial = options | {"checkpoints": None, "progress": False}
    names = [_names(simulate(*pair, min(T, REHEARSAL), 1, seed, **trial)) for pair in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name[1]} on {name[0]} is there twice; give each its own name.")
    results = [simulate(*pair, T, runs, seed, **options) for pair in pairs]
    return Comparison(dict(zip(names, results, strict=True)))


def _listed(name: str, things: Any) -> list:
    if isinstance(things, str) or hasattr(things, "__array__") or not isinstance(things, Iterable):
        return [things]
    return list(things) or checks.refuse(name, things, "not empty")


def _names(trial: Result) -> tuple[str, str]:
    """The names of game and algorithm; a trial without regret is refused."""
    trial.mean()
    return trial.about["scenario"], trial.about["algorithm"]


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` returns: ``results[game, algorithm]``, a table, a plot, and tests.

    In the table ``place`` is 1 plus the number of algorithms that are better on this game by the
    paired test, at a family-wise error of 1 % over all games and pairs of algorithms.

    >>> pair = compare("arith/linear", [Uniform(), "MultiSBM"], T=99, runs=20, compiled=False)
    >>> pair.signs()["arith/linear", "Uniform", "MultiSBM(UCB, alpha=3)"]
    1
    """

    results: dict[tuple[str, str], Result]

    def __getitem__(self, names: tuple[str, str]) -> Result:
        return self.results[names]

    def final(self) -> dict[str, dict[str, np.ndarray]]:
        """final[game][algorithm], the regret of every run at the last checkpoint."""
        final: dict = {game: {} for game, _ in self.results}
        for (game, algorithm), result in self.results.items():
            final[game][algorithm] = result.regret[:, -1]
        return final

    def signs(self, level: float = 0.01) -> dict[tuple[str, str, str], int]:
        """-1, 0 or 1 for (game, a, b): a is significantly better than b, open, b is better."""
        return signs(self.final(), level)

    def rows(self) -> list[dict[str, Any]]:
        """The table, row by row."""
        worse = [(game, a) for (game, a, _), sign in self.signs().items() if sign > 0]
        return [
            {
                "game": game,
                "algorithm": algorithm,
                "regret": result.mean()[-1],
                "error": result.error()[-1],
                "median": result.quantile(0.5)[-1],
                "worst": result.regret[:, -1].max(),
                "place": 1 + worse.count((game, algorithm)),
            }
            for (game, algorithm), result in self.results.items()
        ]

    def _cells(self) -> list[list[str]]:
        """The table as text, its head first."""

        def cell(name: str, value: Any) -> str:
            return value if isinstance(value, str) else brief(value, 2 if name == "error" else 3)

        rows = self.rows()
        return [list(rows[0]), *([cell(*item) for item in row.items()] for row in rows)]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            [c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
            for row in cells
        ]
        return "\n".join("  ".join(line).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head, *rows = [[escape(cell) for cell in row] for row in self._cells()]
        lines = [f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows]
        title = f"<tr><th>{'</th><th>'.join(head)}</th></tr>"
        return f'<table class="dataframe"><thead>{title}</thead>{"".join(lines)}</table>'

    def to_frame(self) -> Any:
        """The table as a pandas table."""
        return optional("pandas", "to_frame").DataFrame(self.rows())

    def plot(self, axes: Any = None, band: Sequence[float] | None = (0.1, 0.9)) -> Any:
        """Draw every mean regret with its band, one panel for each game, on these or new axes."""
        games = list(self.final())
        if axes is None:
            plt = optional("matplotlib.pyplot", "plot")
            axes = plt.subplots(1, len(games), squeeze=False)[1][0]
        panels = dict(zip(games, np.ravel(axes), strict=True))
        for (game, _), result in self.results.items():
            result.plot(panels[game], band).set_title(game)
        panels[games[0]].legend()
        return axes
