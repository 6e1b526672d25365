"""The book's drawings as SVG, by code, in one style: lines and words in the colour of the text.

``DRAWINGS`` names them; ``{drawing} name`` puts one into a page (:mod:`edition.sphinx.drawings`).
What shows data is computed: a run of UCB, a spanner, two leads, best responses. Colours are CSS
variables with a fallback, so that a drawing follows the page into the dark, and into print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, pairwise
from math import cos, log, pi, sin, sqrt

import numpy as np

from dueling import Preferences, scenario
from dueling.machines import UCB

from .svg import GOOD, INK, LEFT, ON, PALE, RIGHT, Drawing

# --- the game and the machine


def game() -> Drawing:
    """A duel: two cards, two hidden utilities, one bit out."""
    d = Drawing(
        190,
        "A duel. The left arm x draws a hidden utility u, the right arm y a hidden utility v. The "
        "link phi compares the two, and only one bit b comes out: which side was chosen.",
    )
    for x, arm, utility, side, colour in (
        (40, "*x_t*", "*u_t*", "left arm", LEFT),
        (200, "*y_t*", "*v_t*", "right arm", RIGHT),
    ):
        d.box(x, 30, 110, 130, colour=colour, fill=PALE)
        d.words(x + 55, 20, side, colour=colour)
        d.words(x + 55, 68, arm, size=26)
        d.box(x + 22, 90, 66, 44, colour=INK, stroke_dasharray="5 4")
        d.words(x + 55, 118, utility, size=18)
        d.words(x + 55, 154, "hidden", size=12)
    for middle in (95, 255):
        d.line((middle, 164), (middle, 180))
    d.arrow((95, 180), (450, 180), (450, 132))
    d.box(400, 62, 100, 66)
    d.words(450, 91, "link *φ*", size=18)
    d.words(450, 114, "a biased coin", size=12)
    d.arrow((505, 95), (575, 95))
    d.words(628, 92, "*b_t* = 0 or 1", size=18)
    d.words(628, 116, "all that is seen", size=13)
    return d


def machine() -> Drawing:
    """A singleton bandit machine and its three operations."""
    d = Drawing(
        150,
        "A machine is a box with three operations: reset forgets everything, advance gives an arm, "
        "feedback takes the reward of that arm, 0 or 1.",
    )
    d.box(175, 35, 180, 90, fill=PALE)
    d.words(265, 75, "machine *S*", size=20)
    d.words(265, 100, "counts and means", size=13)
    d.arrow((265, 5), (265, 32))
    d.words(277, 18, "reset: forget all", anchor="start", size=14)
    d.arrow((358, 62), (465, 62), colour=RIGHT)
    d.words(475, 67, "an arm *y*", anchor="start", colour=RIGHT)
    d.words(411, 54, "advance", size=14)
    d.arrow((465, 102), (360, 102), colour=GOOD)
    d.words(475, 107, "its reward *b*", anchor="start", colour=GOOD)
    d.words(411, 94, "feedback", size=14)
    return d


# --- the reductions


def epochs(d: Drawing, y: float, sizes: list[int]) -> list[tuple[float, float]]:
    """The left edges and widths of epochs of these many rounds, with a mark for each round."""
    unit, at, edges = 640 / sum(sizes), 40.0, []
    for size in sizes:
        edges.append((at, unit * size))
        for r in range(size):
            d.line((at + r * unit, y), (at + r * unit, y + 6), width=1)
        at += unit * size
    d.arrow((40, y), (at + 20, y))
    return edges


def doubler() -> Drawing:
    """Doubler's timeline: epochs, the bag, the reset."""
    d = Drawing(
        230,
        "Doubler's epochs of 2, 4, 8 and 16 rounds on a line. In each epoch a machine that was "
        "reset plays the right side; its arms go into a bag, and the left side of the next epoch "
        "draws from that bag.",
    )
    spans = epochs(d, 190, [2, 4, 8, 16])
    d.words(705, 222, "rounds", anchor="end", size=13)
    for i, (x, width) in enumerate(spans, 1):
        d.box(x + 3, 20, width - 6, 44, colour=LEFT, fill=PALE)
        d.box(x + 3, 130, width - 6, 44, colour=RIGHT, fill=PALE)
        d.words(x + width / 2, 222, f"epoch {i}" if i > 1 else "1", size=13)
        d.words(x + width / 2, 157, "*S*, reset" if i > 2 else "*S*", colour=RIGHT)
        bag = (f"from bag {i - 1}" if i > 2 else "bag 1") if i > 1 else "any"
        d.words(x + width / 2, 47, bag, colour=LEFT, size=15 if i > 1 else 13)
    for i, ((x, width), (later, next_width)) in enumerate(pairwise(spans), 1):
        middle = x + width
        d.line((x + width / 2, 128), (middle, 98), colour=GOOD)
        d.arrow((middle, 98), (later + next_width / 2, 67), colour=GOOD)
        d.dot(middle, 98, 13, colour=GOOD)
        d.words(middle, 103, str(i), size=13, colour=ON)
    d.words(700, 14, "left arms", anchor="end", size=13, colour=LEFT)
    d.words(700, 125, "right arms", anchor="end", size=13, colour=RIGHT)
    return d


