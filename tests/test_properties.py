"""What holds for every game: T duels, conserved counts, symmetries."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from conftest import Logged, Ten, every_path, new_game, plain
from hypothesis import given, settings
from hypothesis import strategies as st

from dueling import (
    BTMB,
    IF,
    KLUCB,
    UCB,
    Cardinal,
    Champion,
    Doubler,
    Exp3,
    ExploreThenCommit,
    Game,
    MultiSBM,
    Preferences,
    Single,
    Sparring,
    SuccessiveElimination,
    Thompson,
    TsallisINF,
    TwoSidedChampion,
    Uniform,
    Utilities,
    linear,
    logit,
    natural,
)
from dueling.game import Bandit

ALGORITHMS = [
    *(r(UCB, alpha=a) for r in (Sparring, MultiSBM, Doubler, Champion) for a in (-1.0, 3.0)),
    *(r(Ten) for r in (Sparring, MultiSBM, Doubler, TwoSidedChampion)),
    *(Champion(UCB, r=0.5), TwoSidedChampion(UCB, alpha=0.0), MultiSBM(KLUCB)),
    *(Sparring(Thompson), MultiSBM(Thompson), Sparring(UCB, right=Exp3), Doubler(TsallisINF)),
    *(MultiSBM(SuccessiveElimination, horizon=4), Sparring(ExploreThenCommit, rounds=2)),
    *(IF(1), IF(1, 0.2, delta=0.5), IF(2, 0.2, delta=0.5), BTMB(), BTMB(0.2, delta=0.5)),
    *(BTMB(0.2, delta=0.5, self_duels=False), Uniform()),
]
LINKS = {"linear": linear, "natural": partial(natural, zero=0.5), "logit": logit}

algorithms, horizons = st.sampled_from(ALGORITHMS), st.integers(1, 50)
seeds = st.integers(0, 2**32 - 1)
utilities = st.lists(st.integers(0, 16).map(lambda k: k / 16), min_size=2, max_size=6)
links = st.sampled_from(sorted(LINKS)).map(LINKS.get)


@st.composite
def tables(draw, biased=False):
    """A table of duels over 2 to 5 arms, sure outcomes among them."""
    K, sixteenths = draw(st.integers(2, 5)), st.integers(0, 16)
    P = np.array([[draw(sixteenths) / 16 for _ in range(K)] for _ in range(K)])
    return P if biased else np.triu(P, 1) + np.tril(1 - P.T, -1) + np.eye(K) / 2


def played(algorithm, P, T, seed):
    return played_with(algorithm, P, T, seed)[-1]


def played_with(algorithm, P, T, seed):
    """The machines and the game after T rounds."""
    game = Logged(P, T, np.random.default_rng(seed))
    parts = algorithm.parts(game)
    type(algorithm).text(*parts, game)
    return *parts, game


# Counts


@settings(max_examples=200)
@given(algorithm=algorithms, T=horizons, P=tables(biased=True), seed=seeds)
def test_every_algorithm_plays_exactly_T_duels(algorithm, T, P, seed):
    game = played(algorithm, P, T, seed)
    assert game.t == T == game.plays.sum() == len(game.duels) and not game.on()
    assert np.array_equal(game.history[-1], game.plays) and (game.plays >= 0).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_exactly_T_duels_for_each_small_T(algorithm):
    for T in range(1, 51):
        game = new_game([[0.5, 0.3, 0.1], [0.7, 0.5, 0.2], [0.9, 0.8, 0.5]], T)
        algorithm.play(game, compile=False)
        assert game.t == game.plays.sum() == T


@settings(max_examples=40)
@given(T=horizons, mu=utilities, seed=seeds)
def test_a_machine_pulls_exactly_T_arms(T, mu, seed):
    game = Bandit(np.array(mu), T, np.array([T]), np.random.default_rng(seed))
    (S,) = Single(UCB).parts(game)
    Single.text(S, game)
    assert game.t == T == S.pulls.sum() == S.t - 1
    assert np.array_equal(game.pulls.sum(axis=0), S.pulls)
    assert np.array_equal(game.pulls[1], S.total)


@settings(max_examples=40)
@given(P=tables(), T=horizons, seed=seeds)
def test_the_flow_of_multisbm(P, T, seed):
    """x is left at t + 1 exactly when it was right at t."""
    duels = played(MultiSBM(UCB, alpha=0.0), P, T, seed).duels
    for x in range(len(P)):
        left, right = ([duel[side] == x for duel in duels] for side in (0, 1))
        assert left == [x == 0, *right[:-1]]


@settings(max_examples=40)
@given(P=tables(), T=horizons, seed=seeds)
def test_one_side_wins_every_duel_of_sparring(P, T, seed):
    left, right, game = played_with(Sparring(UCB), P, T, seed)
    assert left.total.sum() + right.total.sum() == T == left.pulls.sum() == right.pulls.sum()
    assert np.array_equal(game.plays.sum(axis=(0, 2)), left.pulls)
    assert np.array_equal(game.plays.sum(axis=(0, 1)), right.pulls)
    assert np.array_equal(game.plays[1].sum(axis=0), right.total)


@settings(max_examples=40)
@given(P=tables(), T=horizons, seed=seeds)
def test_the_machine_of_doubler_knows_its_epoch_only(P, T, seed):
    S, _, game = played_with(Doubler(UCB), P, T, seed)
    epoch = (T + 1).bit_length() - 1  # epoch i ends with round 2^(i+1) - 2
    last = game.duels[2**epoch - 2 :] or game.duels[2 ** (epoch - 1) - 2 :]
    assert S.pulls.sum() == len(last)
    assert S.pulls.tolist() == [sum(y == x for _, y, _ in last) for x in range(len(P))]


# Regret


@settings(max_examples=60)
@given(algorithm=algorithms, T=horizons, mu=utilities, link=links, seed=seeds)
def test_regret_is_the_sum_over_the_plays(algorithm, T, mu, link, seed):
    game = Utilities(mu, link)
    curves = {r: plain(game, algorithm, T, 1, seed=seed, regret=r) for r in game.regrets}
    for regret, result in curves.items():
        total = (result.plays.sum(axis=1) * game.table(regret)).sum(axis=(1, 2))
        assert np.allclose(result.regret[:, -1], total, atol=1e-12)
        assert (np.diff(result.regret) >= -1e-12).all()
    assert (curves["choice"].regret <= curves["average"].regret + 1e-12).all()


@settings(max_examples=60)
@given(
    algorithm=algorithms,
    T=horizons,
    K=st.integers(2, 6),
    u=st.floats(0, 1),
    link=links,
    regret=st.sampled_from(["average", "choice", "preference"]),
)
def test_regret_is_zero_when_all_arms_are_equal(algorithm, T, K, u, link, regret):
    result = plain(Utilities([u] * K, link), algorithm, T, 2, regret=regret)
    assert abs(result.regret).max() < 1e-9


def test_cardinal_regret_is_zero_when_all_arms_are_equal():
    assert not plain(Cardinal([0.3] * 4), Single(UCB)).regret.any()


# Symmetries, as exact laws of the plain text: all coin flips enumerated


def law(algorithm, P, T):
    """E plays[b, x, y] over all coin flips, as Fractions."""

    def play(coins):
        game = Game(np.array(P), T, np.array([T]), coins)
        algorithm.play(game, compile=False)
        return game.plays.astype(object)

    return sum(p * plays for p, plays in every_path(play))


def scenario_law(algorithm, P, T):
    """The same in the scenario's own arms, with the arms permuted at random."""
    scenario = Preferences(P)

    def play(coins):
        orders = list(permutations(range(len(P))))
        coins.permutation = lambda K: np.array(orders[int(coins.random() * len(orders))])
        game = scenario.game(T, np.array([T]), coins)
        algorithm.play(game, compile=False)
        return scenario.measure(game)["plays"].astype(object)

    return sum(p * plays for p, plays in every_path(play))


