"""The exact engine against enumeration of all histories, hand values and invariants."""

import math
from collections import Counter, defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction as F
from functools import lru_cache, partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueling.theory import exact

HALF = F(1, 2)
TWO = [[HALF, F(1, 5)], [F(4, 5), HALF]]
CYCLE = [[HALF, F(1, 3), F(3, 4)], [F(2, 3), HALF, F(2, 5)], [F(1, 4), F(3, 5), HALF]]


def linear(mu):
    return [[(1 + v - u) / 2 for v in mu] for u in mu]


# The oracle's oracle: every history, machines rebuilt from it, indices to 40 digits


@lru_cache(None)
def choices(history, K, alpha, ties):
    """[(probability, arm)] of UCB after a history of (arm, reward)."""
    with localcontext() as ctx:
        ctx.prec = 40
        index = []
        for x in range(K):
            rewards = [r for arm, r in history if arm == x]
            if not rewards:
                index.append(Decimal("Infinity"))
                continue
            n = Decimal(len(rewards))
            radius = ((Decimal(alpha) + 2) * Decimal(len(history) + 1).ln() / (2 * n)).sqrt()
            index.append(sum(rewards) / n + radius)
        best = [x for x in range(K) if index[x] == max(index)]
    return [(F(1), best[0])] if ties == "first" else [(F(1, len(best)), x) for x in best]


def sparring(h, K, alpha, ties):
    left = choices(tuple((x, 1 - b) for x, y, b in h), K, alpha, ties)
    right = choices(tuple((y, b) for x, y, b in h), K, alpha, ties)
    return [(p * q, x, y) for p, x in left for q, y in right]


def multisbm(h, K, alpha, ties):
    x = h[-1][1] if h else 0
    seen = tuple((y, b) for z, y, b in h if z == x)
    return [(p, x, y) for p, y in choices(seen, K, alpha, ties)]


def doubler(h, K, alpha, ties):
    starts = [0, 2, 6, 14, 30]
    i = max(i for i, s in enumerate(starts) if s <= len(h))
    ys = [y for _, y, _ in h[starts[i - 1] : starts[i]]] if i else [0]
    right = choices(tuple((y, b) for _, y, b in h[starts[i] :]), K, alpha, ties)
    return [(F(c, len(ys)) * p, x, y) for x, c in Counter(ys).items() for p, y in right]


def champion(h, K, alpha, ties, r=1):
    x, start, length = 0, 0, 1
    while start + length <= len(h):
        n = Counter(y for _, y, _ in h[start : start + length])
        most = min(y for y in range(K) if n[y] == max(n.values()))
        x = x if n[x] > r * n[most] else most
        start, length = start + length, 2 * length
    seen = tuple((y, b) for z, y, b in h if z == x)
    return [(p, x, y) for p, y in choices(seen, K, alpha, ties)]


def doubler_with_a_set(h, K, alpha, ties):
    """Wrong: the list without multiplicities."""
    pairs = doubler(h, K, alpha, ties)
    lefts = {x for _, x, _ in pairs}
    right = defaultdict(F)
    for p, _, y in pairs:
        right[y] += p
    return [(F(1, len(lefts)) * p, x, y) for x in lefts for y, p in right.items()]


def sparring_selfish(h, K, alpha, ties):
    """Wrong: both machines are told b."""
    left = choices(tuple((x, b) for x, y, b in h), K, alpha, ties)
    right = choices(tuple((y, b) for x, y, b in h), K, alpha, ties)
    return [(p * q, x, y) for p, x in left for q, y in right]


def enumerate_plays(algorithm, P, T, alpha, ties):
    K = len(P)
    out = np.full((T, K, K), F(0), dtype=object)

    def extend(h, p):
        if len(h) == T:
            return
        for q, x, y in algorithm(h, K, alpha, ties):
            out[len(h), x, y] += p * q
            for b, r in ((0, 1 - P[x][y]), (1, P[x][y])):
                if r:
                    extend((*h, (x, y, b)), p * q * r)

    extend((), F(1))
    return np.cumsum(out, axis=0)


ALGORITHMS = {"sparring": sparring, "multisbm": multisbm, "doubler": doubler, "champion": champion}


@pytest.mark.parametrize("ties", ["random", "first"])
@pytest.mark.parametrize("alpha", [-1, 1, 3])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_two_arms_equal_enumeration(name, alpha, ties):
    ours = getattr(exact, name)(TWO, 7, alpha, ties)
    assert (ours == enumerate_plays(ALGORITHMS[name], TWO, 7, alpha, ties)).all()


@pytest.mark.parametrize("ties, T", [("random", 4), ("first", 6)])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_three_arms_equal_enumeration(name, ties, T):
    ours = getattr(exact, name)(CYCLE, T, 1, ties)
    assert (ours == enumerate_plays(ALGORITHMS[name], CYCLE, T, 1, ties)).all()