def multisbm() -> Drawing:
    """MultiSBM's loop: the right arm of a round is the left arm of the next one."""
    d = Drawing(
        210,
        "Three rounds of MultiSBM. The left arm picks the machine that answers it; the machine "
        "names the right arm; the outcome goes back to that machine alone; the right arm becomes "
        "the left arm of the next round.",
    )
    for i, (x, y) in enumerate((("a", "c"), ("c", "b"), ("b", "b"))):
        at = 30 + 235 * i
        d.words(at + 90, 20, f"round {i + 1}", size=13)
        d.dot(at + 25, 75, 20, colour=LEFT)
        d.words(at + 25, 81, x, size=18, colour=ON)
        d.box(at + 62, 48, 60, 54, fill=PALE)
        d.words(at + 92, 81, f"*S_{x}*", size=19)
        d.dot(at + 160, 75, 20, colour=RIGHT)
        d.words(at + 160, 81, y, size=18, colour=ON)
        d.arrow((at + 46, 75), (at + 60, 75))
        d.arrow((at + 123, 75), (at + 138, 75))
        d.arrow((at + 160, 97), (at + 160, 130), (at + 92, 130), (at + 92, 105), colour=GOOD)
        d.words(at + 128, 147, "the choice", size=13, colour=GOOD)
        if i < 2:
            d.arrow((at + 181, 75), (at + 237, 75), stroke_dasharray="6 4")
    d.words(360, 180, "a right arm becomes the next left arm", size=14)
    d.words(360, 202, "in the end the best arm meets itself, and one machine pays", size=14)
    return d


def champion() -> Drawing:
    """Champion: one left arm for an epoch; the arm played most against it is the next."""
    d = Drawing(
        200,
        "Champion's epochs on a line. In each epoch one arm stands on the left, and its own "
        "machine plays challengers on the right. The arm played most is the next champion: first "
        "a, then c, then b for good. The machines are never reset.",
    )
    rivals = ("c", "cb", "cabb", "bcbbabbb", "bbbbbbbabbbbbbbb")
    spans = epochs(d, 165, [len(arms) for arms in rivals])
    for (x, width), who, arms in zip(spans, "acbbb", rivals, strict=True):
        d.box(x + 2, 18, width - 4, 44, colour=LEFT, fill=PALE)
        d.words(x + width / 2, 46, who if width < 90 else f"{who} stands", colour=LEFT, size=16)
        for j, arm in enumerate(arms):
            d.words(x + (j + 0.5) * width / len(arms), 150, arm, size=14, colour=RIGHT)
    for (x, width), (later, _) in pairwise(spans):
        d.arrow((x + width * 0.6, 134), (later + 8, 66), colour=GOOD)
    d.words(700, 12, "left: the champion", anchor="end", size=13, colour=LEFT)
    d.words(700, 128, "right: its machine's arms", anchor="end", size=13, colour=RIGHT)
    d.words(705, 192, "rounds", anchor="end", size=13)
    return d