ORDER = np.array([[0.5, 0.25, 0.0], [0.75, 0.5, 0.25], [1.0, 0.75, 0.5]])


@pytest.mark.parametrize("name", [(1, 2, 0), (0, 2, 1)], ids=str)
@pytest.mark.parametrize("algorithm", [Sparring(UCB), BTMB()], ids=str)
def test_renaming_the_arms_renames_the_law(algorithm, name):
    renamed = ORDER[np.ix_(name, name)]
    assert (law(algorithm, renamed, 3) == law(algorithm, ORDER, 3)[:, name][:, :, name]).all()


@pytest.mark.parametrize("algorithm", [MultiSBM(UCB), Doubler(UCB), IF(2, 0.1)], ids=str)
def test_with_permuted_arms_no_arm_is_first(algorithm):
    name = (2, 0, 1)
    renamed = ORDER[np.ix_(name, name)]
    T = 4 if isinstance(algorithm, IF) else 3
    want = scenario_law(algorithm, ORDER, T)[:, name][:, :, name]
    assert (scenario_law(algorithm, renamed, T) == want).all()
    assert (law(algorithm, renamed, T) != law(algorithm, ORDER, T)[:, name][:, :, name]).any()


@pytest.mark.parametrize("T", [1, 3, 5])
@pytest.mark.parametrize("alpha", [-1.0, 3.0])
def test_sparring_mirrors_left_and_right(T, alpha):
    """Pr[b = 1 | x, y] -> Pr[b = 0 | y, x] swaps the sides, position bias and all."""
    P = np.array([[0.25, 0.125], [0.5, 0.75]])
    mirrored = law(Sparring(UCB, alpha=alpha), 1 - P.T, T)
    want = law(Sparring(UCB, alpha=alpha), P, T)[::-1].transpose(0, 2, 1)
    assert (mirrored == want).all()


def test_the_mirror_can_tell_the_sides_apart():
    P = np.array([[0.25, 0.125], [0.5, 0.75]])
    plays = law(Sparring(UCB), P, 3)
    assert (plays != plays[::-1].transpose(0, 2, 1)).any()
    plays = law(Doubler(UCB), np.array([[0.5, 0.125], [0.875, 0.5]]), 3)
    assert (plays != plays[::-1].transpose(0, 2, 1)).any()


@pytest.mark.parametrize("algorithm", [Sparring(UCB), MultiSBM(UCB), Doubler(UCB), BTMB()], ids=str)
def test_outcomes_follow_the_table_in_every_algorithm(algorithm):
    """E plays[1, x, y] = P[x, y] E plays[., x, y], exactly."""
    P = np.array([[0.25, 0.125], [0.5, 0.75]])
    plays = law(algorithm, P, 4)
    assert (plays[1] == P * plays.sum(axis=0)).all() and plays.sum() == 4
