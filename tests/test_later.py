"""The algorithms since 2014: their exact law, or the duels of a second, slow text."""

from fractions import Fraction as F
from math import comb, inf, log, sqrt

import numpy as np
import pytest
from conftest import CYCLE, HALF, TWO, Coins, Logged, exact_law, expected_plays, new_game, same
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from test_exact import enumerate_plays

from dueling import Preferences, Sparring, TsallisINF, simulate
from dueling.game import Game
from dueling.later import (
    MOSS,
    RMED1,
    RUCB,
    DoubleThompson,
    ReducedTsallis,
    SelfSparring,
    VersatileDB,
    WinnerStays,
)
from dueling.later.record import drawn

ALL = [RUCB(), RMED1(), DoubleThompson(), SelfSparring(), WinnerStays(), VersatileDB()]


def wins(history, K):
    """w[x][y], how often x beat y, off a list of duels (x, y, b)."""
    w = [[0] * K for _ in range(K)]
    for x, y, b in history:
        if x != y:
            w[y if b else x][x if b else y] += 1
    return w


def upper(w, x, y, t, alpha):
    n = w[x][y] + w[y][x]
    return HALF if x == y else w[x][y] / n + sqrt(alpha * log(t) / n) if n else 2


# RUCB: the exact law, its state read off the whole history


def rucb(history, K, alpha, _):
    """[(probability, c, d)] after a history."""
    B = set()
    for t in range(1, len(history) + 2):
        w = wins(history[: t - 1], K)
        u = [[upper(w, x, y, t, alpha) for y in range(K)] for x in range(K)]
        C = {x for x in range(K) if all(v >= HALF for v in u[x])}
        B = C if len(C) == 1 else B & C
    chance = dict.fromkeys(range(K), F(1, K)) if not C else {c: F(1, len(C)) for c in C}
    if B and len(C) > 1:
        chance = {c: HALF if c in B else F(1, 2 * (len(C) - 1)) for c in C}
    for c, p in chance.items():
        best = [d for d in range(K) if u[d][c] == max(u[e][c] for e in range(K))]
        best = [d for d in best if d != c] if len(best) > 1 else best
        yield from ((p / len(best), c, d) for d in best)


@pytest.mark.slow
@pytest.mark.parametrize("P, T", [(TWO, 7), (CYCLE, 4)])
@pytest.mark.parametrize("alpha", [0.51, 2.0])
def test_rucb_has_its_exact_law(P, T, alpha):
    want = enumerate_plays(rucb, P, T, alpha, None)[-1]
    assert (expected_plays(RUCB(alpha), P, T) == want).all()


def test_rucb_reaches_a_single_candidate_and_meets_itself():
    """The law above has rounds with one candidate, with several beside B, and with none."""
    P = [[HALF, F(0)], [F(1), HALF]]
    assert (expected_plays(RUCB(), P, 8) == enumerate_plays(rucb, P, 8, 0.51, None)[-1]).all()
    assert expected_plays(RUCB(), P, 8)[0, 0] > 0
    loop = [[HALF, F(1), F(0)], [F(0), HALF, F(1)], [F(1), F(0), HALF]]  # nobody is unbeaten
    assert (expected_plays(RUCB(), loop, 6) == enumerate_plays(rucb, loop, 6, 0.51, None)[-1]).all()


@pytest.mark.slow
def test_the_exact_law_refuses_another_alpha():
    assert (expected_plays(RUCB(3), TWO, 7) != enumerate_plays(rucb, TWO, 7, 0.51, None)[-1]).any()


@pytest.mark.parametrize("C", [[1, 0, 1], [0, 1, 0], [1, 1, 1]])
def test_a_member_of_a_set_is_drawn_uniformly(C):
    flags = np.array(C, bool)
    want = {x: F(1, sum(C)) for x in range(3) if C[x]}
    assert exact_law(lambda coins: drawn(flags, coins)) == want


# RMED1 makes no choice at random: duel by duel against a slow text


def slow_rmed1(K, duel, rounds, f):
    """The paper's sets as Python sets; everything else recomputed from the list of duels.

    None where the two best are so near that the rounding of a sum decides.
    """
    record, near = [], []

    def play(x, y):
        if len(record) < rounds:
            record.append((x, y, duel(x, y)))

    def share(x, y):
        w = wins(record, K)
        n = w[x][y] + w[y][x]
        return F(w[x][y], n) if n else HALF

    def divergence(x):
        w, total = wins(record, K), 0.0
        for y in range(K):
            n, p = w[x][y] + w[y][x], float(share(x, y))
            if y != x and p <= 0.5:
                total += n * (rel_entr(p, 0.5) + rel_entr(1 - p, 0.5))
        return total

    def rival(x):
        apart = sorted(divergence(y) for y in range(K))
        near.append(apart[0] > 0 and apart[1] - apart[0] < 1e-9)
        star = min(range(K), key=lambda y: round(divergence(y), 9))
        ahead = {y for y in range(K) if y != x and share(x, y) <= HALF}
        if star in ahead or not ahead:
            return star
        return min((y for y in range(K) if y != x), key=lambda y: share(x, y))

    for x in range(K):
        for y in range(x + 1, K):
            play(x, y)
    loop = list(range(K))
    while len(record) < rounds:
        rest, after = set(loop), set()
        for x in loop:
            play(x, rival(x))
            rest.discard(x)
            apart = [divergence(y) for y in range(K)]
            limit = min(apart) + log(len(record)) + f
            after |= {y for y in range(K) if y not in rest and apart[y] <= limit}
        loop = sorted(after)
    return None if any(near) else [(x, y) for x, y, _ in record]


