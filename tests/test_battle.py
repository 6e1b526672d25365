"""Choice from m items: the game, its two reductions, and the price of a display."""

from copy import deepcopy
from fractions import Fraction as F
from itertools import permutations

import numpy as np
import pytest
from conftest import every_path, expected_plays, same

from dueling import UCB, Champion, Sparring, simulate
from dueling.later.battle import (
    Battle,
    BattleChampion,
    BattleSparring,
    Choice,
    challengers,
    price,
)

MU = [F(4, 5), F(1, 2), F(1, 10)]


def expected_shown(algorithm, mu, m, T):
    """E of how often each arm is shown, as Fractions, by enumeration of the plain run."""

    def play(coins):
        game = Choice(np.array(mu, dtype=object), m, T, np.array([T]), coins)
        algorithm.play(game, compile=False)
        return game.shown.astype(object)

    return sum(p * shown for p, shown in every_path(play))


@pytest.mark.parametrize(
    ("two", "many"),
    [(Champion, BattleChampion), (Sparring, BattleSparring)],
    ids=lambda c: c.__name__,
)
def test_two_slots_are_a_duel(two, many):
    P = [[(1 + v - u) / 2 for v in MU] for u in MU]
    plays = expected_plays(two(UCB, alpha=1.0, ties="first"), P, 4)
    shown = expected_shown(many(UCB, alpha=1.0, ties="first"), MU, 2, 4)
    assert (shown == plays.sum(axis=0) + plays.sum(axis=1)).all()


def chance(mu, arms, i):
    """The chance of slot i, from all ordered pairs of slots."""
    m = len(arms)
    return sum((1 + mu[arms[i]] - mu[arms[j]]) / 2 for j in range(m) if j != i) * F(2, m * (m - 1))


def second_text(mu, m, c, T):
    """E shown of Champion, written anew: states with their probabilities, epochs by the clock."""
    states = [(F(1), [UCB(len(mu), None, 1.0, "first") for _ in mu], 0, [0] * len(mu), 1)]
    shown = [F(0)] * len(mu)
    for t in range(1, T + 1):
        after = []
        for p, machines, left, plays, end in states:
            y = machines[left].advance()
            arms = [y] * c + [left] * (m - c)
            for x in arms:
                shown[x] += p
            win = sum(chance(mu, arms, i) for i in range(c))
            for q, u in ((win, 1), (1 - win, 0)):
                new = deepcopy(machines)
                new[left].feedback(u)
                counts = [n + (x == y) for x, n in enumerate(plays)]
                if t == end:  # rounds 1, 2-3, 4-7, ...: an epoch ends before a power of two
                    after.append(
                        (p * q, new, counts.index(max(counts)), [0] * len(mu), 2 * end + 1)
                    )
                else:
                    after.append((p * q, new, left, counts, end))
        states = after
    return shown


@pytest.mark.parametrize(("m", "c", "T"), [(3, 1, 4), (4, 2, 3)])
def test_champion_has_the_law_of_a_second_text(m, c, T):
    algorithm = BattleChampion(UCB, challengers=c, alpha=1.0, ties="first")
    assert expected_shown(algorithm, MU, m, T).tolist() == second_text(MU, m, c, T)
    assert second_text(MU, m, c, T) != second_text(MU, m, m - c, T) or 2 * c == m


def test_a_choice_has_the_chances_of_its_slots():
    for arms in permutations(range(3)):

        def slot(coins, arms=arms):
            return Choice(np.array(MU, dtype=object), 3, 1, np.array([1]), coins).choose(arms)

        law = [sum(p for p, i in every_path(slot) if i == slot_) for slot_ in range(3)]
        assert law == [chance(MU, arms, i) for i in range(3)] and sum(law) == 1


@pytest.mark.parametrize("algorithm", [BattleChampion(UCB), BattleSparring(UCB)], ids=repr)
def test_compiled_and_plain_agree(algorithm):
    game = Battle([0.8, 0.5, 0.2], m=4)
    fast, slow = (simulate(game, algorithm, T=300, runs=3, compiled=c) for c in (True, False))
    assert same(fast, slow)


def test_regret_is_the_mean_gap_of_the_slots():
    game = Battle([0.2, 0.9], m=3)
    played = game.game(2, np.array([1, 2]), np.random.default_rng(0), permute=False)
    played.choose([0, 1, 1])
    played.choose([0, 0, 1])
    assert np.allclose(game.measure(played)["regret"], [0.7 / 3, 0.7])


def test_the_best_number_of_challengers():
    for m in range(2, 200):
        assert price(m, challengers(m)) == min(price(m, c) for c in range(1, m)) < 27 / 8


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Battle([0.5, 0.2], m=1), "m is 1; it must be a whole number >= 2."),
        (lambda: Battle([0.5, 0.2], m=2**50), "it must be at most 1000000."),
        (lambda: BattleChampion(UCB, challengers=0), "challengers is 0; it must be"),
        (
            lambda: simulate(
                Battle([0.5, 0.2], m=3), BattleChampion(UCB, challengers=3), T=9, runs=1
            ),
            "challengers is 3; it must be less than m = 3, the slots.",
        ),
        (lambda: simulate("YJ", BattleSparring(UCB), T=9, runs=1), "cannot play a Game"),
        (lambda: price(3, 3), "c is 3; it must be at most 2."),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError) as refusal:
        make()
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("arms", [[0, 1], [0, 1, 5], [0, 1, 2, 0]])
def test_a_display_that_is_none_is_refused(arms):
    game = Choice(np.array([0.5, 0.4, 0.3]), 3, 9, np.array([9]), np.random.default_rng(0))
    with pytest.raises(ValueError, match="choose was"):
        game.choose(arms)
    assert game.t == 0
