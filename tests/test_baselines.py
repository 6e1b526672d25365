"""Interleaved Filter and Beat-the-Mean, duel by duel against slow readings of the two papers."""

from functools import partial
from math import log, sqrt

import numpy as np
import pytest
from conftest import Logged, at_reference, new_game, plain
from hypothesis import given, settings
from hypothesis import strategies as st

from dueling import BTMB, IF, Preferences, simulate

# The slow readings: a list of all comparisons, everything else recomputed from it in every step


def slow_if(K, duel, rounds, version, scale, delta):
    """IF (Yue, Broder, Kleinberg, Joachims 2012). ``duel(x, y)`` is True when y wins.

    The candidate meets the remaining arms round-robin. After a full round, arms that it beats with
    confidence go; if one beats it with confidence, that arm (the surest, then the first) becomes
    the candidate, in IF2 after all arms that look worse than the old candidate have gone; all
    estimates are renewed.
    """
    hat, rivals, won, played = 0, list(range(1, K)), {}, []

    def share(b):
        return sum(won[b]) / len(won[b])  # of b against the candidate

    while len(played) < rounds:
        if not rivals:
            duel(hat, hat)
            played.append((hat, hat))
            continue
        for b in rivals[: rounds - len(played)]:
            won.setdefault(b, []).append(duel(hat, b))
            played.append((hat, b))
        if len(played) == rounds:
            break
        c = sqrt(scale * log(1 / delta) / len(won[rivals[0]]))
        rivals = [b for b in rivals if not share(b) + c < 1 / 2]
        sure = [b for b in rivals if share(b) - c > 1 / 2]
        if sure:
            if version == 2:
                rivals = [b for b in rivals if not share(b) < 1 / 2]
            hat = max(sure, key=share)
            rivals, won = [b for b in rivals if b != hat], {}
    return played


def slow_btmb(K, duel, draw, rounds, scale, gamma, delta, self_duels):
    """Beat-the-Mean (Yue, Joachims 2011). ``draw(arms)`` picks one of a list at random.

    Of the arms left, one with the fewest comparisons meets a random one of them. As soon as the
    confidence intervals of the lowest and the highest mean part, the lowest arm goes, with every
    comparison in which it took part.
    """
    left, record, played = list(range(K)), [], []

    def comparisons(b):
        return [won for a, o, won in record if a == b and o in left]

    def mean(b):
        mine = comparisons(b)
        return sum(mine) / len(mine) if mine else 1 / 2

    while len(played) < rounds:
        fewest = min(len(comparisons(b)) for b in left)
        b = draw([a for a in left if len(comparisons(a)) == fewest])
        if len(left) == 1:
            duel(b, b)
            played.append((b, b))
            continue
        o = draw([a for a in left if self_duels or a != b])
        record.append((b, o, not duel(b, o)))
        played.append((b, o))
        n = min(len(comparisons(a)) for a in left)
        c = scale * gamma**2 * sqrt(log(1 / delta) / n) if n else 1
        if min(map(mean, left)) + c <= max(map(mean, left)) - c:
            left.remove(min(left, key=mean))
    return played


def table(K, seed):
    """A random antisymmetric table with sure outcomes, or one whose later arms are better."""
    rng = np.random.default_rng([seed, K])
    values = [0.75, 0.8, 0.85, 0.45] if seed % 3 == 0 else [0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0]
    upper = np.triu(rng.choice(values, (K, K)), 1)
    return upper + np.tril(1 - upper.T, -1) + np.eye(K) / 2


class Tape:
    """Outcomes fixed in advance for each ordered pair: the k-th duel of (x, y) has one outcome."""

    def __init__(self, P, seed):
        self.P, self.seed, self.k = P, seed, {}

    def __call__(self, x, y):
        k = self.k[x, y] = self.k.get((x, y), 0) + 1
        return np.random.default_rng([self.seed, x, y, k]).random() < self.P[x, y]


class Taped(Logged):
    def __init__(self, P, T, tape, rng):
        super().__init__(P, T, rng)
        self.tape = tape

    def play(self, x, y):
        self.P = np.full_like(self.P, self.tape(x, y))
        return super().play(x, y)


class Free:
    """A generator for the games whose outcomes are taped."""

    def random(self):
        return 0.5


def if_duels(algorithm, P, T, seed):
    game = Taped(P, T, Tape(P, seed), Free())
    algorithm.play(game, compile=False)
    return [(x, y) for x, y, _ in game.duels]


def check_if(IF, P, T, seed, version, scale, delta):
    ours = if_duels(IF(version, scale, delta=delta), P, T, seed)
    assert ours == slow_if(len(P), Tape(P, seed), T, version, scale, delta)


def check_btmb(BTMB, P, T, seed, scale, gamma, delta, self_duels):
    """Both sides draw from equal generators: the arm, the opponent, the outcome, in this order."""
    game = Logged(P, T, np.random.default_rng(seed))
    BTMB(scale, gamma, delta=delta, self_duels=self_duels).play(game, compile=False)
    rng = np.random.default_rng(seed)

    def draw(arms):
        return arms[int(rng.random() * len(arms))]

    def duel(x, y):
        return rng.random() < P[x, y]

    want = slow_btmb(len(P), duel, draw, T, scale, gamma, delta, self_duels)
    assert [(x, y) for x, y, _ in game.duels] == want


seeds, arms = st.integers(0, 10**6), st.integers(2, 6)


@settings(max_examples=80)
@given(
    seed=seeds,
    K=arms,
    T=st.integers(1, 150),
    version=st.sampled_from([1, 2]),
    scale=st.sampled_from([0.3, 1.0, 4.0]),
    delta=st.sampled_from([0.05, 0.5]),
)
def test_if_makes_the_duels_of_the_slow_reading(seed, K, T, version, scale, delta):
    check_if(IF, table(K, seed), T, seed, version, scale, delta)