def tables(seed, K):
    rng = np.random.default_rng([seed, K])
    upper = np.triu(rng.choice([0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0], (K, K)), 1)
    return upper + np.tril(1 - upper.T, -1) + np.eye(K) / 2


def duels(algorithm, P, T, seed):
    game = Logged(P, T, np.random.default_rng(seed))
    algorithm.play(game, compile=False)
    return [(x, y) for x, y, _ in game.duels]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    K=st.integers(2, 5),
    T=st.integers(1, 60),
    f=st.sampled_from([0.0, 0.4, 2.0]),
)
def test_rmed1_makes_the_duels_of_the_slow_text(seed, K, T, f):
    P, rng = tables(seed, K), np.random.default_rng(seed)
    want = slow_rmed1(K, lambda x, y: int(rng.random() < P[x, y]), T, f)
    assume(want is not None)
    assert duels(RMED1(f), P, T, seed) == want


def test_the_slow_text_refuses_another_f():
    P, rng = tables(5, 4), np.random.default_rng(5)
    want = slow_rmed1(4, lambda x, y: int(rng.random() < P[x, y]), 60, 0.0)
    assert duels(RMED1(4.0), P, 60, 5) != want


def test_the_default_of_rmed1_is_that_of_its_authors_program():
    _, c = RMED1().parts(new_game(np.full((5, 5), 0.5), 3))
    assert c.f == pytest.approx(0.3 * 5**1.01)


# Double Thompson Sampling: exact law of two arms, where a draw decides by which side of 1/2 it is


class BetaCoins(Coins):
    """Coins that also toss the event that a Beta(a, b) is above 1/2, exactly."""

    def beta(self, a, b):
        return Side(self, int(a), int(b))


class Side:
    def __init__(self, coins, a, b):
        self.coins, self.chance = coins, above_half(a, b)

    def __gt__(self, other):
        assert other == 0.5
        return bool(self.coins.choose([1 - self.chance, self.chance]))


def above_half(a, b):
    """Pr[Beta(a, b) > 1/2] is Pr[fewer than a heads in a + b - 1 tosses]."""
    return F(sum(comb(a + b - 1, k) for k in range(a)), 2 ** (a + b - 1))


def double_thompson(history, K, alpha, _):
    """[(probability, x, y)] after a history of two arms; the table is always drawn."""
    w, t = wins(history, 2), len(history) + 1
    score = [upper(w, x, 1 - x, t, alpha) > HALF for x in (0, 1)]
    C = [x for x in (0, 1) if score[x] == max(score)]
    zero = above_half(w[0][1] + 1, w[1][0] + 1)
    for x, p in ((0, zero), (1, 1 - zero)) if len(C) == 2 else ((C[0], F(1)),):
        open_ = 1 - upper(w, x, 1 - x, t, alpha) <= HALF
        q = above_half(w[1 - x][x] + 1, w[x][1 - x] + 1) if open_ else F(0)
        yield from ((p * r, x, y) for r, y in ((q, 1 - x), (1 - q, x)) if r)


@pytest.mark.parametrize("P", [TWO, [[HALF, F(0)], [F(1), HALF]]])
def test_double_thompson_has_its_exact_law_on_two_arms(P, monkeypatch):
    monkeypatch.setattr("conftest.Coins", BetaCoins)
    want = enumerate_plays(double_thompson, P, 4, 0.51, None)[-1]
    assert (expected_plays(DoubleThompson(), P, 4) == want).all()
    assert (expected_plays(DoubleThompson(9), P, 4) != want).any()


