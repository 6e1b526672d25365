"""UCB and KL-UCB against a slow reading of their formulas, Thompson against its posterior."""

from math import inf, log, log1p, sqrt

import numpy as np
import pytest
from conftest import TWO, F, exact_law, new_game
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import beta, chisquare

from dueling import (
    KLUCB,
    UCB,
    Bandit,
    Exp3,
    ExploreThenCommit,
    SuccessiveElimination,
    Thompson,
    TsallisINF,
)
from dueling.engine.algorithm import Single
from dueling.later.machines import kl, kl_upper
from dueling.reductions import multisbm

SURE = 1e-5  # the level of each chi-square test; seeds are fixed


def new(machine, K, seed=0, **parameters):
    return machine(K, np.random.default_rng(seed), **parameters)


def slow_index(history, x, alpha):
    """Algorithm 1 read off the whole history of (arm, reward), nothing kept in between."""
    rewards = [u for arm, u in history if arm == x]
    if not rewards:
        return np.inf
    t = len(history) + 1
    return sum(rewards) / len(rewards) + sqrt((alpha + 2) * log(t) / (2 * len(rewards)))


@settings(max_examples=60)
@given(
    K=st.integers(2, 5),
    alpha=st.sampled_from([-1.5, 0.0, 0.1, 2.0, 3.0]),
    ties=st.sampled_from(["random", "first"]),
    rewards=st.lists(st.one_of(st.sampled_from([0, 1]), st.floats(0, 1)), max_size=60),
)
def test_ucb_plays_the_largest_index_of_the_slow_formula(K, alpha, ties, rewards):
    S, history = new(UCB, K, alpha=alpha, ties=ties), []
    for u in rewards:
        index = [slow_index(history, x, alpha) for x in range(K)]
        x = S.advance()
        assert index[x] == max(index) or index[x] > max(index) - 1e-9
        S.feedback(u)
        history.append((x, u))
        assert S.pulls.tolist() == [sum(a == z for a, _ in history) for z in range(K)]


def test_the_slow_formula_refuses_a_wrong_constant():
    """The check above can fail: UCB(1) does not follow the index of UCB(3)."""
    S, history, rng = new(UCB, 3, alpha=1), [], np.random.default_rng(1)
    wrong = 0
    for _ in range(300):
        index = [slow_index(history, x, 3) for x in range(3)]
        x = S.advance()
        wrong += index[x] < max(index) - 1e-9
        u = float(rng.random() < (0.8, 0.5, 0.2)[x])
        S.feedback(u)
        history.append((x, u))
    assert wrong > 10


@pytest.mark.parametrize("ties", ["random", "first"])
@pytest.mark.parametrize("u", [0, 1])
def test_ucb_pulls_every_arm_once_before_any_twice(ties, u):
    S, seen = new(UCB, 7, seed=3, ties=ties), []
    for _ in range(7):
        seen.append(S.advance())
        S.feedback(u)
    assert sorted(seen) == list(range(7))


def test_the_clock_s_logarithm_has_the_same_bits_inside_and_beyond_the_table():
    S = new(UCB, 2)
    clocks = range(1, len(S.logs) + 100)
    assert [S.ln(t) for t in clocks] == [log(t) for t in clocks]


@pytest.mark.parametrize("alpha", [-1.0, 2.0, 3.0])
def test_alpha_2_is_the_radius_of_UCB1(alpha):
    """Arm 1 (all wins) is left for arm 0 (all losses) when sqrt((alpha+2)/2 ln t) says so."""
    S = new(UCB, 2, alpha=alpha, ties="first")
    for t in range(1, 400):
        x = S.advance()
        if t > 2:
            n0, n1 = S.pulls
            lead = 1 + sqrt((alpha + 2) / 2 * log(t) / n1) - sqrt((alpha + 2) / 2 * log(t) / n0)
            assert x == int(lead > 0)
        S.feedback(x)
    assert S.pulls[0] > 1


def test_the_clock_of_a_machine_counts_its_own_rounds():
    S = [new(UCB, 2, seed=x) for x in range(2)]
    game = new_game(np.array(TWO, float), 200)
    multisbm(S, game)
    advances = game.plays.sum(axis=(0, 2))
    assert [s.t for s in S] == [n + 1 for n in advances] and min(advances) > 5
    assert [s.pulls.sum() for s in S] == list(advances)


@pytest.mark.parametrize("u", [None, 0, 1])
def test_ties_are_broken_uniformly(u):
    """A fresh machine ties on all arms, and again after one equal reward for each of them."""
    seen = np.zeros(5)
    S = new(UCB, 5, seed=11)
    for _ in range(4000):
        S.reset()
        for _ in range(5 if u is not None else 0):
            S.advance()
            S.feedback(u)
        seen[S.advance()] += 1
    assert chisquare(seen).pvalue > SURE