# --- UCB


def ucb_run(T: int = 200, mu: Iterable[float] = (0.8, 0.65, 0.5, 0.3), seed: int = 3) -> UCB:
    """UCB(1) after T rounds of a Bernoulli bandit with these means."""
    rng, mu = np.random.default_rng(seed), list(mu)
    S = UCB(len(mu), rng, alpha=1.0)
    for _ in range(T):
        S.feedback(float(rng.random() < mu[S.advance()]))
    return S


def bar(d: Drawing, x: float, low: float, middle: float, high: float, colour: str = INK) -> None:
    """A confidence bar with its mean; heights are pixels."""
    d.line((x, low), (x, high), colour=colour, width=3)
    for y in (low, high):
        d.line((x - 9, y), (x + 9, y), colour=colour, width=3)
    d.dot(x, middle, 6, colour=colour)


def ucb() -> Drawing:
    """A run of UCB: means, bars and pulls after 200 rounds."""
    mu, T = (0.8, 0.65, 0.5, 0.3), 200
    S = ucb_run(T, mu)
    pulls = [int(n) for n in S.pulls]
    d = Drawing(
        280,
        f"UCB(1) after {T} rounds on four arms. Each arm has an estimate, a confidence bar and its "
        f"true mean. The pulls are {', '.join(map(str, pulls))}: the best arm has a short bar, the "
        "others were pulled just until the tops of their bars fell below its top.",
    )

    def height(value: float) -> float:
        return 222 - 145 * value

    radius = [sqrt(3 * log(T) / (2 * n)) for n in pulls]
    top = max(float(S.mean[i]) + r for i, r in enumerate(radius))
    d.line((70, height(top)), (690, height(top)), colour=GOOD, width=1, stroke_dasharray="4 4")
    d.words(690, height(top) - 6, "the largest index is played", anchor="end", size=13, colour=GOOD)
    for i, (n, r) in enumerate(zip(pulls, radius, strict=True)):
        x, mean = 150 + 140 * i, float(S.mean[i])
        bar(d, x, height(max(mean - r, -0.15)), height(mean), height(mean + r), RIGHT)
        d.line((x - 22, height(mu[i])), (x + 22, height(mu[i])), width=2)
        d.words(x, 272, f"arm {i + 1}: {n} pulls", size=14)
    for value in (0, 1):
        d.line((70, height(value)), (690, height(value)), width=0.7, opacity=0.5)
        d.words(60, height(value) + 5, str(value), anchor="end", size=13)
    d.words(30, 30, "bar: where UCB sees the mean; tick: the true mean", anchor="start", size=13)
    return d


CAUSES = {
    "the best arm looks bad": (((150, 120, 90), 70), ((140, 110, 80), 120)),
    "the bad arm looks good": (((100, 75, 50), 70), ((95, 70, 45), 120)),
    "its bar is still long": (((95, 75, 55), 70), ((195, 120, 45), 120)),
}


def causes() -> Drawing:
    """The three causes of a bad pull."""
    d = Drawing(
        235,
        "Why a bad arm is pulled: the whole bar of the best arm lies below its mean; or the whole "
        "bar of the bad arm lies above its mean; or the bar of the bad arm is longer than the gap. "
        "There is no fourth cause.",
    )
    for i, (cause, bars) in enumerate(CAUSES.items()):
        left = 25 + 235 * i
        d.box(left, 5, 205, 222, fill="none")
        d.words(left + 102, 218, cause, size=14)
        for x, (places, truth), colour in zip((65, 145), bars, (LEFT, RIGHT), strict=True):
            bar(d, left + x, *places, colour)
            d.line((left + x - 24, truth), (left + x + 24, truth), width=2)
        d.words(left + 65, 28, "best", size=13, colour=LEFT)
        d.words(left + 145, 28, "bad", size=13, colour=RIGHT)
    return d


