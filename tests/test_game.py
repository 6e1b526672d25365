"""Section 2: the two games, the links, the utility laws, and the regrets."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from conftest import new_game, plain
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.special import beta as B

from dueling import (
    Bandit,
    Cardinal,
    Game,
    Single,
    Uniform,
    Utilities,
    bernoulli,
    beta,
    linear,
    logit,
    simulate,
)
from dueling import natural as natural_link
from dueling.engine import checks
from dueling.links import atoms

natural = partial(natural_link, zero=0.5)
LINKS = {"linear": linear, "natural": natural, "logit": logit}
unit = st.floats(0, 1)


# Links


@pytest.mark.parametrize(
    "link, a, b, value",
    [
        (linear, 0.8, 0.2, 0.8),
        (linear, 0.2, 0.8, 0.2),
        (natural, 0.6, 0.2, 0.75),
        (natural, 0.0, 0.3, 0.0),
        (natural, 0.0, 0.0, 0.5),
        (logit, 1.0, 0.0, np.e / (1 + np.e)),
    ],
)
def test_link_values(link, a, b, value):
    assert link(a, b) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@given(a=unit, b=unit)
def test_links_are_complementary_and_prefer_the_better(link, a, b):
    assert link(a, b) + link(b, a) == pytest.approx(1, abs=1e-12)
    assert 0 <= link(a, b) <= 1
    assert (a - b) * (link(a, b) - 0.5) >= 0


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_links_take_arrays(link):
    a, b = np.random.default_rng(0).random((2, 3, 4))
    assert np.array_equal(link(a, b), [[link(*p) for p in zip(*rows)] for rows in zip(a, b)])


def test_natural_link_at_zero_asks_for_a_convention():
    with pytest.raises(ValueError, match=r"natural .*\(0, 0\).* 0/0; state one, .*zero=0.5"):
        natural_link([0.0, 0.4], [0.0, 0.1])
    assert natural_link(0.0, 0.0, zero=0.3) == 0.3


# Utility laws: one table E[phi(v, u)]


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_better_arm_is_chosen_more_often_on_both_sides(link):
    P = Utilities([0.8, 0.5, 0.1], link).P
    assert (P[:, 0][1:] > 0.5).all() and (P[0, 1:] < 0.5).all()
    assert np.array_equal(np.diag(P), [0.5] * 3)
    assert P[0, 1] == pytest.approx(float(link(0.5, 0.8)), abs=1e-15)  # b = 1: the right arm


@settings(max_examples=30)
@given(mu=st.lists(unit, min_size=2, max_size=4), name=st.sampled_from(sorted(LINKS)))
def test_bernoulli_utilities_make_every_link_linear(mu, name):
    """Pr[y is chosen] = 1/2 + (phi(1, 0) - 1/2) (mu_y - mu_x)."""
    link = LINKS[name]
    gap = np.subtract.outer(mu, mu).T
    want = 0.5 + (link(1.0, 0.0) - 0.5) * gap
    np.fill_diagonal(want, 0.5)
    assert np.allclose(Utilities(mu, link, bernoulli).P, want, atol=1e-12)


def test_bernoulli_natural_at_half_is_linear():
    mu = (0.8, 0.7, 0.575, 0.2, 0.0, 1.0)
    assert np.allclose(Utilities(mu, natural, bernoulli).P, Utilities(mu).P, atol=1e-12)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("m, k, c", [(0.6, 0.3, 8), (0.5, 0.45, 20)])
def test_beta_table_equals_the_double_integral(link, m, k, c):
    def density(u, m):
        return u ** (c * m - 1) * (1 - u) ** (c * (1 - m) - 1) / B(c * m, c * (1 - m))

    want, _ = dblquad(lambda v, u: link(v, u) * density(u, m) * density(v, k), 0, 1, 0, 1)
    assert Utilities([m, k], link, beta(c)).P[0, 1] == pytest.approx(want, abs=1e-7)


def draws(law, m, n, rng):
    """n utilities of an arm of mean m, by the law's own sampler and not by its atoms."""
    if law == "bernoulli":
        return (rng.random(n) < m).astype(float)
    return rng.beta(5 * m, 5 * (1 - m), n)