def test_a_tie_of_two_arms_is_a_fair_coin_exactly():
    def play(coins):
        S = UCB(3, coins)
        S.pulls[:], S.t = 2, 7
        S.mean[:], S.narrow[:] = (0.5, 0.2, 0.5), 0.7
        return S.advance()

    assert exact_law(play) == {0: 1 / 2, 2: 1 / 2}


def test_first_index_ties_draw_nothing_and_go_up():
    S = UCB(4, None, ties="first")  # no generator: any draw would fail
    for x in (0, 1, 2, 3, 0):
        assert S.advance() == x
        S.feedback(0)


@pytest.mark.parametrize("machine", [UCB, KLUCB, Thompson, Exp3, TsallisINF])
def test_reset_forgets_everything(machine):
    S, fresh = new(machine, 3), new(machine, 3)
    rng = np.random.default_rng(5)
    for _ in range(30):
        S.advance()
        S.feedback(rng.random())
    S.reset()
    for name, value in vars(fresh).items():
        if name not in ("rng", "x", "p", "index"):  # these are set by every advance
            assert np.array_equal(getattr(S, name), value), name


# KL-UCB: the largest q with n kl(p, q) <= ln t + c ln(1 + ln t), by a root finder


def divergence(p, q):
    """kl(p, q), by terms that are accurate for p near q too; infinite for p < q = 1."""
    if q >= 1:
        return 0 if p >= 1 else inf
    first = -p * log1p((q - p) / p) if p > 0 else 0
    return first - (1 - p) * log1p((p - q) / (1 - p)) if p < 1 else first


def slow_upper(p, budget):
    if p >= 1 or budget <= 0:
        return p
    far = (1 - (1 - p) * 2.0**-k for k in range(1, 60))
    beyond = next(q for q in far if divergence(p, q) > budget)
    return brentq(lambda q: min(divergence(p, q), 1e9) - budget, p, beyond, xtol=1e-15)


@settings(max_examples=300)
@given(n=st.integers(1, 2000), wins=st.floats(0, 1), budget=st.floats(1e-3, 30))
def test_the_upper_end_of_kl_is_that_of_a_root_finder(n, wins, budget):
    p = int(wins * n) / n
    q = kl_upper(p, budget / n)
    assert q == pytest.approx(slow_upper(p, budget / n), abs=1e-9) and p <= q <= 1


def test_the_upper_end_of_kl_by_hand():
    assert kl_upper(1.0, 3.0) == 1 and kl_upper(0.3, 0.0) == 0.3
    assert kl_upper(0.0, log(4)) == pytest.approx(3 / 4)  # kl(0, q) = ln 1/(1 - q)
    assert kl(0.25, 0.5) == pytest.approx(log(2) - 0.25 * log(4) - 0.75 * log(4 / 3))
    assert all(kl_upper(p, b) < p + sqrt(b / 2) for p in (0.0, 0.3, 0.9) for b in (0.1, 2))


def kl_indices(history, K, c):
    """The indices of KL-UCB off the whole history of (arm, reward)."""
    t = len(history) + 1
    budget = log(t) + c * log(1 + log(t))
    rewards = [[u for arm, u in history if arm == x] for x in range(K)]
    return [slow_upper(sum(r) / len(r), budget / len(r)) if r else inf for r in rewards]


@settings(max_examples=40)
@given(
    K=st.integers(2, 5),
    c=st.sampled_from([0.0, 1.0, 3.0]),
    rewards=st.lists(
        st.one_of(st.sampled_from([0, 1]), st.floats(0, 1).map(lambda u: round(u, 6))), max_size=60
    ),
)
def test_kl_ucb_plays_the_largest_index_of_the_root_finder(K, c, rewards):
    S, history = new(KLUCB, K, c=c), []
    for u in rewards:
        index = kl_indices(history, K, c)
        x = S.advance()
        assert index[x] == max(index) or index[x] > max(index) - 1e-8
        S.feedback(u)
        history.append((x, u))


def test_the_root_finder_refuses_another_constant():
    S, history, rng, wrong = new(KLUCB, 3, c=3.0), [], np.random.default_rng(1), 0
    for _ in range(200):
        index = kl_indices(history, 3, 0.0)
        x = S.advance()
        wrong += index[x] < max(index) - 1e-8
        history.append((x, int(rng.random() < (0.8, 0.5, 0.2)[x])))
        S.feedback(history[-1][1])
    assert wrong > 10


