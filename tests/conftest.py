"""Shared by several test files: comparing results, a reader's machine, two odd games, a browser."""

import shutil
import subprocess
from collections import defaultdict
from fractions import Fraction as F

import hypothesis
import numpy as np
import pytest

from dueling import simulate
from dueling.game import Game
from edition.release import browser as chromium

# A busy machine is no failure, and the same commit meets the same cases everywhere.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")

HALF = F(1, 2)
#: P[x, y] = Pr[the right arm y wins]: two and three arms, no two cells alike.
TWO = [[HALF, F(1, 5)], [F(4, 5), HALF]]
CYCLE = [[HALF, F(1, 3), F(3, 4)], [F(2, 3), HALF, F(2, 5)], [F(1, 4), F(3, 5), HALF]]


class Ten:
    """A reader's machine, epsilon-greedy: ten lines, no annotations."""

    def __init__(self, K, rng):
        self.K, self.rng, self.x = K, rng, 0
        self.n, self.s = np.ones(K), np.ones(K)

    def reset(self):
        self.n[:] = self.s[:] = 1

    def advance(self):
        greedy = self.rng.random() < 0.8
        self.x = int(np.argmax(self.s / self.n)) if greedy else int(self.rng.random() * self.K)
        return self.x

    def feedback(self, u):
        self.n[self.x] += 1
        self.s[self.x] += u


def other_checkout(folder):
    """The command that acts on a new checkout of some other project, which has one commit."""
    if not shutil.which("git"):
        pytest.skip("no git here")
    git = ("git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "theirs")):
        subprocess.run((*git, *words), check=True)
    return git


def plain(scenario, algorithm, T=40, runs=3, workers=1, **options):
    """A small simulation as plain Python, on one worker."""
    return simulate(scenario, algorithm, T, runs, compiled=False, workers=workers, **options)


def same(a, b):
    """Whether two results hold the same arrays, bit for bit."""
    assert np.array_equal(a.checkpoints, b.checkpoints)
    assert a.arrays.keys() == b.arrays.keys()
    pairs = [(a.arrays[name], b.arrays[name]) for name in a.arrays]
    return all(v.dtype == w.dtype and v.tobytes() == w.tobytes() for v, w in pairs)


def at_reference(algorithm, mean, error):
    """Whether 400 runs on arith/linear, T = 32000, agree with a published mean and its error."""
    result = simulate("arith/linear", algorithm, checkpoints=[32000], workers=2)
    ours = result.error()[-1]
    slack = 3 * np.hypot(ours, error) if error else 3 * ours + 0.01 * mean
    return abs(result.mean()[-1] - mean) < slack


def new_game(P, T, rng=None):
    """A game of T rounds over the table P."""
    return Game(np.array(P), T, np.array([T]), rng or np.random.default_rng(0))


class Logged(Game):
    """A game that remembers its duels (x, y, b)."""

    def __init__(self, P, T, rng=None):
        super().__init__(np.array(P), T, np.array([T]), rng or np.random.default_rng(0))
        self.duels = []

    def play(self, x, y):
        b = super().play(x, y)
        self.duels.append((x, y, b))
        return b


# All coin flips of a plain run, enumerated: the exact law of the text itself


class Coins:
    """A generator that takes every branch in turn: of ``u < p``, ``u * n < 1``, ``int(u * n)``."""

    def __init__(self):
        self.path, self.todo = [], True

    def start(self):
        self.at, self.weight = 0, F(1)

    def random(self):
        return Uniform01(self)

    def choose(self, chances):
        """The next of the outcomes 0.. with these chances, those of chance 0 left out."""
        options = [(k, p) for k, p in enumerate(chances) if p]
        if self.at == len(self.path):
            self.path.append([0, len(options)])
        k, p = options[self.path[self.at][0]]
        self.at += 1
        self.weight *= p
        return k

    def next_path(self):
        del self.path[self.at :]
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        self.todo = bool(self.path)


class Uniform01:
    """A uniform number of [0, n) that is only decided as far as the program asks."""

    def __init__(self, coins, n=1):
        self.coins, self.n = coins, n

    def __mul__(self, n):
        return Uniform01(self.coins, self.n * int(n))

    def __lt__(self, bound):
        p = F(bound) / self.n
        return bool(self.coins.choose([1 - p, p]))

    def __int__(self):
        return self.coins.choose([F(1, self.n)] * self.n)


def every_path(play):
    """Yield (probability, play(coins)) for all outcomes of all coin flips of ``play``."""
    coins = Coins()
    while coins.todo:
        coins.start()
        outcome = play(coins)
        yield coins.weight, outcome
        coins.next_path()


def exact_law(play):
    """The exact law of ``play(coins)``: outcome -> probability."""
    chance = defaultdict(int)
    for p, outcome in every_path(play):
        chance[outcome] += p
    return dict(chance)


def expected_plays(algorithm, P, T, Game=Game):
    """E #plays of each ordered pair in T rounds, as Fractions, by enumeration of the plain run."""
    table = np.array(P, dtype=object)

    def play(coins):
        game = Game(table, T, np.array([T]), coins)
        algorithm.play(game, compile=False)
        return game.plays.sum(axis=0)

    return sum(p * plays.astype(object) for p, plays in every_path(play))


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a process: Playwright does not start twice."""
    if not chromium.chromium():
        pytest.skip(chromium.MISSING)
    with chromium.launched() as running:
        yield running
