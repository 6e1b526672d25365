"""Real preferences: counts of duels from public packages, in ``book/data`` with their sources."""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

import numpy as np
import yaml

from dueling import Preferences
from dueling.engine import checks
from dueling.theory import preferences

from . import place

HEAD = ["a", "b", "a over b", "b over a", "ties"]


def sources() -> dict[str, dict]:
    """Of each table, by name: what was asked, the package it was taken from, its licence."""
    return yaml.safe_load(place.read(place.root() / "book" / "data" / "sources.yml"))


class Counts(NamedTuple):
    """Votes of judges: ``wins[i, j]`` says how often i beat j, ``ties`` is symmetric.

    >>> Counts("two", ("tea", "milk"), np.array([[0, 7], [2, 0]]), np.array([[0, 1], [1, 0]])).W
    array([[0. , 7.5],
           [2.5, 0. ]])
    """

    name: str
    arms: tuple[str, ...]
    wins: np.ndarray
    ties: np.ndarray

    @property
    def W(self) -> np.ndarray:
        """The wins, a tie being half a win for each."""
        return self.wins + self.ties / 2

    @property
    def duels(self) -> int:
        """How many votes there are."""
        return int(self.wins.sum() + np.triu(self.ties).sum())

    def game(self) -> Preferences:
        """The game whose chances are the shares of the votes."""
        return Preferences.wins(self.W, self.arms, name=self.name)

    def drawn_again(self, rng: np.random.Generator) -> Counts:
        """Each pair's votes drawn again with its own shares, as many as there were."""
        wins, ties = np.zeros_like(self.wins), np.zeros_like(self.ties)
        for i, j in zip(*np.triu_indices(len(self.arms), 1), strict=True):
            votes = np.array([self.wins[i, j], self.wins[j, i], self.ties[i, j]])
            wins[i, j], wins[j, i], ties[i, j] = rng.multinomial(votes.sum(), votes / votes.sum())
            ties[j, i] = ties[i, j]
        return self._replace(wins=wins, ties=ties)


def counts(name: str) -> Counts:
    """The counts of this name; each pair must have one row and at least one vote."""
    checks.one_of("name", name, sources())
    path = place.root() / "book" / "data" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tallied(name, list(csv.reader(file)))


def tallied(name: str, rows: list[list[str]]) -> Counts:
    """The counts in the rows of a file, the first of which is its head."""
    if rows[0] != HEAD:
        raise ValueError(f"the head of {name} is {rows[0]}; it must be {HEAD}.")
    arms = tuple(dict.fromkeys(arm for row in rows[1:] for arm in row[:2]))
    wins, ties = np.zeros((2, len(arms), len(arms)), np.int64)
    for r, (a, b, *votes) in enumerate(rows[1:], 2):
        i, j = arms.index(a), arms.index(b)
        forth, back, tied = (checks.whole(f"row {r} of {name}", int(v), 0) for v in votes)
        if i == j or (wins + wins.T + ties)[i, j] or not forth + back + tied:
            raise ValueError(f"row {r} of {name} is {a}, {b}; a pair has one row with votes.")
        wins[i, j], wins[j, i], ties[i, j], ties[j, i] = forth, back, tied, tied
    if len(rows) - 1 != len(arms) * (len(arms) - 1) // 2:
        raise ValueError(f"{name} has {len(rows) - 1} rows; it must have one for each pair.")
    return Counts(name, arms, wins, ties)


def card(table: Counts) -> dict[str, Any]:
    """What the counts satisfy: winner, its smallest gap and that gap's error, transitivity, ties.

    The error is that of one pair's share with independent votes.
    """
    P, W = table.game().P, table.W
    star = preferences.condorcet(P)
    facts = {"arms": len(P), "duels": table.duels, "ties": np.triu(table.ties).sum() / table.duels}
    facts |= {"transitivity": preferences.gamma_transitivity(P), "winner": None}
    if star is None:
        return facts
    gaps = np.delete(P[:, star] - 0.5, star)
    n = np.delete((W + W.T)[star], star)[gaps.argmin()]
    error = float(np.sqrt((0.25 - gaps.min() ** 2) / n))
    extended = preferences.gamma_extended(P, star)
    of_winner = {"winner": table.arms[star], "gap": float(gaps.min()), "error": error}
    return facts | of_winner | {"extended": extended}