@pytest.mark.parametrize("law", ["bernoulli", "beta"])
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_table_equals_the_two_level_model(law, link):
    rng, n = np.random.default_rng(6), 400_000
    table = Utilities([0.7, 0.3], link, {"bernoulli": bernoulli, "beta": beta(5)}[law])
    u, v = draws(law, 0.7, n, rng), draws(law, 0.3, n, rng)
    b = rng.random(n) < link(v, u)
    assert abs(b.mean() - table.P[0, 1]) < 4.5 * b.std() / n**0.5
    chosen = np.where(b, v, u)
    want = table.table("choice")[0, 1]
    assert abs(0.7 - chosen.mean() - want) < 4.5 * chosen.std() / n**0.5


@pytest.mark.parametrize("m", [0, 0.01, 0.3, 0.999, 1])
def test_beta_law_has_its_mean_and_variance(m):
    (values, weights), *_ = atoms(beta(7), np.array([m, m]))
    assert values @ weights == pytest.approx(m, abs=1e-12)
    assert values**2 @ weights - m**2 == pytest.approx(m * (1 - m) / 8, abs=1e-12)


def test_a_readers_law_is_used_and_checked():
    def coin(m):
        return np.array([0.0, m, 2 * m]), np.array([0.25, 0.5, 0.25])

    assert Utilities([0.4, 0.2], linear, coin).P[0, 1] == pytest.approx(0.4)
    with pytest.raises(ValueError, match=r"law gives arm 0 values outside \[0, 1\]"):
        Utilities([0.6, 0.2], linear, coin)
    with pytest.raises(ValueError, match=r"law gives arm 1 mean 0\.5; it must be 0\.2"):
        Utilities([0.5, 0.2], linear, lambda m: (np.array([0.5]), np.array([1.0])))
    with pytest.raises(ValueError, match="law gives arm 0 no list of values with weights >= 0"):
        Utilities([0.5, 0.2], linear, lambda m: (np.array([m, m]), np.array([1.5, -0.5])))


# Regrets of one duel


def test_regret_tables_by_hand():
    game = Utilities([0.8, 0.5, 0.2])
    assert game.table("average")[0, 1] == pytest.approx(0.15)
    assert game.table("average")[2, 2] == pytest.approx(0.6)
    assert game.table("choice")[0, 1] == pytest.approx(0.8 - (0.8 * 0.65 + 0.5 * 0.35))
    assert game.table("preference")[1, 2] == pytest.approx((0.15 + 0.3) / 2)
    assert np.array_equal(game.table(), game.table("average"))
    assert game.gaps == pytest.approx([0, 0.3, 0.6]) and game.best == 0


@settings(max_examples=30)
@given(mu=st.lists(unit, min_size=2, max_size=5), name=st.sampled_from(sorted(LINKS)))
def test_choice_regret_is_at_most_average_regret(mu, name):
    """Section 2: the chosen arm is on average no worse than the mean of the two."""
    game = Utilities(mu, LINKS[name])
    assert (game.table("choice") <= game.table("average") + 1e-12).all()


@pytest.mark.parametrize("regret", ["average", "choice"])
def test_realised_regret_has_the_law_of_the_two_level_game(regret):
    """Utilities drawn after the game, given its choices, or drawn first: the same law."""
    mu, T, runs = [0.7, 0.3], 12, 1500
    scenario = Utilities(mu, natural, bernoulli)
    ours = plain(scenario, Uniform(), T, runs, realised=True, regret=regret).realised[:, -1]
    rng = np.random.default_rng(8)
    arms = rng.integers(2, size=(runs, T, 2))
    u = (rng.random((runs, T, 2)) < np.array(mu)[arms]).astype(float)
    b = rng.random((runs, T)) < natural(u[..., 1], u[..., 0])
    got = np.where(b, u[..., 1], u[..., 0]) if regret == "choice" else u.mean(axis=2)
    direct = (0.7 - got).sum(axis=1)
    spread = (ours.var() / runs + direct.var() / runs) ** 0.5
    assert abs(ours.mean() - direct.mean()) < 4 * spread
    assert abs(np.log(ours.var() / direct.var())) < 4 * (4 / runs) ** 0.5


def test_realised_regret_of_deterministic_utilities_is_the_pseudo_regret():
    result = plain("arith/linear", "Sparring", realised=True)
    assert np.allclose(result.realised, result.regret, atol=1e-12)
    choice = plain("arith/linear", "Sparring", T=500, runs=40, realised=True, regret="choice")
    gap = (choice.realised - choice.regret)[:, -1]
    assert gap.std() > 0 and abs(gap.mean()) < 4 * gap.std() / 40**0.5


# The games


