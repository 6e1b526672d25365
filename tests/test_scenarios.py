"""The sixteen scenarios of Section 7 and a reader's own: tables, names, regrets."""

import math
import pickle
from functools import partial
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from conftest import plain

from dueling import (
    IF,
    UCB,
    Cardinal,
    Game,
    Preferences,
    Scenario,
    Sparring,
    Uniform,
    Utilities,
    bernoulli,
    beta,
    deterministic,
    linear,
    logit,
    natural,
    scenario,
    yj,
)
from dueling.engine.value import Value
from dueling.section7 import LINKS, NAMES, UTILITIES, YJ_PRINTED, YJ_REPAIRS
from dueling.structured import (
    Ball,
    Box,
    ConfidenceBall1,
    Ellipsoid,
    Inequalities,
    LinearCardinal,
    LinearDoubler,
    LinearUtilities,
    Points,
    Polytope,
    Simplex,
)
from dueling.theory.preferences import card, condorcet, gamma_extended


def test_names_are_stable():
    want = (
        *("1good/linear", "2good/linear", "3good/linear", "arith/linear", "geom/linear"),
        *("1good/natural", "2good/natural", "3good/natural", "arith/natural", "geom/natural"),
        *("1good/logit", "2good/logit", "3good/logit", "arith/logit", "geom/logit"),
        "YJ",
    )
    assert want == NAMES
    assert [scenario(name).name for name in NAMES] == list(NAMES)