def slow_double_thompson(K, duel, rng, rounds, alpha):
    """More arms: the same draws in the same order, sets and scores from the list of duels."""
    record = []
    while len(record) < rounds:
        w, t = wins(record, K), len(record) + 1
        u = [[upper(w, x, y, t, alpha) for y in range(K)] for x in range(K)]
        likely = [sum(v > 0.5 for v in row) for row in u]
        C = [x for x in range(K) if likely[x] == max(likely)]
        if len(C) > 1:
            theta = np.full((K, K), 0.5)
            for x in range(K):
                for y in range(x):
                    theta[x, y] = rng.beta(w[x][y] + 1, w[y][x] + 1)
                    theta[y, x] = 1 - theta[x, y]
            most = max((theta[x] > 0.5).sum() for x in C)
            C = [x for x in C if (theta[x] > 0.5).sum() == most]
        x = C[int(rng.random() * len(C))] if len(C) > 1 else C[0]
        rivals = {x: 0.5}
        for y in range(K):
            if y != x and 1 - u[x][y] <= 0.5:
                rivals[y] = rng.beta(w[y][x] + 1, w[x][y] + 1)
        y = max(rivals, key=rivals.get)
        record.append((x, y, duel(x, y)))
    return [(x, y) for x, y, _ in record]


