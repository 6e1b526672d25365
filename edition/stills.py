"""The still pictures of the things to play, drawn as SVG from plain runs of the package."""

from __future__ import annotations

from functools import cache
from html import escape

import numpy as np

from dueling import UCB, Champion, Doubler, MultiSBM, Sparring, scenario, simulate
from dueling.engine.algorithm import Algorithm
from dueling.game import Game

from .notebook import COLOURS

REDUCTIONS: dict[str, Algorithm] = {
    kind.__name__: kind(UCB) for kind in (Sparring, MultiSBM, Doubler, Champion)
}
LETTERS = "ABCDEF"


def still(name: str, algorithm: str = "") -> tuple[str, str]:
    """The picture of a thing to play, and a text that says what it shows."""
    if name == "bandit":
        return cards()
    return rounds(algorithm) if name == "steps" else curves()


def cards() -> tuple[str, str]:
    """Six covered cards, two of them raised.

    >>> cards()[1]
    'Six covered cards, A to F; two of them are raised for a duel.'
    """
    parts = []
    for i, letter in enumerate(LETTERS):
        up = 12 if letter in "BE" else 0
        parts.append(_box(10 + 70 * i, 22 - up, 56, 78))
        parts.append(_text(38 + 70 * i, 66 - up, letter))
    alt = "Six covered cards, A to F; two of them are raised for a duel."
    return _svg(430, 112, parts), alt


@cache
def curves(T: int = 1024, runs: int = 5) -> tuple[str, str]:
    """The mean regret of the reductions on arith/linear, on doubling rounds."""
    means = {
        name: simulate("arith/linear", a, T=T, runs=runs, compiled=False, workers=1).mean()
        for name, a in REDUCTIONS.items()
    }
    top, parts = max(mean[-1] for mean in means.values()), []
    for name, mean in means.items():
        xs, ys = np.linspace(10, 330, len(mean)), 150 - 140 * mean / top
        path = " ".join(f"{x:.0f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        parts.append(f'<polyline points="{path}" stroke="{COLOURS[name]}" fill="none"/>')
    for i, (name, mean) in enumerate(sorted(means.items(), key=lambda pair: -pair[1][-1])):
        at = f'x="338" y="{21 + 32 * i}" width="9" height="9" fill="{COLOURS[name]}"'
        parts.append(f'<rect {at} stroke="none"/>')
        parts.append(_text(352, 30 + 32 * i, f"{name} {mean[-1]:.0f}", "start"))
    ends = ", ".join(f"{name} {mean[-1]:.0f}" for name, mean in means.items())
    alt = f"Regret of the reductions over {T} duels, mean of {runs} runs: {ends}."
    return _svg(450, 160, parts), alt


class Seen(Game):
    """A game that remembers its duels (x, y, b)."""

    duels: list[tuple[int, int, int]]

    def play(self, x, y):
        """The choice, which is also noted."""
        b = super().play(x, y)
        self.duels.append((int(x), int(y), b))
        return b


@cache
def rounds(algorithm: str, T: int = 14) -> tuple[str, str]:
    """The first rounds of one run: above the left arm, below the right one, the winner filled."""
    game = Seen(scenario("arith/linear").P, T, np.array([T]), np.random.default_rng(2014))
    game.duels = []
    REDUCTIONS[algorithm.split()[0]].play(game, compile=False)
    parts = []
    for t, (x, y, b) in enumerate(game.duels):
        for at, arm, won in ((10, x, not b), (58, y, b)):
            parts.append(_box(8 + 30 * t, at, 24, 40, won))
            parts.append(_text(20 + 30 * t, at + 26, LETTERS[arm]))
    winners = ", ".join(
        f"{LETTERS[x]} and {LETTERS[y]}: {LETTERS[(x, y)[b]]}" for x, y, b in game.duels
    )
    alt = (
        f"The first {T} duels of a run of {algorithm.split()[0]}, each with its winner. {winners}."
    )
    return _svg(430, 108, parts), alt


def _svg(width: int, height: int, parts: list[str]) -> str:
    """The picture; its attributes are for the PDF, which has no style of its own for it."""
    drawn = 'fill="none" stroke="currentColor" style="max-width: 30rem"'
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {width} {height}" {drawn} aria-hidden="true">{inside}</svg>'


def _box(x: int, y: int, width: int, height: int, filled: bool = False) -> str:
    kind = 'class="filled" fill="currentColor" fill-opacity="0.2"' if filled else 'class="plain"'
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" {kind}/>'


def _text(x: int, y: int, text: str, anchor: str = "middle") -> str:
    drawn = f'text-anchor="{anchor}" fill="currentColor" stroke="none" font-size="14"'
    return f'<text x="{x}" y="{y}" {drawn}>{escape(text)}</text>'