@pytest.mark.parametrize("r", [F(1, 4), F(1, 2), 1])
def test_the_firmness_of_champion_equals_enumeration(r):
    """The left arm may change before round 8, and r decides it."""
    ours = exact.champion(TWO, 9, 1, "first", r)
    assert (ours == enumerate_plays(partial(champion, r=r), TWO, 9, 1, "first")).all()
    assert (ours == exact.champion(TWO, 9, 1, "first")).all() == (r == 1)


def test_champion_keeps_to_the_first_left_arm_for_one_round():
    for x1 in range(3):
        left = exact.champion(CYCLE, 3, 1, x1=x1).sum(axis=2)
        assert left[0].tolist() == [int(x == x1) for x in range(3)]
        assert (left[2] == left[0] + 2 * exact.champion(CYCLE, 1, 1, x1=x1)[0].sum(axis=0)).all()


probability = st.fractions(0, 1, max_denominator=9)


@settings(max_examples=15)
@given(p=probability, alpha=st.sampled_from([-1, 0, 2]), name=st.sampled_from(sorted(ALGORITHMS)))
def test_any_two_arm_table_equals_enumeration(p, alpha, name):
    P = [[HALF, p], [1 - p, HALF]]
    ours = getattr(exact, name)(P, 5, alpha)
    assert (ours == enumerate_plays(ALGORITHMS[name], P, 5, alpha, "random")).all()


@pytest.mark.parametrize(
    "name, wrong, T",
    [("doubler", doubler_with_a_set, 7), ("sparring", sparring_selfish, 5)],
)
def test_enumeration_refuses_a_wrong_algorithm(name, wrong, T):
    P = [[HALF, F(1, 10)], [F(9, 10), HALF]]
    ours = getattr(exact, name)(P, T, -1, "first")
    assert (ours != enumerate_plays(wrong, P, T, -1, "first")).any()


@pytest.mark.parametrize("ties", ["random", "first"])
@pytest.mark.parametrize("means, T", [((F(4, 5), F(1, 3)), 9), ((F(1, 2), F(1, 4), F(1)), 6)])
def test_ucb_equals_enumeration(means, T, ties):
    want = defaultdict(F)

    def extend(h, p):
        if len(h) == T:
            want[tuple(sum(x == arm for arm, _ in h) for x in range(len(means)))] += p
            return
        for q, x in choices(h, len(means), 1, ties):
            for b, r in ((0, 1 - means[x]), (1, means[x])):
                if r:
                    extend((*h, (x, b)), p * q * r)

    extend((), F(1))
    chain = exact.ucb_chain(means, 1, ties)
    assert exact.ucb(means, T, 1, ties) == want
    assert exact.marginal(exact.law(chain, T), exact.counts) == want


# Hand values


def test_ucb_on_constant_rewards_by_hand():
    # alpha = 0, c = ln t: arm 1 waits until sqrt(c) > 1 + sqrt(c / (t - 2)), first at t = 11
    laws = list(exact.ucb_laws([1, 0], 11, 0))
    assert laws[0] == {(1, 0): HALF, (0, 1): HALF}
    assert all(law == {(t, 1): 1} for t, law in enumerate(laws[1:10], start=1))
    assert laws[10] == {(9, 2): 1}


def test_first_rounds_by_hand():
    # Sparring: two independent coins, then each side takes its other arm.
    plays = exact.sparring(TWO, 2, 1)
    assert (plays[0] == F(1, 4)).all() and (plays[1] == HALF).all()
    # Doubler: left arm 0 for two rounds, right arms 0 and 1 in some order.
    plays = exact.doubler(TWO, 2, 1)
    assert plays[1].tolist() == [[1, 1], [0, 0]]
    # MultiSBM, first index: (0, 0), then S_0 takes 1, then S_1 takes 0.
    plays = exact.multisbm(TWO, 3, 1, "first")
    assert plays[2].tolist() == [[1, 1], [1, 0]]


def test_helpers():
    law = exact.ucb([F(4, 5), F(1, 3)], 6, 1)
    for x in (0, 1):
        pmf = exact.pulls(law, x)
        assert len(pmf) == 7 and pmf.sum() == 1
        assert sum(n * p for n, p in enumerate(pmf)) == exact.mean(law, lambda n, x=x: n[x])
    gap = F(4, 5) - F(1, 3)
    assert exact.ucb_regret(law, [F(4, 5), F(1, 3)]) == gap * exact.mean(law, lambda n: n[1])
    plays = exact.sparring(linear([F(4, 5), F(1, 3)]), 6, 1)
    R = exact.regret(plays, exact.costs([F(4, 5), F(1, 3)]))
    assert R[0] == gap / 2 and all(R[1:] >= R[:-1])
    assert R[-1] == gap / 2 * (plays[-1, 1].sum() + plays[-1, :, 1].sum())


# Invariants