# --- sets of arms


def cloud() -> np.ndarray:
    """A set of arms in the plane."""
    rng = np.random.default_rng(5)
    return rng.normal(size=(22, 2)) @ np.array([[85.0, 20.0], [0.0, 42.0]])


def spanner_of(arms: np.ndarray) -> tuple[int, int]:
    """The pair of arms of largest determinant, which is a barycentric spanner.

    >>> B = cloud()[list(spanner_of(cloud()))]
    >>> bool((abs(np.linalg.solve(B.T, cloud().T)) <= 1 + 1e-12).all())
    True
    """
    pairs = combinations(range(len(arms)), 2)
    return max(pairs, key=lambda pair: abs(np.linalg.det(arms[list(pair)])))


def spanner() -> Drawing:
    """A barycentric spanner: every arm is a combination with coefficients in [-1, 1]."""
    d = Drawing(
        270,
        "Arms as points in the plane, and two of them as arrows from the origin: a spanner. Every "
        "arm lies in the parallelogram of combinations with coefficients between -1 and 1.",
    )
    arms, centre = cloud(), np.array([270.0, 125.0])
    one, two = (arms[i] for i in spanner_of(arms))
    corners = [centre + a * one + b * two for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    d.add("polygon", points=path, fill=PALE, stroke=GOOD, stroke_dasharray="6 4")
    for x, y in arms + centre:
        d.dot(x, y, 4)
    for end, name, colour in ((one, "*b_1*", LEFT), (two, "*b_2*", RIGHT)):
        d.arrow(tuple(centre), tuple(centre + end), colour=colour, width=3)
        beyond = 24 * end / np.linalg.norm(end)
        d.words(*(centre + end + beyond + np.array([0, 6])), name, size=18, colour=colour)
    d.words(700, 120, "try two arms,", anchor="end", size=14)
    d.words(700, 140, "and know them all:", anchor="end", size=14)
    d.words(700, 165, "*x* = *a* *b_1* + *c* *b_2*", anchor="end")
    d.words(700, 187, "with *a*, *c* in [−1, 1]", anchor="end", size=14)
    return d


# --- Sparring and best responses


def leads(T: int = 1200, gap: float = 0.3, seed: int = 16) -> np.ndarray:
    """The leads of the good arm in the left and right machines' means, one row for each round."""
    rng, P = np.random.default_rng(seed), [[0.5, (1 - gap) / 2], [(1 + gap) / 2, 0.5]]
    S_L, S_R = (UCB(2, rng, alpha=1.0) for _ in range(2))
    path = []
    for _ in range(T):
        x, y = S_L.advance(), S_R.advance()
        b = float(rng.random() < P[x][y])
        S_L.feedback(1 - b)
        S_R.feedback(b)
        path.append([S.mean[0] - S.mean[1] for S in (S_L, S_R)])
    return np.array(path)


def sparring() -> Drawing:
    """Sparring's plane of two leads, with one run."""
    d = Drawing(
        330,
        "The plane of two leads: to the right the left machine prefers the good arm, upwards the "
        "right machine does. One run of Sparring, chosen because it errs, visits the lower left "
        "corner, where both are wrong and nothing tells them so, and ends in the upper right one.",
    )
    cx, cy, size = 300, 170, 150
    d.box(cx, cy - size, size, size, colour="none", fill=GOOD, opacity=0.14)
    d.box(cx - size, cy, size, size, colour="none", fill=RIGHT, opacity=0.14)
    d.arrow((cx - size, cy), (cx + size + 15, cy))
    d.arrow((cx, cy + size), (cx, cy - size - 17))
    path = leads()
    points = [(cx + size * a, cy - size * b) for a, b in path[np.isfinite(path).all(axis=1)]]
    d.line(*points[:40], *points[40::10], colour=LEFT, width=1.3)
    d.dot(*points[0], 5, colour=RIGHT)
    d.dot(*points[-1], 5, colour=GOOD)
    d.words(cx + size + 25, cy + 5, "lead on the left", anchor="start", size=14)
    d.words(cx + 12, 11, "lead on the right", anchor="start", size=14)
    d.words(cx + size + 25, 70, "both machines lead", anchor="start", size=14, colour=GOOD)
    d.words(cx + size + 25, 88, "with the good arm", anchor="start", size=14, colour=GOOD)
    words = ("both lead with", "the bad arm: its", "duels are fair,", "and teach nothing")
    for i, line in enumerate(words):
        d.words(cx - size + 8, cy + 90 + 17 * i, line, anchor="start", size=13, colour=RIGHT)
    return d


def responses(P: np.ndarray) -> list[int]:
    """The best response to each arm: the arm that beats it most often.

    >>> responses(circle_table().P)
    [0, 3, 1, 2]
    """
    return [int(y) for y in np.argmax(P, axis=1)]


def circle_table() -> Preferences:
    """Arm 0 beats each of three others with .6; these beat each other in a circle with .9."""
    eps = np.zeros((4, 4))
    eps[0, 1:] = 0.1
    eps[1, 2] = eps[2, 3] = eps[3, 1] = 0.4
    return Preferences(0.5 - (eps - eps.T), "circle")


def arrows(table: Preferences, names: str, alt: str, note: str) -> Drawing:
    """The graph of best responses of a table: the winner in the middle."""
    best = responses(table.P)
    at = ring(table.best, best, np.array([250.0, 130.0]))
    d = Drawing(round(max(y for _, y in at.values())) + 25, alt)
    for x, y in enumerate(best):
        if x != y:
            step = (at[y] - at[x]) / np.linalg.norm(at[y] - at[x])
            d.arrow(tuple(at[x] + 21 * step), tuple(at[y] - 23 * step), width=2)
    for x, place in at.items():
        d.dot(*place, 20, colour=GOOD if x == table.best else LEFT)
        d.words(place[0], place[1] + 6, names[x], size=17, colour=ON)
    for i, line in enumerate(note.split("; ")):
        d.words(700, d.height / 2 - 17 + 22 * i, line, anchor="end", size=14)
    return d


def ring(middle: int, best: list[int], centre: np.ndarray) -> dict[int, np.ndarray]:
    """The places of the arms: one in the centre, the others around it, beside their responses."""
    around = [x for x in range(len(best)) if x != middle]
    around.sort(key=lambda x: x if best[x] == middle else best[x])
    turns = [2 * pi * i / len(around) for i in range(len(around))]
    places = {x: centre + 105 * np.array([sin(a), -cos(a)]) for x, a in zip(around, turns)}
    return {middle: centre} | places


def yj() -> Drawing:
    """Best responses in the table YJ."""
    alt = "The table YJ: an arrow leads from each arm to the one that beats it most often. "
    alt += "Along the arrows every arm comes to arm A, the winner."
    note = "YJ: an arrow leads to the arm; that beats it most often; all ways end at the winner"
    return arrows(scenario("YJ"), "ABCDEF", alt, note)


def circle() -> Drawing:
    """Best responses on a circle."""
    alt = "A circle of three arms that beat each other strongly. The winner beats each of them a "
    alt += "little, but no arrow leads to it: best responses go round for ever."
    note = "a circle: arm 1 beats the others,; but none of them has it; for its best response"
    return arrows(circle_table(), "1234", alt, note)


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    f.__name__: f
    for f in (
        game,
        machine,
        doubler,
        multisbm,
        champion,
        ucb,
        causes,
        spanner,
        sparring,
        yj,
        circle,
    )
}