@settings(max_examples=60)
@given(
    seed=seeds,
    K=arms,
    T=st.integers(1, 120),
    scale=st.sampled_from([0.2, 0.5, 1.0]),
    gamma=st.sampled_from([1.0, 1.3]),
    delta=st.sampled_from([0.05, 0.5]),
    self_duels=st.booleans(),
)
def test_btmb_makes_the_duels_of_the_slow_reading(seed, K, T, scale, gamma, delta, self_duels):
    check_btmb(BTMB, table(K, seed), T, seed, scale, gamma, delta, self_duels)


def drawn(rng, arms):
    return arms[int(rng.random() * len(arms))]


def test_the_slow_readings_reach_every_branch():
    """The comparisons above see eliminations, new candidates and finished tournaments."""
    ends = {"IF1": set(), "IF2": set(), "BTMB": set()}
    for seed in range(40):
        P = table(5, seed)
        for version in (1, 2):
            duels = slow_if(5, Tape(P, seed), 150, version, 0.3, 0.5)
            ends[f"IF{version}"].add((len({x for x, _ in duels}), duels[-1][0] == duels[-1][1]))
        rng = np.random.default_rng(seed)
        duels = slow_btmb(5, Tape(P, seed), partial(drawn, rng), 150, 0.2, 1, 0.5, False)
        ends["BTMB"].add(duels[-1][0] == duels[-1][1])
    assert {(1, True), (2, True), (3, True)} <= ends["IF1"] & ends["IF2"]
    assert ends["BTMB"] == {True}


def test_if1_and_if2_differ_by_pruning_only():
    differ = 0
    for seed in range(60):
        one, two = (if_duels(IF(v, 1.0, delta=0.3), table(6, seed), 150, seed) for v in (1, 2))
        differ += one != two
        first = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), None)
        if first is not None:  # up to there a candidate fell, and after it IF2 meets fewer arms
            assert two[first][0] != 0
    assert 5 < differ < 60


# Constants


@pytest.mark.parametrize(
    "algorithm, delta",
    [
        (IF(), 1 / (1000 * 9)),
        (IF(horizon=50), 1 / (50 * 9)),
        (IF(delta=0.01, horizon=50), 0.01),
        (BTMB(), 1 / (2 * 1000 * 3)),
        (BTMB(horizon=50), 1 / (2 * 50 * 3)),
        (BTMB(delta=0.2), 0.2),
    ],
    ids=str,
)
def test_delta_follows_the_horizon(algorithm, delta):
    (c,) = algorithm.parts(new_game(table(3, 0), 1000))
    assert c.delta == pytest.approx(delta, rel=1e-15)


def test_defaults_are_those_of_the_papers():
    game = new_game(table(3, 0), 10)
    (c,), (d,) = IF().parts(game), BTMB().parts(game)
    assert (c.scale, c.prune) == (4, True)
    assert (d.scale, d.gamma, d.self_duels) == (3, 1, True)
    assert IF(1).parts(game)[0].prune is False


def test_names_tell_what_is_not_default():
    assert str(IF()) == "IF2(scale=4)" and str(IF(1, 1)) == "IF1(scale=1)"
    assert str(IF(delta=0.1, horizon=7)) == "IF2(scale=4, delta=0.1, horizon=7)"
    assert str(BTMB()) == "BTMB(scale=3)"
    assert str(BTMB(1, 1.5, self_duels=False)) == "BTMB(scale=1, gamma=1.5, self_duels=False)"


def test_btmb_opponent_is_drawn_from_all_of_W_or_without_b():
    def self_duels(**option):
        result = plain(Preferences(np.full((4, 4), 0.5)), BTMB(**option), T=400, runs=2)
        return result.plays.sum(axis=(0, 1)).trace() / 800

    assert self_duels(self_duels=False) == 0
    assert abs(self_duels(self_duels=True) - 0.25) < 5 * (3 / 16 / 800) ** 0.5


@pytest.mark.parametrize("algorithm", [IF(1, 1), IF(2, 1), BTMB(0.5)], ids=str)
def test_the_winner_of_a_clear_tournament_duels_itself(algorithm):
    P = np.array([[0.5, 0.02, 0.02], [0.98, 0.5, 0.5], [0.98, 0.5, 0.5]])
    for seed in range(10):
        game = Logged(P, 1500, np.random.default_rng(seed))
        algorithm.play(game, compile=False)
        assert {(x, y) for x, y, _ in game.duels[-100:]} == {(0, 0)}


# Reference values: arith/linear, T = 32000, 400 runs


@pytest.mark.parametrize(
    "algorithm, mean, error",
    [
        (IF(2, 4.0), 3874, 45),
        (IF(2, 1.0), 1037, 16),
        (BTMB(1.0, self_duels=False), 2140, 13),
        (BTMB(1.0, self_duels=True), 3750, 14),
        (BTMB(3.0, self_duels=False), 8666, None),
        (BTMB(3.0, self_duels=True), 9243, None),
    ],
    ids=str,
)
def test_reference_value(algorithm, mean, error):
    assert at_reference(algorithm, mean, error)


def test_a_gamma_whose_square_no_float_holds_drops_no_arm():
    """The radius is infinite: every duel is one of the tournament, compiled and plain."""
    fast, slow = (simulate("YJ", BTMB(gamma=1e200), 60, 2, compiled=c) for c in (True, False))
    assert np.array_equal(fast.plays, slow.plays)
    assert (fast.advances == 10).all()