@pytest.mark.parametrize("ties", ["random", "first"])
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("P, T", [(TWO, 12), (CYCLE, 8)])
def test_every_round_plays_one_pair(name, P, T, ties):
    plays = getattr(exact, name)(P, T, 1, ties)
    assert plays.shape == (T, len(P), len(P))
    assert plays.sum(axis=(1, 2)).tolist() == list(range(1, T + 1))
    assert (np.diff(plays, axis=0) >= 0).all()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_laws_sum_to_one(name):
    chain = getattr(exact, f"{name}_chain")(CYCLE, 1)
    for played, law in exact.evolve(chain, 7):
        assert sum(played.values()) == 1 and sum(law.values()) == 1
        assert min(law.values()) > 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_fractions_and_floats_agree(name):
    run = getattr(exact, name)
    want = run(CYCLE, 8, 2).astype(float)
    assert np.allclose(run(np.array(CYCLE, dtype=float), 8, 2), want, rtol=0, atol=1e-13)


@pytest.mark.parametrize("means, T", [((0.8, 0.3), 40), ((0.8, 0.3, 0.6), 14)])
@pytest.mark.parametrize("ties", ["random", "first"])
def test_tables_equal_chain(means, T, ties):
    chain = exact.ucb_chain(means, 1, ties)
    for table, (_, law) in zip(exact.ucb_laws(means, T, 1, ties), exact.evolve(chain, T)):
        want = exact.marginal(law, exact.counts)
        assert table.keys() >= want.keys()
        assert all(abs(p - want.get(n, 0)) < 1e-13 for n, p in table.items())


def test_sparring_is_symmetric_in_left_and_right():
    plays = exact.sparring(CYCLE, 9, 1)
    assert (plays == plays.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("perm", list(permutations(range(3))))
@pytest.mark.parametrize("name", ALGORITHMS)
def test_renaming_arms_renames_plays(name, perm):
    if name == "champion" or (name == "doubler" and perm[0] != 0):
        return  # an arm of smallest index among those played most; its first list is {0}
    Q = [[CYCLE[x][y] for y in perm] for x in perm]
    start = {"y0": perm.index(0)} if name == "multisbm" else {}
    got = getattr(exact, name)(Q, 7, 1, **start)
    assert (got == getattr(exact, name)(CYCLE, 7, 1)[:, perm][:, :, perm]).all()


def test_identical_arms_are_played_alike():
    P = [[HALF] * 3] * 3
    sparring = exact.sparring(P, 8, 1)
    assert all((sparring[:, x, y] == sparring[:, 0, 1]).all() for x, y in permutations(range(3), 2))
    assert (exact.doubler(P, 8, 1)[:, :, 1] == exact.doubler(P, 8, 1)[:, :, 2]).all()


@pytest.mark.parametrize("P, T, y0", [(TWO, 14, 0), (TWO, 14, 1), (CYCLE, 9, 2)])
def test_multisbm_right_arm_becomes_left(P, T, y0):
    plays = exact.multisbm(P, T, 1, y0=y0)
    left, right = plays.sum(axis=2), plays.sum(axis=1)
    first = [int(x == y0) for x in range(len(P))]
    assert (left[0] == first).all() and (left[1:] == first + right[:-1]).all()


def test_observation_C1():
    mu = [F(1, 3), F(9, 10)]
    gap, plays = max(mu) - mu[0], exact.multisbm(linear(mu), 12, 1)
    R = exact.regret(plays, exact.costs(mu))
    right = gap * plays[:, :, 0].sum(axis=1)
    last = np.diff(right, prepend=0)
    assert (right + (gap - last) / 2 == R).all()


@pytest.mark.parametrize("P", [TWO, CYCLE])
def test_doubler_left_arms_repeat_the_last_epoch(P):
    plays = exact.doubler(P, 14, 1)
    left, right = plays.sum(axis=2), plays.sum(axis=1)
    assert left[1].tolist() == [2] + [0] * (len(P) - 1)
    assert (left[5] - left[1] == 2 * right[1]).all()
    assert (left[13] - left[5] == 2 * (right[5] - right[1])).all()


def test_each_machine_tries_every_arm_first():
    for _, S in exact.law(exact.multisbm_chain(CYCLE, 1), 8):
        assert all(max(n) == 1 or min(n) >= 1 for n in map(exact.counts, S) if sum(n))


def test_no_near_ties():
    """Two different (n, s) never come close enough for rounding to order them wrongly."""
    closest = math.inf
    for alpha in (-1, 0, 1, 3):
        for _, law in exact.evolve(exact.ucb_chain([0.5, 0.5], alpha), 28):
            for (n, s), (m, r) in law:
                if n and m and (n, s) != (m, r):
                    c = (alpha + 2) * math.log(1 + n + m) / 2
                    closest = min(closest, abs(s / n + math.sqrt(c / n) - r / m - math.sqrt(c / m)))
    assert closest > 1e-9


def test_larger_sizes_keep_the_total():
    P = np.array(linear([0.8, 0.3]))
    assert abs(sum(exact.ucb([0.8, 0.3], 60, 1).values()) - 1) < 1e-12
    for name in ALGORITHMS:
        assert np.allclose(getattr(exact, name)(P, 20, 3)[-1].sum(), 20)