def test_b_is_1_when_the_right_arm_is_chosen():
    game = new_game([[0.5, 1.0], [0.0, 0.5]], 4)  # arm 1 always beats arm 0
    assert [game.play(0, 1), game.play(1, 0)] == [1, 0]
    assert game.plays[1, 0, 1] == game.plays[0, 1, 0] == 1 and game.plays.sum() == 2


def test_play_follows_its_table():
    game = new_game([[0.5, 0.2], [0.8, 0.5]], 9000, np.random.default_rng(4))
    won = np.array([[[game.play(x, y) for y in (0, 1)] for x in (0, 1)] for _ in range(2250)])
    assert (abs(won.mean(axis=0) - game.P) < 4.5 * 0.5 / 2250**0.5).all()
    assert np.array_equal(game.plays[1], won.sum(axis=0)) and not game.on()


@pytest.mark.parametrize("x, y", [(-1, 0), (0, 2), (2, 0), (0, -1)])
def test_play_refuses_an_arm_outside(x, y):
    game = new_game([[0.5, 0.2], [0.8, 0.5]], 5)
    with pytest.raises(ValueError, match="arm outside"):
        game.play(x, y)
    assert game.t == 0 and not game.plays.any()


def test_no_round_after_the_last():
    game = new_game([[0.5, 0.2], [0.8, 0.5]], 1)
    game.play(0, 0)
    with pytest.raises(ValueError, match="no round was left"):
        game.play(0, 0)
    bandit = Bandit(np.array([1.0, 0.0]), 2, np.array([1, 2]), np.random.default_rng(0))
    assert [bandit.pull(0), bandit.pull(1)] == [1, 0] and not bandit.on()
    assert bandit.history.tolist() == [[[0, 0], [1, 0]], [[0, 1], [1, 0]]]
    with pytest.raises(ValueError, match="no round was left"):
        bandit.pull(0)


@pytest.mark.parametrize("T, logged", [(10, True), (100, False)])
def test_history_holds_the_counts_at_the_checkpoints(T, logged):
    """A game keeps the log of its duels or a table for each checkpoint, whichever is smaller."""
    game = Game(np.full((3, 3), 0.5), T, np.array([2, 3, 9]), np.random.default_rng(0))
    assert bool(len(game.log)) == logged and len(game.kept) == (0 if logged else 3)
    seen = []
    for t in range(T):
        game.play(t % 3, (t + 1) % 3)
        seen.append(game.plays.copy())
    assert [h.tolist() for h in game.history] == [seen[t - 1].tolist() for t in (2, 3, 9)]


@pytest.mark.parametrize(("T", "logged"), [(9, True), (90, False)])
def test_the_history_of_an_unfinished_game_holds_no_duel_to_come(T, logged):
    game = Game(np.full((2, 2), 0.5), T, np.array([1, 2, 9]), np.random.default_rng(1))
    game.play(0, 1)
    assert bool(len(game.log)) == logged
    assert game.history.sum(axis=(1, 2, 3)).tolist() == [1, 0, 0]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_log_and_tables_give_the_same_bits(compiled):
    """Of the same runs, the first with checkpoints so many that the log of duels is smaller."""
    few, many = ([500, 600], [1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 600])
    logged, tables = (
        simulate("arith/linear", "MultiSBM", 600, 3, checkpoints=c, compiled=compiled)
        for c in (many, few)
    )
    assert logged.regret[:, -2:].tobytes() == tables.regret.tobytes()
    assert np.array_equal(logged.plays, tables.plays)


def test_memory_of_a_run_does_not_grow_with_the_checkpoints():
    """A few tables of K x K numbers; two for each of the checkpoints would be 24, and a copy 24."""
    K, T = 300, 2000
    game = Utilities(np.linspace(0.2, 0.8, K), name="many arms")
    game.table()
    tracemalloc.start()
    played = game.game(T, checks.checkpoints(None, T), np.random.default_rng(0))
    Uniform().play(played, compile=False)
    game.measure(played)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * K * K * 8


def test_cardinal_regret_counts_the_gaps():
    class Second:
        def __init__(self, K, rng):
            self.t = 0

        def reset(self):
            self.t = 0

        def advance(self):
            return 1

        def feedback(self, u):
            self.t += 1

    result = plain(Cardinal([0.2, 0.5, 0.9]), Single(Second), T=20, runs=2, permute=False)
    assert np.allclose(result.regret, 0.4 * result.checkpoints)
    assert result.pulls.tolist() == [[0, 20, 0]] * 2