def test_utilities_are_those_of_the_paper():
    assert UTILITIES == {
        "1good": (0.8, 0.2, 0.2, 0.2, 0.2, 0.2),
        "2good": (0.8, 0.7, 0.2, 0.2, 0.2, 0.2),
        "3good": (0.8, 0.7, 0.7, 0.2, 0.2, 0.2),
        "arith": (0.8, 0.7, 0.575, 0.45, 0.325, 0.2),
        "geom": (0.8, 0.7, 0.512, 0.374, 0.274, 0.2),
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_is_a_fair_game_won_by_arm_A(name):
    game = scenario(name)
    assert game.K == 6 and game.best == 0 and game.P.shape == (6, 6)
    assert abs(game.P + game.P.T - 1).max() < 1e-12 and (np.diag(game.P) == 0.5).all()
    assert (game.P[1:, 0] > 0.5).all() and (game.P[0, 1:] < 0.5).all()


@pytest.mark.parametrize("name", NAMES[:-1])
def test_tables_are_the_link_of_the_utilities(name):
    utilities, link = name.split("/")
    formula = {
        "linear": lambda u, v: (1 + v - u) / 2,
        "natural": lambda u, v: v / (u + v),
        "logit": lambda u, v: 1 / (1 + np.exp(u - v)),
    }[link]
    mu = UTILITIES[utilities]
    want = [[formula(u, v) for v in mu] for u in mu]
    assert np.allclose(scenario(name).P, want, atol=1e-15)


def test_1good_natural_is_1good_linear():
    """.8 / (.8 + .2) = (1 + .8 - .2) / 2: two of the sixteen panels are one game."""
    assert np.allclose(scenario("1good/natural").P, scenario("1good/linear").P, atol=1e-15)
    assert not np.allclose(scenario("2good/natural").P, scenario("2good/linear").P, atol=1e-3)


def test_links_are_found_under_their_names():
    assert all(LINKS[name].__name__ == name for name in LINKS)


# YJ


def test_yj_as_printed_is_not_antisymmetric():
    bad = np.argwhere(abs(YJ_PRINTED + YJ_PRINTED.T) > 1e-12).tolist()
    assert bad == [[1, 3], [3, 1]]
    assert YJ_PRINTED[1, 3] == 0.06 and YJ_PRINTED[3, 1] == -0.04
    zeros = np.argwhere(YJ_PRINTED + np.eye(6) == 0).tolist()
    assert zeros == [[3, 5], [5, 3]]
    with pytest.raises(ValueError, match=r"\(P \+ P\^T\)\[1, 3\] is 0.98; it must be 1"):
        Preferences(0.5 - YJ_PRINTED)


@pytest.mark.parametrize("repair, value", [("upper", 0.06), ("average", 0.05), ("lower", 0.04)])
def test_yj_repairs(repair, value):
    eps = YJ_REPAIRS[repair](YJ_PRINTED)
    assert np.allclose(eps, -eps.T, atol=1e-15) and eps[1, 3] == pytest.approx(value)
    others = np.ones((6, 6), bool)
    others[[1, 3], [3, 1]] = False
    assert np.allclose(eps[others], YJ_PRINTED[others], atol=1e-15)
    assert np.allclose(yj(repair).P, 0.5 - eps, atol=1e-15)


def test_yj_regret_is_half_the_preference_of_A():
    table = scenario("YJ").table()
    assert table[0, 0] == 0 and table[4, 5] == pytest.approx(0.11)
    assert table[1, 3] == pytest.approx((0.05 + 0.04) / 2)


# A reader's own game


def test_condorcet_winner_and_regret():
    P = [[0.5, 0.7, 0.2], [0.3, 0.5, 0.4], [0.8, 0.6, 0.5]]  # arm 1 beats arm 0 with 0.7
    assert Preferences(np.transpose(P)).best == 2
    game = Preferences([[0.5, 0.7, 0.2], [0.3, 0.5, 0.1], [0.8, 0.9, 0.5]])
    assert game.best == 1
    D = [0.2, 0, 0.4]
    assert np.allclose(game.table(), np.add.outer(D, D) / 2)


DRAW = [[0.5, 0.5, 0.3], [0.5, 0.5, 0.4], [0.7, 0.6, 0.5]]
FLAT = np.full((3, 3), 0.5)
CIRCLE = [[0.5, 0.4, 0.6], [0.6, 0.5, 0.4], [0.4, 0.6, 0.5]]


@pytest.mark.parametrize(
    "P, star",
    [
        (DRAW, 0),  # the first two draw, and arm 0 wins more against the third
        (np.array(DRAW)[np.ix_((1, 0, 2), (1, 0, 2))], 1),
        (FLAT, 0),
        ([[0.7, 0.9], [0.6, 0.7]], 1),  # every right arm wins, arm 1 more than arm 0
        ([[0.3, 0.45], [0.4, 0.3]], 1),  # every left arm wins, arm 1 more than arm 0
        ([[0.5, 0.5 - 1e-13], [0.5 + 1e-13, 0.5]], 0),
        ([[0.5, 0.5 - 1e-11], [0.5 + 1e-11, 0.5]], 0),
        ([[0.5, 0.5 + 1e-11], [0.5 - 1e-11, 0.5]], 1),
        (CIRCLE, None),
    ],
)
def test_one_definition_of_the_condorcet_winner(P, star):
    """An arm that no other beats: a draw is no defeat, and both orders count alike."""
    game = Preferences(P, biased=True)
    assert condorcet(P) == card(P)["Condorcet winner"] == star
    if star is None:
        with pytest.raises(ValueError, match="has no Condorcet winner"):
            game.table()
        return
    loss = np.diag(game.table())
    assert game.best == star and loss[star] == 0 and (loss >= -1e-12).all()


def test_a_draw_costs_nothing_and_has_no_gamma():
    """The theorems divide by D_y, so that the card says what they need and the draw denies."""
    assert np.diag(Preferences(DRAW).table()).tolist() == pytest.approx([0, 0, 0.2])
    assert gamma_extended(DRAW) == math.inf


def test_cycles_have_no_winner():
    cycle = Preferences([[0.5, 0.4, 0.6], [0.6, 0.5, 0.4], [0.4, 0.6, 0.5]], name="cycle")
    with pytest.raises(ValueError, match=r"cycle has no Condorcet winner.*regret='none' counts"):
        cycle.table()
    with pytest.raises(ValueError, match="cycle has no Condorcet winner"):
        plain(cycle, Uniform())
    result = plain(cycle, Uniform(), T=30, regret="none")
    assert (result.plays.sum(axis=(1, 2, 3)) == 30).all() and result.about["regret"] == "none"
    with pytest.raises(ValueError, match="holds plays, but no regret"):
        result.mean()


def test_plays_are_counted_without_regret():
    with_regret, without = (plain("YJ", Uniform(), regret=r) for r in (None, "none"))
    assert np.array_equal(with_regret.plays, without.plays) and list(without.arrays) == ["plays"]
    with pytest.raises(ValueError, match="realised regret is 'none'; did you mean 'choice'"):
        plain("arith/linear", Uniform(), regret="none", realised=True)
    with pytest.raises(ValueError, match="regret is 'none'; did you mean"):
        scenario("YJ").table("none")


def test_a_position_bias_must_be_asked_for():
    P = [[0.6, 0.7], [0.5, 0.6]]
    with pytest.raises(ValueError, match=r"\(P \+ P\^T\)\[0, 0\] is 1.2"):
        Preferences(P)
    biased = Preferences(P, biased=True)
    assert biased.best == 1  # 0.7 as right arm, 0.5 as left arm
    assert biased.table()[0, 0] == pytest.approx(0.1)


def test_a_readers_link_and_name():
    def steep(a, b):
        return np.clip(0.5 + 2 * np.subtract(a, b), 0, 1)

    game = Utilities([0.5, 0.4], steep)
    assert game.P.tolist() == [[0.5, pytest.approx(0.3)], [pytest.approx(0.7), 0.5]]
    assert game.name == "utilities/steep/" + game.digest[:8]
    assert Utilities([0.5, 0.4], natural, name="mine").name == "mine"
    assert repr(Cardinal([0.5, 0.4], "two")) == "Cardinal(two)"


def test_a_link_of_numbers_alone_is_called_pair_by_pair():
    def steps(a, b):
        if a == b:
            return 0.5
        return min(1.0, math.exp(a - b) / 2) if a < b else max(0.0, 1 - math.exp(b - a) / 2)

    def steps_of_arrays(a, b):
        low = np.exp(-abs(np.subtract(a, b))) / 2
        return np.where(np.equal(a, b), 0.5, np.where(np.less(a, b), low, 1 - low))

    for law in (deterministic, bernoulli, beta(3)):
        one, other = (Utilities([0.8, 0.3, 0.3], f, law) for f in (steps, steps_of_arrays))
        assert np.allclose(one.P, other.P, atol=1e-15)
        assert np.allclose(one.table("choice"), other.table("choice"), atol=1e-15)
    result = plain(one, Uniform(), T=20, realised=True, regret="choice")
    assert np.isfinite(result.realised).all()


def test_unnamed_games_are_named_by_their_numbers():
    """So two of them do not share a stream; the same game has the same name everywhere."""
    games = [
        Utilities([0.5, 0.4]),
        Utilities([0.5, 0.4 + 1e-9]),
        Utilities([0.5, 0.4], natural),
        Utilities([0.5, 0.4], partial(natural, zero=0.5)),
        Utilities([0.5, 0.4], logit, bernoulli),
        Utilities([0.5, 0.4], logit),
        Preferences([[0.5, 0.4], [0.6, 0.5]]),
        Preferences([[0.5, 0.3], [0.7, 0.5]]),
        Cardinal([0.5, 0.4]),
        Cardinal([0.5, 0.3]),
    ]
    names = [game.name for game in games]
    assert names[3] == names[2] and len(set(names)) == 9
    assert names[0] == "utilities/linear/08448aad" and names[8] == "cardinal/4a9018c1"
    assert scenario("arith/linear").digest != scenario("geom/linear").digest


def test_permuted_runs_are_told_in_the_scenarios_own_arms():
    """The best arm wins its duels whatever place it was given in the run."""
    result = plain(Utilities([0.0, 1.0, 0.5], linear), Uniform(), T=300, runs=20)
    assert result.plays[:, 0, 0, 1].sum() == result.plays[:, 1, 1, 0].sum() == 0
    assert (result.plays[:, 1, 0, 1] > 0).all()


@pytest.mark.parametrize("game", [scenario("YJ"), Cardinal([0.5, 0.4])])
def test_is_arm(game):
    assert all(map(game.is_arm, [0, 1, np.int64(1), np.int32(0)]))
    assert not any(map(game.is_arm, [-1, game.K, 0.0, True, np.True_, None, "0"]))


# The protocol


class Coin(Scenario):
    """A reader's own scenario: one fair coin for every duel, and each duel costs 1."""

    regrets = ("duels",)
    K = 2

    def __init__(self, P=None):
        self.P = np.full((2, 2), 0.5) if P is None else P
        super().__init__(None, "coin", self.P)

    def game(self, T, checkpoints, rng, permute=True):
        return Game(self.P.copy(), T, checkpoints, rng)

    def measure(self, game, regret=None):
        self.regret(regret)
        return {"regret": game.history.sum(axis=(1, 2, 3)).astype(float)}


def test_a_scenario_needs_no_more_than_its_base_asks_for():
    result = plain(Coin(), Uniform(), T=20)
    assert np.array_equal(result.regret, [result.checkpoints] * 3)
    assert result.about["scenario"] == Coin().name == f"coin/{Coin().digest[:8]}"
    assert result.about["game"] == {} and result.about["regret"] == "duels"
    with pytest.raises(ValueError, match=r"realised is True; Coin\(coin/.*\) has no utilities"):
        plain(Coin(), Uniform(), realised=True)
    with pytest.raises(ValueError, match="regret is 'none'; did you mean 'duels'"):
        plain(Coin(), Uniform(), regret="none")


class Toss(Coin):
    """A scenario without a regret."""

    regrets = ()

    def measure(self, game, regret=None):
        return {"right": game.plays[1].sum()} if self.regret(regret) == "none" else None


def test_a_scenario_may_have_no_regret():
    result = plain(Toss(), Uniform(), T=20)
    assert result.arrays["right"].shape == (3,) and result.about["regret"] == "none"
    assert repr(result).endswith("T = 20, no regret, but right")
    with pytest.raises(ValueError, match="regret is 'average'; did you mean 'none'"):
        plain(Toss(), Uniform(), regret="average")


@pytest.mark.parametrize("nothing", [None, {}, 3.0])
def test_a_scenario_that_measures_nothing_is_refused(nothing, monkeypatch):
    monkeypatch.setattr(Toss, "measure", lambda self, game, regret=None: nothing)
    words = r"measure of Toss\(coin/.*\) is .*; it must be arrays by name"
    with pytest.raises(ValueError, match=words):
        plain(Toss(), Uniform())


def test_the_base_leaves_game_and_measure_to_its_scenarios():
    bare = Scenario("bare", "none")
    for call in (lambda: bare.game(1, None, None), lambda: bare.measure(None)):
        with pytest.raises(NotImplementedError):
            call()


def copied(value):
    """The value as another process gets it."""
    return pickle.loads(pickle.dumps(value))


SCENARIOS = [
    scenario("YJ"),
    Utilities([0.9, 0.5, 0.2], logit, bernoulli),
    Cardinal([0.5, 0.4]),
    LinearUtilities(Ball(2), [0.1, 0.2], 0.5),
    LinearCardinal(Ball(2), [0.1, 0.2], 0.5),
]


SETS = [
    Ball(2),
    Box([0, 0], [1, 2]),
    Simplex(3),
    Points([[0, 1], [1, 0]]),
    Polytope([[0, 1], [1, 0]]),
    Ellipsoid([0, 0], [[2, 0], [0, 1]]),
    Inequalities([[1], [-1]], [1, 0]),
]
ALGORITHMS = [Sparring(UCB, alpha=1), LinearDoubler(ConfidenceBall1, scale=0.1), IF(), Uniform()]


@pytest.mark.parametrize("again", [lambda value: value, copied], ids=["it", "copy"])
@pytest.mark.parametrize("value", SCENARIOS + SETS + ALGORITHMS, ids=repr)
def test_scenarios_sets_and_algorithms_are_values_that_nothing_changes(value, again):
    value = again(value)
    assert isinstance(value, Value) and vars(value)
    for name, before in vars(value).items():
        for change in (partial(setattr, value, name, before), partial(delattr, value, name)):
            with pytest.raises(AttributeError, match=f"{name} of .* is set for good"):
                change()
        assert not (isinstance(before, np.ndarray) and before.flags.writeable), name
        assert name == "_tables" or not isinstance(before, dict | list), name


@pytest.mark.parametrize("again", [lambda value: value, copied], ids=["it", "copy"])
@pytest.mark.parametrize("game", SCENARIOS, ids=repr)
def test_what_a_scenario_makes_is_read_only(game, again):
    [game.table(regret) for regret in game.regrets if isinstance(game, Preferences)]
    game = again(game)
    arrays = [array for pair in getattr(game, "atoms", ()) for array in pair]
    arrays += [game.table(regret) for regret in game.regrets if isinstance(game, Preferences)]
    arrays += [game.X.spanner()] if hasattr(game, "X") else []
    assert not any(array.flags.writeable for array in arrays)


def test_the_settings_of_an_algorithm_are_read_only():
    algorithm = Sparring(UCB, alpha=1)
    with pytest.raises(TypeError, match="does not support item assignment"):
        algorithm.parameters["alpha"] = 2
    assert algorithm.settings() == copied(algorithm).settings() == {"alpha": 1, "ties": "random"}


def test_the_readers_array_stays_the_readers():
    P = np.array([[0.5, 0.4], [0.6, 0.5]])
    game = Preferences(P)
    P[0, 1] = 0.1
    assert game.P[0, 1] == 0.4 and P.flags.writeable
    assert not Coin(P).P.flags.writeable and P.flags.writeable


def test_a_game_carries_its_order_of_the_arms():
    game = scenario("arith/linear").game(9, np.array([9]), np.random.default_rng(1))
    assert np.array_equal(game.P, scenario("arith/linear").P[np.ix_(game.order, game.order)])
    bandit = Cardinal([0.1, 0.2, 0.3]).game(9, np.array([9]), np.random.default_rng(1), False)
    assert bandit.order.tolist() == [0, 1, 2] and bandit.mu.tolist() == [0.1, 0.2, 0.3]


def test_tables_made_by_many_threads_at_once_are_one():
    game = Utilities(np.linspace(0.1, 0.9, 30), natural, beta(3))
    with ThreadPool(8) as pool:
        tables = pool.map(lambda _: game.table("choice"), range(32))
    assert all(np.array_equal(table, tables[0]) for table in tables)


@pytest.mark.parametrize("kind", [LinearUtilities, LinearCardinal])
def test_the_offset_of_linear_utilities_is_0_unless_it_is_said(kind):
    X, mu = Box([0, 0], [1, 1]), [0.3, 0.2]
    game = kind(X, mu)
    assert game.digest == kind(X, mu, 0.0).digest != kind(X, mu, 0.1).digest
    assert (game.bottom, game.offset, game.top) == (0, 0, 0.5)


def test_a_link_is_asked_for_whole_rows():
    """Pair by pair, a game of a thousand arms would take minutes to state."""
    asked = []

    def link(a, b):
        asked.append(1)
        return linear(a, b)

    K = 60
    game = Utilities(np.linspace(0, 1, K), link)
    game.table("choice")
    assert len(asked) < 4 * K


# Without a Condorcet winner


def test_copeland_and_borda_regret_are_the_best_score_less_the_mean_of_two():
    W = np.array([[0, 0.6, 0.1, 0.9], [0.4, 0, 0.7, 0.9], [0.9, 0.3, 0, 0.5], [0.1, 0.1, 0.5, 0]])
    game = Preferences.wins(W, name="cycle")
    copeland, borda = np.array([2, 2, 1.5, 0.5]) / 3, W.sum(axis=1) / 3
    for regret, score in (("copeland", copeland), ("borda", borda)):
        want = [[score.max() - (a + b) / 2 for b in score] for a in score]
        assert np.allclose(game.table(regret), want)
        assert game.table(regret).min() == pytest.approx(0)
    result = plain(game, Uniform(), T=50, regret="copeland")
    cost = (result.plays.sum(axis=1) * game.table("copeland")).sum(axis=(1, 2))
    assert np.allclose(result.regret[:, -1], cost)


def test_a_position_bias_leaves_both_scores():
    P = Preferences.wins([[0, 0.7, 0.6], [0.3, 0, 0.2], [0.4, 0.8, 0]]).P
    biased = Preferences(0.8 * P + 0.2, biased=True)
    assert np.allclose(biased.table("copeland"), Preferences(P).table("copeland"))
    assert np.allclose(biased.table("borda"), 0.8 * Preferences(P).table("borda"))
