"""The sums in the proofs, as predictions."""

import numpy as np
import pytest

from dueling import scenario
from dueling.section7 import NAMES
from dueling.theory import fluid

ARITH = scenario("arith/linear")
W = np.diag(ARITH.table())


def test_pulls_keep_the_indices_level():
    g, n, alpha = np.array([0.0, 0.1, 0.4]), 5000.0, 3.0
    N = fluid.pulls(g, n, alpha)
    assert N.sum() == pytest.approx(n) and np.all(np.diff(N) < 0)
    index = np.sqrt((alpha + 2) * np.log(n) / (2 * N)) - g
    assert np.allclose(index, index[0])


def test_pulls_of_equal_arms_and_of_the_first_rounds_are_even():
    assert np.allclose(fluid.pulls(np.zeros(4), 1000.0, 1.0), 250)
    assert np.allclose(fluid.pulls(np.array([0.0, 0.5]), 2.0, 1.0), 1)


def test_pulls_tend_to_the_leading_term():
    g, alpha = 0.3, 1.0
    assert fluid.pulls([0, g], 2.0**200, alpha)[1] == pytest.approx(
        (alpha + 2) * np.log(2.0**200) / (2 * g**2), rel=1e-3
    )


def test_many_machines_at_once_are_as_one_after_the_other():
    inside, n = fluid.gaps(ARITH.P), np.array([10.0, 50, 100, 1000, 3, 7])
    one_by_one = [fluid.pulls(g, m, 3.0) for g, m in zip(inside, n, strict=True)]
    assert np.allclose(fluid.pulls(inside, n, 3.0), one_by_one)


def test_visits_add_up_and_come_from_pulls():
    n = fluid.visits(ARITH.P, 32000, 3.0)
    assert n.sum() == pytest.approx(32000)
    assert np.allclose(fluid.pulls(fluid.gaps(ARITH.P), n, 3.0).sum(axis=0), n, rtol=1e-6)


def test_the_first_epochs_of_doubler_by_hand():
    even = W.mean()
    assert fluid.doubler(ARITH.P, W, 2, 3.0) == pytest.approx(2 * even)
    assert fluid.doubler(ARITH.P, W, 6, 3.0) == pytest.approx(6 * even)


@pytest.mark.parametrize(("algorithm", "mean"), [(fluid.multisbm, 2421), (fluid.doubler, 3174)])
def test_the_reference_values_are_predicted(algorithm, mean):
    assert algorithm(ARITH.P, W, 32000, 3.0) == pytest.approx(mean, rel=0.02)


def test_sparring_is_two_machines_against_the_best_arm():
    one = fluid.pulls(ARITH.gaps / 2, 32000.0, 3.0) @ ARITH.gaps / 2
    assert fluid.sparring(ARITH.P, W, 32000, 3.0) == pytest.approx(2 * one)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_grow_and_stay_below_random_play(name):
    game = scenario(name)
    w = np.diag(game.table())
    for f in (fluid.sparring, fluid.multisbm, fluid.doubler):
        values = [f(game.P, w, 2**k, 3.0) for k in (8, 12, 16, 20)]
        assert np.all(np.diff(values) > 0) and values[-1] < w.mean() * 2**20
