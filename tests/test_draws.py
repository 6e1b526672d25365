"""Elimination with random draws: its law by a second text, its estimates, its phases."""

from fractions import Fraction as F
from itertools import product
from math import ceil, log

import numpy as np
import pytest
from conftest import exact_law, same

from dueling import Sparring, SuccessiveElimination, Utilities, simulate
from dueling.later.draws import RandomDraws


def phases(K, horizon, scale):
    """The number of draws of each phase with a given number of living arms: phase, |A| -> M."""
    return lambda r, A: ceil(scale * A * 2 * log(K * horizon) * 4**r)


def living(history, K, M):
    """The arms that live after a history of (arm, reward), read off it from the beginning."""
    A, r, begun = set(range(K)), 1, 0
    while len(history) - begun >= M(r, len(A)):
        phase = history[begun : begun + M(r, len(A))]
        X = {x: F(len(A), len(phase)) * sum(F(u) - F(1, 2) for y, u in phase if y == x) for x in A}
        begun += len(phase)
        A = {x for x in A if X[x] >= max(X.values()) - F(1, 2**r)}
        r += 1
    return A


def reward(t, x):
    """What arm x would earn in round t: arm 0 always, arm 1 never, arm 2 every other time."""
    return (1, 0, t % 2)[x]


@pytest.mark.parametrize(("K", "scale", "T"), [(2, 0.15, 7), (3, 0.1, 6), (3, 0.05, 5)])
def test_the_law_is_that_of_a_second_text(K, scale, T):
    M = phases(K, 2, scale)

    def play(coins):
        S, arms = RandomDraws(K, coins, horizon=2, scale=scale), []
        for t in range(T):
            arms.append(S.advance())
            S.feedback(reward(t, arms[-1]))
        return tuple(arms)

    def chance(arms):
        p, history = F(1), []
        for t, x in enumerate(arms):
            A = living(history, K, M)
            p *= F(x in A, len(A))
            history.append((x, reward(t, x)))
        return p

    law = {arms: chance(arms) for arms in product(range(K), repeat=T)}
    assert exact_law(play) == {arms: p for arms, p in law.items() if p}
    assert any(p == 0 for p in law.values()), "somebody was dropped"


def test_the_phases_are_those_of_the_theorem():
    S = RandomDraws(4, np.random.default_rng(1), horizon=1000)
    assert (S.draws, S.accuracy) == (ceil(2 * 4 * 2 * log(4000) * 4), 0.5)
    for _ in range(S.draws):
        S.feedback(float(S.advance() == 2))
    assert S.alive.tolist() == [False, False, True, False]
    assert (S.draws, S.accuracy) == (ceil(2 * 2 * log(4000) * 16), 0.25)


def test_a_reset_machine_is_a_new_one():
    S = RandomDraws(3, np.random.default_rng(1), horizon=50, scale=0.1)
    for _ in range(100):
        S.feedback(float(S.advance() == 1))
    assert not S.alive.all()
    S.reset()
    new = RandomDraws(3, S.rng, horizon=50, scale=0.1)
    fields = ("alive", "total", "accuracy", "living", "draws", "left")
    assert all(np.array_equal(getattr(S, name), getattr(new, name)) for name in fields)


def test_an_offset_that_watches_the_past_changes_no_estimate_of_a_difference():
    """An opponent who lowers every reward after a draw of arm 0 misleads means, not these sums."""

    def play(coins):
        S, offset = RandomDraws(2, coins, horizon=2, scale=0.3), 0
        for _ in range(S.draws - 1):
            x = S.advance()
            S.feedback(F(1, 2) + F(x, 4) + offset)
            offset = F(1, 4) if x == 0 else 0
        return S.total[1] - S.total[0], S.draws - 1

    law = exact_law(play)
    assert sum(p * gap for (gap, _), p in law.items()) == sum(
        p * F(n, 2) * F(1, 4) for (_, n), p in law.items()
    )


def test_compiled_and_plain_runs_have_the_same_bits():
    algorithm = Sparring(RandomDraws, horizon=500, scale=0.2)
    runs = [
        simulate("arith/linear", algorithm, T=500, runs=4, workers=1, compiled=c)
        for c in (False, True)
    ]
    assert same(*runs)


def test_two_of_them_leave_the_state_in_which_two_sweeping_machines_stay():
    three = Utilities((0.9, 0.5, 0.1), name="three")
    lost = {
        machine: simulate(three, Sparring(machine, horizon=10**5), T=10**5, runs=8, workers=1)
        for machine in (RandomDraws, SuccessiveElimination)
    }
    assert (
        lost[RandomDraws].regret[:, -1].max()
        < 4000
        < lost[SuccessiveElimination].regret.min(axis=0)[-1]
    )


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"horizon": 0}, "horizon is 0; it must be"),
        ({"horizon": 9, "scale": 0.0}, r"scale is 0\.0; it must be"),
        ({"horizon": 9, "scale": np.inf}, "scale is inf; it must be"),
        ({"horizon": 9, "scale": 1e308}, r"scale is 1e\+308; it must be"),
        ({"horizon": 9, "scale": 5e-324}, "scale is 5e-324; it must be"),
    ],
)
def test_bad_parameters_are_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        simulate("YJ", Sparring(RandomDraws, **parameters), T=9, runs=1)