def slow_self_sparring(K, duel, rng, rounds, eta):
    wins, losses, played = np.ones(K), np.ones(K), []
    for _ in range(rounds):
        pair = [int(np.argmax(rng.beta(wins, losses))) for _ in range(2)]
        b = duel(*pair)
        wins[pair[b]] += eta
        losses[pair[1 - b]] += eta
        played.append(tuple(pair))
    return played


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "algorithm, slow, value",
    [
        (DoubleThompson(), slow_double_thompson, 0.51),
        (DoubleThompson(2), slow_double_thompson, 2.0),
        (SelfSparring(), slow_self_sparring, 1.0),
        (SelfSparring(0.3), slow_self_sparring, 0.3),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_posteriors_make_the_duels_of_the_slow_text(algorithm, slow, value, seed):
    K, T = 2 + seed % 4, 150
    P, rng = tables(seed, K), np.random.default_rng(seed)

    def duel(x, y):
        return int(rng.random() < P[x, y])

    assert duels(algorithm, P, T, seed) == slow(K, duel, rng, T, value)


def test_the_slow_texts_refuse_other_constants():
    P, rng = tables(3, 4), np.random.default_rng(3)

    def duel(x, y):
        return int(rng.random() < P[x, y])

    assert duels(SelfSparring(2), P, 150, 3) != slow_self_sparring(4, duel, rng, 150, 1.0)


# Winner Stays: the exact law, as the paper's analysis sees it: rounds of gambler's ruin


def winner_stays(history, K, beta, _):
    """[(probability, x, y)] after a history: who stays, and who has not played in this round."""
    todo, lead, i, length = list(history), [0] * K, 1, beta
    options = [(F(1, K * (K - 1)), x, y) for x in range(K) for y in range(K) if x != y]
    while True:
        unplayed, over = set(range(K)), False
        while not over:
            if not todo:
                return options
            x, y, b = todo.pop(0)
            lead[(x, y)[b]] += 1
            lead[(x, y)[1 - b]] -= 1
            unplayed -= {x, y}
            stays, goes = (x, y) if lead[x] >= lead[y] else (y, x)
            options, ruined = [(F(1), stays, goes)], lead[goes] == -i
            if ruined and unplayed:
                options = [(F(1, len(unplayed)), stays, z) for z in unplayed]
            over = ruined and not unplayed
        for _ in range(int(length)):
            if not todo:
                return [(F(1), stays, stays)]
            todo.pop(0)
        options, i, length = [(F(1), stays, goes)], i + 1, length * beta


@pytest.mark.parametrize("P, T", [(TWO, 9), (CYCLE, 6)])
@pytest.mark.parametrize("beta", [1.1, 2.0])
def test_winner_stays_has_its_exact_law(P, T, beta):
    want = enumerate_plays(winner_stays, P, T, beta, None)[-1]
    assert (expected_plays(WinnerStays(beta), P, T) == want).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_round_of_winner_stays_ends_when_all_others_lost_once_more(seed):
    """Before each exploiting phase one arm has won (K - 1) i more than it lost, the others -i."""
    K, beta, i = 4, 1.5, 1
    game = Logged(tables(seed, K), 3000, np.random.default_rng(seed))
    WinnerStays(beta).play(game, compile=False)
    lead, idle = [0] * K, 0
    for x, y, b in game.duels:
        if x == y:
            if not idle:
                assert sorted(lead) == [-i] * (K - 1) + [(K - 1) * i] and lead[x] == max(lead)
            idle += 1
            continue
        if idle:
            assert idle == int(np.prod([beta] * i))
            i, idle = i + 1, 0
        lead[(x, y)[b]] += 1
        lead[(x, y)[1 - b]] -= 1
        assert min(lead) >= -i
    assert i > 5


# Versatile-DB and the machines


def test_winner_stays_ends_with_its_game():
    class Watched(Game):
        late = 0

        def on(self):
            self.late += self.t >= self.T
            return super().on()

    game = Watched(np.array(CYCLE, float), 50, np.array([50]), np.random.default_rng(1))
    WinnerStays(1000).play(game, compile=False)
    assert game.t == 50 and game.late <= 3


def test_versatile_db_with_weighted_losses_is_sparring_of_tsallis():
    ours, theirs = (
        simulate("YJ", a, 500, 3) for a in (VersatileDB("weighted"), Sparring(TsallisINF))
    )
    assert same(ours, theirs)


def test_the_reduced_estimator_is_unbiased_and_has_the_weights_of_its_losses():
    S, rng = ReducedTsallis(3, np.random.default_rng(4)), np.random.default_rng(5)
    bases = set()
    for t in range(1, 300):
        S.advance()
        p, loss, u = S.p.copy(), S.loss.copy(), (0.9, 0.5, 0.1)
        root = 2 * sqrt(t) / 4 / np.sqrt(p)  # p = 4 / (eta (L - z))^2, so L - z is this
        assert np.ptp(S.loss - root) < 1e-6 * (1 + abs(S.loss).max()) and p.sum() == pytest.approx(
            1
        )
        estimate = np.zeros(3)
        for x in range(3):
            S.loss[:], S.x, S.t = loss, x, t
            S.feedback(u[x])
            estimate += p[x] * (S.loss - loss)
        assert np.allclose(estimate, 1 - np.array(u), atol=1e-9)
        bases |= set(p >= 16 / t)
        x = int(rng.choice(3, p=p / p.sum()))
        S.loss[:], S.x, S.t = loss, x, t
        S.feedback(float(rng.random() < u[x]))
    assert bases == {True, False}


def test_moss_plays_the_largest_index_of_the_slow_formula():
    S, record, rng = MOSS(3, np.random.default_rng(1), horizon=60), [], np.random.default_rng(2)
    zero = 0
    for _ in range(200):
        index = []
        for x in range(3):
            rewards = [u for arm, u in record if arm == x]
            n = len(rewards)
            bonus = max(0, log(60 / (3 * n))) / n if n else inf
            zero += bonus == 0
            index.append(sum(rewards) / n + sqrt(bonus) if n else inf)
        x = S.advance()
        assert index[x] >= max(index) - 1e-12
        record.append((x, int(rng.random() < (0.8, 0.7, 0.2)[x])))
        S.feedback(record[-1][1])
    assert 0 < zero < 600


# All of them


@pytest.mark.parametrize("algorithm", ALL, ids=str)
@pytest.mark.parametrize("T", [1, 2, 5, 10, 50])
def test_every_algorithm_plays_exactly_T_rounds(algorithm, T):
    game = Game(np.array(CYCLE, float), T, np.array([T]), np.random.default_rng(T))
    algorithm.play(game, compile=False)
    assert game.t == T


@pytest.mark.parametrize("algorithm", ALL, ids=str)
def test_compiled_and_plain_runs_are_the_same(algorithm):
    game = Preferences(tables(4, 5), "z")
    fast, slow = (
        simulate(game, algorithm, 700, 2, compiled=c, regret="none") for c in (True, False)
    )
    assert same(fast, slow)


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: RUCB(0.5), "alpha is 0.5; it must be a number > 1/2"),
        (lambda: DoubleThompson(0), "alpha is 0; it must be a number > 1/2"),
        (lambda: RMED1(-1), "f is -1; it must be a number >= 0"),
        (lambda: SelfSparring(0), "eta is 0; it must be a number > 0"),
        (lambda: SelfSparring(1e308), "eta is 1e.308; it must be a number > 0 and <= 1e9"),
        (lambda: WinnerStays(1), "beta is 1; it must be a number > 1"),
        (lambda: VersatileDB("weight"), "did you mean 'weighted'"),
        (lambda: MOSS(3, None, horizon=0), "horizon is 0; it must be a whole number >= 1"),
    ],
)
def test_bad_constants_are_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm, low, high",
    [(RUCB(), 422, 427), (DoubleThompson(), 151, 160), (SelfSparring(), 154, 154)],
    ids=str,
)
def test_values_of_public_programs(algorithm, low, high):
    """arith/linear, T = 32000: means of published programs, and 400 runs of ours."""
    result = simulate("arith/linear", algorithm, checkpoints=[32000], workers=2)
    slack = 3 * np.sqrt(2) * result.error()[-1]  # as if theirs had as many runs
    assert low - slack < result.mean()[-1] < high + slack


@pytest.mark.parametrize(("t", "base"), [(31, 0.0), (32, 0.5)])  # 16 / t is below 1/2 from 32 on
def test_reduced_tsallis_has_its_base_line_from_the_border_on(t, base):
    S = ReducedTsallis(2, np.random.default_rng(1))
    S.p[:], S.t, S.x = 0.5, t, 0
    S.feedback(1.0)
    assert S.loss.tolist() == [base + (0 - base) / 0.5, base]