@pytest.mark.parametrize("mu, T", [((F(4, 5), F(1, 3)), 8), ((F(1, 2), F(1, 4), F(1)), 5)])
def test_kl_ucb_has_the_exact_law_of_all_its_histories(mu, T):
    """Equal indices are ties: two arms alike, two unpulled ones, two that never lost."""

    def extend(history, p):
        if len(history) == T:
            pulls = tuple(sum(x == arm for arm, _ in history) for x in range(len(mu)))
            want[pulls] = want.get(pulls, 0) + p
            return
        index = kl_indices(history, len(mu), 3.0)
        best = [x for x in range(len(mu)) if index[x] == max(index) or max(index) - index[x] < 1e-9]
        for x in best:
            for u, chance in ((0, 1 - mu[x]), (1, mu[x])):
                if chance:
                    extend((*history, (x, u)), p * chance / len(best))

    def play(coins):
        bandit = Bandit(np.array(mu, dtype=object), T, np.array([T]), coins)
        Single(KLUCB).play(bandit, compile=False)
        return tuple(bandit.pulls.sum(axis=0).tolist())

    want = {}
    extend((), F(1))
    assert exact_law(play) == want


def test_thompson_counts_fractional_rewards():
    S = new(Thompson, 2)
    for u in (1, 0.25, 0):
        S.x = 1
        S.feedback(u)
    assert S.wins.tolist() == [1, 2.25] and S.losses.tolist() == [1, 2.75]


def test_thompson_plays_an_arm_with_its_posterior_chance_of_being_best():
    S = new(Thompson, 3, seed=2)
    S.wins[:], S.losses[:] = (3, 1, 2), (1, 1, 4)
    z = (np.arange(20000) + 0.5) / 20000
    law = [beta(a, b) for a, b in zip(S.wins, S.losses)]
    chance = [
        np.mean(law[x].pdf(z) * np.prod([law[y].cdf(z) for y in range(3) if y != x], axis=0))
        for x in range(3)
    ]
    seen = np.bincount([S.advance() for _ in range(6000)], minlength=3)
    assert chisquare(seen, 6000 * np.array(chance) / sum(chance)).pvalue > SURE


# The other machines, each decision against the formula read off the whole history


def exp3(L, t):
    weights = np.exp(-sqrt(log(len(L)) / (len(L) * t)) * (L - L.min()))
    return weights / weights.sum()


def tsallis(L, t):
    def p(z):
        return 4 / (2 / sqrt(t) * (L - z)) ** 2

    top = L.min()
    return p(brentq(lambda z: p(z).sum() - 1, top - 2 * sqrt(len(L) * t), top - 1e-9, xtol=1e-14))


@pytest.mark.parametrize("machine, formula", [(Exp3, exp3), (TsallisINF, tsallis)])
def test_adversarial_machines_follow_their_weights(machine, formula):
    S, rng, L = new(machine, 3), np.random.default_rng(4), np.zeros(3)
    for t in range(1, 200):
        x = S.advance()
        assert np.allclose(S.p, formula(L, t), atol=1e-9) and S.p.sum() == pytest.approx(1)
        u = rng.random() * (0.9, 0.6, 0.3)[x]
        L[x] += (1 - u) / formula(L, t)[x]
        S.feedback(u)


@pytest.mark.parametrize("machine", [Exp3, TsallisINF])
def test_adversarial_machines_draw_from_their_weights(machine):
    S = new(machine, 3, seed=9)
    S.loss[:], S.t = (1.0, 2.5, 4.0), 6
    seen = np.bincount([S.advance() for _ in range(5000)], minlength=3)
    assert chisquare(seen, 5000 * S.p).pvalue > SURE


@pytest.mark.parametrize("seed", range(4))
def test_successive_elimination_sweeps_and_drops(seed):
    K, T, rng = 4, 50, np.random.default_rng(seed)
    S, left, rewards = new(SuccessiveElimination, K, horizon=T), list(range(K)), {}
    while len(left) > 1 and sum(map(len, rewards.values())) < 3000:
        for x in left:
            assert S.advance() == x
            u = float(rng.random() < (0.95, 0.6, 0.3, 0.05)[x])
            S.feedback(u)
            rewards.setdefault(x, []).append(u)
        c = sqrt(log(2 * K * T**2) / (2 * len(rewards[left[0]])))
        best = max(np.mean(rewards[x]) for x in left)
        left = [x for x in left if not np.mean(rewards[x]) + c < best - c]
    assert left == [0] and S.advance() == 0
    S.reset()
    assert S.alive.all() and S.advance() == 0


@pytest.mark.parametrize("first, order", [(0, [0, 1, 2]), (2, [2, 0, 1]), (4, [1, 2, 0])])
def test_explore_then_commit(first, order):
    S = new(ExploreThenCommit, 3, rounds=2, first=first)
    played = []
    for t in range(12):
        played.append(S.advance())
        S.feedback(float(played[-1] == 1 and t < 6))
    assert played == [*order, *order, *[1] * 6]


def test_the_commitment_of_equal_arms_is_uniform():
    def play(coins):
        S = ExploreThenCommit(3, coins, rounds=1)
        for u in (0.5, 0.2, 0.5):
            S.advance()
            S.feedback(u)
        return S.advance()

    assert exact_law(play) == {0: 1 / 2, 2: 1 / 2}
