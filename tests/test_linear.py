"""Linear arm sets and ConfidenceBall against slow, independent readings of their definitions."""

import sys
from collections import defaultdict
from fractions import Fraction as F
from math import exp, log, sqrt
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from conftest import every_path, same
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from dueling import Single, Sparring, simulate
from dueling.engine import compiled
from dueling.structured import (
    OFUL,
    Ball,
    Box,
    ConfidenceBall1,
    ConfidenceBall2,
    Ellipsoid,
    Inequalities,
    LinearCardinal,
    LinearDoubler,
    LinearUtilities,
    Points,
    Polytope,
    Simplex,
    Watched,
)
from dueling.structured.doubler import History
from dueling.structured.games import LinearGame
from dueling.structured.radius import (
    delta_of_epoch,
    doubler_bound,
    epoch_bound,
    last_radius,
    regret_bound,
    self_normalised,
    squared_radius,
)

SQUARE = [[0, 0], [1, 0], [0, 1], [1, 1]]
CROSS = [[1.0, 0], [-1, 0], [0, 1], [0, -1]]
SHAPE = [[0.5, 0.2, 0.0], [0.0, 0.4, 0.1], [0.0, 0.0, 0.3]]
SETS = {
    "points": Points([[1, 0], [0, 1], [-1, -1], [0.5, 0.6]]),
    "polytope": Polytope(SQUARE),
    "ball": Ball(3),
    "ball elsewhere": Ball(2, 0.5, [1, 2]),
    "ellipsoid": Ellipsoid([0.5, 0.0, -0.5], SHAPE),
    "box": Box([-1, 0, 0], [1, 1, 0.5]),
    "simplex": Simplex(4),
}
HALVES = [[-1, 0], [0, -1], [1, 2], [2, 1]], [0, 0, 2, 2]
BOTH = (ConfidenceBall1, ConfidenceBall2)
OWN = "self-normalised"


def rng(seed=0):
    return np.random.default_rng(seed)


def members(X, many, seed=0):
    """Random arms of X, none of them from its oracle."""
    g = rng(seed)
    if isinstance(X, Ellipsoid):
        z = g.standard_normal((many, X.d))
        z *= (g.random((many, 1)) ** (1 / X.d)) / np.linalg.norm(z, axis=1, keepdims=True)
        return X.centre + z @ X.shape.T
    corners = X.vertices()
    if not X.convex:
        return corners[g.integers(len(corners), size=many)]
    return g.dirichlet(np.full(len(corners), 0.3), size=many) @ corners


def game_on(X, **options):
    """A game on X with utilities between 0.2 and 0.8, in a direction that is not an axis."""
    mu = np.cos(1.0 + np.arange(X.d))
    low, high = float(X.best(-mu) @ mu), float(X.best(mu) @ mu)
    mu *= 0.6 / (high - low)
    return LinearUtilities(X, mu, 0.2 - float(X.best(-mu) @ mu), **options)


def play_machine(S, scenario, rounds, seed=0, see=None):
    """Let a machine play the bandit of an epoch, plain; ``see(S, x, history)`` in each round."""
    g, bandit, history = rng(seed), scenario.inside(), []
    S.reset()
    for _ in range(rounds):
        x = S.advance().copy()
        if see is not None:
            see(S, x, history)
        u = float(g.random() < bandit.utility(x))
        S.feedback(u)
        history.append((np.append(x, 1.0), u))
    return history


# Sets of arms


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_the_oracle_maximises_over_the_set(name, seed):
    X, c = SETS[name], rng(seed).standard_normal(SETS[name].d)
    x = X.best(c)
    assert X.contains(x)
    assert c @ x >= (members(X, 300, seed) @ c).max() - 1e-12


@pytest.mark.parametrize("name", SETS)
def test_members_are_members_and_others_are_not(name):
    X = SETS[name]
    assert all(X.contains(x) for x in members(X, 20))
    assert not X.contains(X.best(np.ones(X.d)) + 0.1)


@pytest.mark.parametrize("offset", [-0.1, 0.9])
def test_utilities_outside_of_the_unit_interval_on_either_side_are_refused(offset):
    with pytest.raises(ValueError, match=rf"run from {offset:g} to .*; they must lie in \[0, 1\]"):
        LinearUtilities(Box([0], [1]), [0.2], offset)


@pytest.mark.parametrize("merge", [True, False])
def test_the_list_of_doubler_is_the_arms_of_the_last_epoch_alone(merge):
    a, b, c = np.eye(3)
    L = History(Points(np.eye(3)), np.random.default_rng(1), 4, merge)
    L.start(0)
    for epoch in ([a, b, a], [b, c, c, c], [c, a]):
        for y in epoch:
            L.note(y)
        L.renew()
        kinds = len({tuple(y) for y in epoch}) if merge else len(epoch)
        assert (L.size, L.stored, L.storing, L.noted) == (len(epoch), kinds, 0, 0)
        drawn = np.mean([L.draw().copy() for _ in range(2000)], axis=0)
        assert np.abs(drawn - np.mean(epoch, axis=0)).max() < 0.05
    assert L.most == (2 if merge else 4)


@pytest.mark.parametrize("name", SETS)
def test_how_long_a_direction_is_says_nothing(name):
    """Its square may leave the floats on either side."""
    X, c = SETS[name], rng().standard_normal(SETS[name].d)
    for size in (2.0**-900, 2.0**-3, 2.0**900):
        assert np.array_equal(X.best(size * c), X.best(c))


@pytest.mark.parametrize("name", [*SETS, "inequalities"])
def test_a_vector_of_another_dimension_or_without_a_number_is_no_arm(name):
    X = Inequalities(*HALVES) if name == "inequalities" else SETS[name]
    x = X.best(np.ones(X.d))
    assert X.contains(list(x))
    for other in (x[:1], x[0], np.append(x, 0), x[None], np.where(x == x[0], np.nan, x)):
        assert not X.contains(other)


def test_the_average_of_arms_is_an_arm_where_the_set_is_convex():
    for X in SETS.values():
        if X.convex:
            assert X.contains(members(X, 30).mean(axis=0))
    assert not SETS["points"].contains(SETS["points"].points.mean(axis=0))


@pytest.mark.parametrize("name", SETS)
def test_the_spanner_spans_with_coordinates_at_most_one(name):
    X = SETS[name]
    B = X.spanner()
    assert not B.flags.writeable  # all games over X share it
    lifted = np.column_stack([members(X, 500), np.ones(500)])
    coordinates = lifted @ np.linalg.pinv(B)
    assert np.abs(coordinates).max() <= 1.001 + 1e-9
    assert np.allclose(coordinates @ B, lifted)
    assert len(B) == np.linalg.matrix_rank(lifted)
    assert all(X.contains(b[:-1]) for b in B)


def test_inequalities_are_the_polytope_of_their_vertices():
    A, b = [[-1, 0], [0, -1], [1, 1]], [0, 0, 1]
    X = Inequalities(A, b)
    V = X.polytope()
    assert sorted(map(tuple, V.points)) == [(0, 0), (0, 1), (1, 0)]
    for seed in range(10):
        c = rng(seed).standard_normal(2)
        assert X.best(c) @ c == pytest.approx(V.best(c) @ c, abs=1e-9)
    assert X.contains([0.2, 0.3])
    assert not X.contains([0.8, 0.3])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Points(np.zeros((0, 2))), "must have an arm"),
        (lambda: Points([[0, np.nan]]), "finite"),
        (lambda: Points([0, 1]), "dimension"),
        (lambda: Points([[1, 2], [1, 2]]).spanner(), "single point"),
        (lambda: Inequalities([[1.0], [-1.0]], [0, -1]), "empty"),
        (lambda: Inequalities([[1.0, 0.0]], [1]), "unbounded"),
        (lambda: Inequalities([[1.0, 0.0]], [1, 2]), "must have 1, as A rows"),
        (
            lambda: Inequalities(CROSS, [0, 0, 1, 1]).polytope(),
            "no int",
        ),
        (lambda: Inequalities(CROSS, [1e-8, 1e-8, 1e12, 1e12]).polytope(), "almost none"),
        (lambda: Inequalities(CROSS, [3e-9, 3e-9, 1e6, 1e6]).polytope(), "almost none"),
        (lambda: Ball(2, radius=0), "radius"),
        (lambda: Ball(2, radius=np.inf), "radius"),
        (lambda: Ball(0), "d is 0"),
        (lambda: Ball(2, centre=[0, 0, 0]), "dimension 2"),
        (lambda: Ellipsoid([0, 0], [[1, 1], [1, 1]]), "singular"),
        (lambda: Ellipsoid([0, 0], np.eye(3)), r"must be \(2, 2\), as centre"),
        (lambda: Box([0, 1], [1, 0]), r"low\[1\]"),
        (lambda: Box([0], [1, 2]), "must have 1, as low"),
        (lambda: Box([0] * 17, [1] * 17).vertices(), "too many"),
        (lambda: Simplex(1), "d is 1"),
        (lambda: LinearUtilities(Ball(2), [0.5, 0.5], 0.5), "must lie in"),
        (lambda: LinearUtilities(Ball(2), [0.5], 0.5), "dimension 2"),
        (lambda: LinearUtilities([[1, 0], [0, 1]], [1, 0]), "X is .*; it must be a set of arms"),
        (lambda: simulate(game_on(Ball(2)), Sparring(ConfidenceBall1), regret="none"), "'average'"),
        (lambda: LinearUtilities(Ball(1), [0.5], 0.5, link="natural"), "0/0"),
        (lambda: LinearUtilities(Ball(1), [0.5], 0.5, link="linaer"), "did you mean"),
        (lambda: ConfidenceBall1(Ball(2), rng(), scale=0), "scale"),
        (lambda: ConfidenceBall1(Ball(2), rng(), delta=1.5), "delta"),
        (lambda: ConfidenceBall1(Ball(2), rng(), root="cubic"), "root"),
        (lambda: ConfidenceBall2(Ball(2), rng(), radius="small"), "radius is 'small'"),
        (lambda: OFUL(Inequalities([[1.0], [-1.0]], [1, 1]), rng()), "ConfidenceBall1"),
        (lambda: ConfidenceBall2(Inequalities([[1.0], [-1.0]], [1, 1]), rng()), "ConfidenceBall1"),
        (lambda: LinearDoubler(ConfidenceBall1, memory="none"), "memory"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(make, says):
    with pytest.raises(ValueError, match=says) as error:
        make()
    assert str(error.value).count("\n") == 0
    assert str(error.value).endswith((".", "?"))


# The machines against their definitions


def slow_state(S, X, history):
    """A_t, mu_hat and beta_t from the whole history, by NumPy."""
    B = X.spanner()
    A = B.T @ B + sum((np.outer(z, z) for z, _ in history), np.zeros((X.d + 1, X.d + 1)))
    total = sum((u * z for z, u in history), np.zeros(X.d + 1))
    inverse = np.linalg.pinv(A, rcond=1e-12)
    t, delta = len(history) + 1, S.delta
    n, ell = len(B), log(t**2 / delta)
    return A, inverse @ total, S.scale * max(128 * n * log(t) * ell, (8 / 3 * ell) ** 2), inverse


def optimism(arms, mean, width, inverse):
    """<mean, x'> + sqrt(beta) |x'| in the norm of the inverse, for each arm."""
    z = np.column_stack([arms, np.ones(len(arms))])
    return z @ mean + width * np.sqrt(np.maximum(((z @ inverse) * z).sum(axis=1), 0))


@pytest.mark.parametrize("name", ["points", "polytope", "box", "simplex"])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-5])
def test_confidence_ball_2_is_the_brute_force_on_vertices_step_by_step(name, scale):
    X = SETS[name]

    def see(S, x, history):
        _, mean, squared, inverse = slow_state(S, X, history)
        values = optimism(X.vertices(), mean, sqrt(squared), inverse)
        own = optimism(x[None, :], mean, sqrt(squared), inverse)[0]
        assert own >= values.max() - 1e-9 * (1 + abs(values.max()))

    play_machine(ConfidenceBall2(X, rng(), scale=scale), game_on(X), 150, see=see)


def test_the_brute_force_refuses_a_wrong_radius():
    """The check above can fail: at a thousandth of the radius the arms differ."""
    X, wrong = SETS["points"], []

    def see(S, x, history):
        _, mean, squared, inverse = slow_state(S, X, history)
        values = optimism(X.vertices(), mean, sqrt(squared / 1000), inverse)
        wrong.append(
            optimism(x[None, :], mean, sqrt(squared / 1000), inverse)[0] < values.max() - 1e-9
        )

    play_machine(ConfidenceBall2(X, rng(), scale=1e-3), game_on(X), 300, see=see)
    assert sum(wrong) > 20


def slow_self_normalised(S, X, history):
    """The squared radius of OFUL from the whole history: the determinant in spanner coordinates."""
    G = np.linalg.pinv(X.spanner())
    z = [G.T @ arm for arm, _ in history]
    A = np.eye(S.n) + sum((np.outer(v, v) for v in z), np.zeros((S.n, S.n)))
    return (sqrt(np.linalg.slogdet(A)[1] + 2 * log(1 / S.delta)) / 2 + sqrt(S.n)) ** 2


@pytest.mark.parametrize("name", ["points", "polytope", "box", "simplex", "ball", "ellipsoid"])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_oful_is_the_brute_force_with_the_radius_of_the_determinant(name, delta):
    X, least = SETS[name], []
    candidates = members(X, 4000) if isinstance(X, Ellipsoid) else X.vertices()

    def see(S, x, history):
        squared = slow_self_normalised(S, X, history)
        assert S.squared_radius() == pytest.approx(squared, rel=1e-9)
        _, mean, _, inverse = slow_state(S, X, history)
        values = optimism(candidates, mean, sqrt(squared), inverse)
        own = optimism(x[None, :], mean, sqrt(squared), inverse)[0]
        assert own >= values.max() - 1e-9 * (1 + abs(values.max()))
        half = optimism(candidates, mean, sqrt(squared) / 2, inverse)
        least.append(optimism(x[None, :], mean, sqrt(squared) / 2, inverse)[0] < half.max() - 1e-9)

    play_machine(OFUL(X, rng(), delta=delta), game_on(X), 150, see=see)
    assert any(least)  # with half the radius the machine would have played another arm


def test_the_determinant_is_also_that_of_the_symmetric_root():
    X = SETS["ellipsoid"]
    S = ConfidenceBall1(X, rng(), root="symmetric", radius="self-normalised")
    history = []
    play_machine(S, game_on(X), 40, see=lambda S, x, past: history.append(list(past)))
    assert len(history[-1]) == 39
    full = [*history[-1], (np.append(S.arm, 1.0), 0.0)]
    assert S.squared_radius() == pytest.approx(slow_self_normalised(S, X, full), rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_the_bound_on_the_radius_of_oful_holds_for_every_spanner_the_package_makes(n):
    """ln det A_T <= n ln(r^2 T) for arms in the cube of side r, and nearly so at its corners."""
    corners, T = np.array(np.meshgrid(*[[-1.0, 1.0]] * n)).reshape(n, -1).T, 64
    A = np.eye(n) + sum(np.outer(v, v) for v in corners[rng(n).integers(len(corners), size=T - 1)])
    truth, most = self_normalised(n, 0.01, np.linalg.slogdet(A)[1]), last_radius(n, 0.01, T, OWN)
    assert 0.9 * most < truth <= most
    assert last_radius(n, 0.01, T) == squared_radius(n, 0.01, T)


def test_the_bounds_of_oful_by_hand():
    b = (sqrt(3 * log(1.001**2 * 1024) + 20 * log(2)) / 2 + sqrt(3)) ** 2
    assert regret_bound(2, 3, 1024, 2**-10, radius=OWN) == pytest.approx(
        sqrt(8 * 3 * 1024 * b * log(1025))
    )
    assert regret_bound(1, 3, 1024, 2**-10, 0.1, OWN) == pytest.approx(720 * b * log(1025))
    speaks = {
        n: next(i for i in range(60) if epoch_bound(2, n, i, radius=OWN) < 2**i / 2)
        for n in (3, 5, 9)
    }
    assert speaks == {3: 15, 5: 17, 9: 19}
    assert doubler_bound(2, 3, 2**30, radius=OWN) < doubler_bound(2, 3, 2**30) / 5


@pytest.mark.parametrize("name", ["ball", "ball elsewhere", "ellipsoid"])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-5])
def test_confidence_ball_2_beats_many_candidates_on_an_ellipsoid(name, scale):
    X = SETS[name]
    z = rng(5).standard_normal((10**5, X.d))
    candidates = X.centre + (z / np.linalg.norm(z, axis=1, keepdims=True)) @ X.shape.T

    def see(S, x, history):
        if len(history) in (0, 1, 2, 5, 20, 60, 149):
            _, mean, squared, inverse = slow_state(S, X, history)
            best = optimism(candidates, mean, sqrt(squared), inverse).max()
            own = optimism(x[None, :], mean, sqrt(squared), inverse)[0]
            assert X.contains(x)
            assert own >= best - 1e-9 * (1 + abs(best))
            assert 0 <= S.gap <= 1e-6 * (1 + abs(best))

    play_machine(ConfidenceBall2(X, rng(), scale=scale), game_on(X), 150, see=see)


def test_the_certificate_survives_the_hard_cases():
    """Symmetric ellipsoids, a centre at 0 or far away: the pole of the secular equation is met."""
    X = Ball(2)
    angles = np.linspace(0, 2 * np.pi, 20001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for total in ([0, 0, 0], [0, 0, 3.0], [1e-9, 0, 1], [5, 0, 0], [-2, 1, -4]):
        for stretch in ([0, 0], [1, 0], [100, 0], [3, 4]):
            S = ConfidenceBall2(X, rng(), scale=1e-3)
            S.reset()
            for _ in range(5):
                S.arm[:] = stretch
                S.feedback(0.0)
            S.total[:] = total
            x = S.advance()
            inverse = S.R.T @ S.R
            own = optimism(x[None, :], inverse @ S.total, sqrt(S.squared_radius()), inverse)[0]
            best = optimism(circle, inverse @ S.total, sqrt(S.squared_radius()), inverse).max()
            assert own >= best - 1e-9
            assert own <= best + 1e-5


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("root", ["updated", "symmetric"])
def test_confidence_ball_1_is_the_best_of_its_vertices(name, root):
    X = SETS[name]

    def see(S, x, history):
        A, mean, squared, inverse = slow_state(S, X, history)
        assert np.allclose(S.R.T @ S.R, inverse, atol=1e-8)  # the root is a root
        if root == "symmetric":
            B = X.spanner()
            in_spanner = np.linalg.pinv(B).T @ A @ np.linalg.pinv(B)
            K = np.linalg.inv(np.real(sqrtm(in_spanner)))
            assert np.allclose(S.R, K @ np.linalg.pinv(B).T, atol=1e-7)
        width = sqrt(S.n * squared)
        vertices = [mean + s * width * S.R[i] for i in range(S.n) for s in (1, -1)]
        best = max(c @ np.append(X.best(c[:-1]), 1.0) for c in vertices)
        own = max(c @ np.append(x, 1.0) for c in vertices)
        assert own >= best - 1e-8 * (1 + abs(best))

    play_machine(ConfidenceBall1(X, rng(), scale=1e-3, root=root), game_on(X), 60, see=see)


def test_the_1_norm_ball_lies_between_the_ellipsoid_and_root_n_ellipsoids():
    """What the guarantee uses of the root: the ellipsoid inside, sqrt(n) times it outside."""
    S = ConfidenceBall1(Ball(4), rng(), scale=1e-3)
    play_machine(S, game_on(Ball(4)), 50)
    S.estimate()
    z = rng(1).standard_normal((1000, 5))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    r = sqrt(S.squared_radius())
    edge = S.mean + r * z @ S.R  # on the ellipsoid
    assert not any(S.outside(theta) for theta in S.mean + 0.999 * (edge - S.mean))
    assert all(S.outside(theta) for theta in S.mean + 1.001 * sqrt(5) * (edge - S.mean))


@pytest.mark.slow
@pytest.mark.parametrize("machine", BOTH)
def test_the_confidence_set_keeps_its_promise(machine):
    """With the published radius theta never leaves; with a far too small one the watch sees it."""
    inside, T = game_on(Ball(2)).inside(), 2000
    delta = delta_of_epoch(1, 3)
    runs = simulate(inside, Watched(machine, delta=delta), T=T, runs=60, workers=1)
    assert runs.arrays["escaped"].mean() <= delta
    small = Watched(machine, delta=delta, scale=1e-6)
    assert simulate(inside, small, T=T, runs=20, workers=1).arrays["escaped"].all()
    fast = simulate(inside, small, T=70, runs=2, workers=1)
    assert same(fast, simulate(inside, small, T=70, runs=2, workers=1, compiled=False))


class Still:
    """A machine without a confidence set."""

    def __init__(self, X, rng):
        self.arm = np.zeros(X.d)

    def reset(self):
        pass

    def advance(self):
        return self.arm

    def feedback(self, u):
        pass


@pytest.mark.parametrize("fast", [True, False])
def test_a_machine_without_a_confidence_set_cannot_be_watched(fast):
    inside = game_on(Ball(2)).inside()
    assert simulate(inside, Single(Still), T=50, runs=1, compiled=fast).regret.shape == (1, 7)
    with pytest.raises(ValueError, match="machine Still has no operation 'outside'"):
        simulate(inside, Watched(Still), T=50, runs=1, compiled=fast)


def test_rank_one_updates_stay_exact_over_many_rounds():
    X = Ball(6)
    game = game_on(X).inside().game(20000, np.array([20000]), rng())
    S = ConfidenceBall1(X, rng(), scale=1e-4, delta=1e-5)
    compiled.run(Watched.text, S, game)
    assert abs(S.R @ S.A @ S.R.T - np.eye(7)).max() < 1e-12
    R = S.R.copy()
    S.R += 1e-6 * rng(1).standard_normal(R.shape)  # an error of 1e-6 ...
    S.refresh()
    assert abs(S.R @ S.A @ S.R.T - np.eye(7)).max() < 1e-6  # ... is squared away


def test_every_epoch_has_its_own_failure_probability():
    S = ConfidenceBall1(Ball(2), rng())
    seen = []
    for _ in range(6):
        S.reset()
        seen.append(S.delta)
    assert seen == [delta_of_epoch(i, 3) for i in range(1, 7)]
    assert seen[-1] == 2.0**-6
    assert all(squared_radius(n, delta_of_epoch(1, n), 1) > n - 1e-9 for n in range(2, 40))
    own = OFUL(Ball(30), rng())
    own.reset()
    assert own.delta == 0.5 > delta_of_epoch(1, 31)
    fixed = ConfidenceBall1(Ball(2), rng(), delta=0.01)
    fixed.reset()
    fixed.reset()
    assert fixed.delta == 0.01


# Games and Doubler's memory


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "link", "algorithm"),
    [
        ("ball", "linear", LinearDoubler(ConfidenceBall1, scale=1e-4)),
        ("ball", "logit", LinearDoubler(ConfidenceBall1, "counts", scale=1e-4)),
        ("ball", "natural", Sparring(ConfidenceBall1, scale=1e-4, delta=1e-3)),
        ("ball elsewhere", "linear", LinearDoubler(ConfidenceBall2, scale=1e-4)),
        ("points", "natural", LinearDoubler(ConfidenceBall1, "counts", scale=1e-4)),
        ("ellipsoid", "linear", LinearDoubler(ConfidenceBall1, scale=1e-4, root="symmetric")),
        ("box", "linear", LinearDoubler(ConfidenceBall1, "counts", scale=1e-4)),
        ("simplex", "linear", LinearDoubler(ConfidenceBall2, scale=1e-4)),
        ("ball", "linear", LinearDoubler(OFUL)),
        ("points", "logit", LinearDoubler(OFUL, "counts")),
        ("box", "linear", LinearDoubler(ConfidenceBall1, root="symmetric", radius=OWN)),
    ],
)
def test_compiled_and_plain_runs_give_the_same_bits(name, link, algorithm):
    """Every set, machine, memory and link is compiled at least once."""
    scenario = game_on(SETS[name], link=link)
    fast = simulate(scenario, algorithm, T=70, runs=2, workers=1)
    assert same(fast, simulate(scenario, algorithm, T=70, runs=2, workers=1, compiled=False))


@pytest.mark.parametrize("link", ["linear", "logit", "natural"])
def test_a_duel_is_a_coin_of_the_links_probability(link):
    from dueling import links

    scenario, many = game_on(Ball(2), link=link), 20000
    x, y = scenario.X.best([1, 0]), scenario.X.best([-1, 0.2])
    game = scenario.game(many, np.array([many]), rng(3))
    wins = sum(game.play(x, y) for _ in range(many)) / many
    p = float(getattr(links, link)(scenario.utility(y), scenario.utility(x)))
    assert abs(wins - p) < 5 * sqrt(p * (1 - p) / many)
    assert game.history[0, 0] / many == pytest.approx(scenario.top - scenario.utility(x))


@pytest.mark.parametrize("T", [1, 2, 5, 10, 50])
def test_every_round_is_played_and_none_after_the_last(T):
    for algorithm in (LinearDoubler(ConfidenceBall1), Sparring(ConfidenceBall2)):
        game = game_on(Ball(2)).game(T, np.array([T]), rng())
        algorithm.play(game, compile=False)
        assert game.t == T
        with pytest.raises(ValueError, match="no round"):
            game.play(np.zeros(2), np.zeros(2))


class Late:
    """A machine that is right for sixty rounds; then it plays ``self.wrong``."""

    def __init__(self, X, rng):
        self.t, self.right, self.wrong = 0, np.zeros(2), np.array(WRONG[type(self).__name__])

    def reset(self):
        pass

    def advance(self):
        return self.right if self.t < 60 else self.wrong

    def feedback(self, u):
        self.t += 1


WRONG = {"Short": [0.0], "Long": [0.001] * 40, "Far": [50.0, 50.0], "NaN": [np.nan, 0.0]}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("wrong", list(WRONG))
def test_an_arm_outside_of_the_set_is_told_with_its_machine_after_the_rehearsal_too(
    wrong, compiled
):
    """A long arm wrote over other objects' memory; the others gave a regret."""
    machine, square = type(wrong, (Late,), {}), Box([-1, 0], [1, 1])
    duel, bandit = (kind(square, [0.2, 0.1], 0.4) for kind in (LinearUtilities, LinearCardinal))
    for scenario, algorithm in ((bandit, Single), (duel, LinearDoubler)):
        with pytest.raises(ValueError, match=rf"^advance of {wrong} returned array\(.* not an arm"):
            simulate(scenario, algorithm(machine), 300, 1, workers=1, compiled=compiled)


def test_the_gap_is_that_of_the_second_best_vertex():
    assert LinearUtilities(Box([-1, -1], [1, 1]), [0.2, 0.1], 0.5).gap == pytest.approx(0.2)
    assert LinearUtilities(Points(SQUARE), [0.5, 0.2]).gap == pytest.approx(0.2)
    assert LinearUtilities(Ball(2), [0.2, 0.1], 0.5).gap == 0
    assert LinearUtilities(Points([[0.5, 0.2]]), [0.5, 0.2]).gap == np.inf
    assert "linear/linear/Ball(2)" in repr(LinearUtilities(Ball(2), [0.2, 0.1], 0.5))


class Rational(LinearGame):
    """A game whose utilities are Fractions; it remembers (y, b)."""

    def utility(self, x):
        mu = (F(1, 3), F(2, 7))
        return F(1, 5) + sum((m * F(float(v)) for m, v in zip(mu, x)), F(0))

    def play(self, x, y):
        b = super().play(x, y)
        self.seen = (*getattr(self, "seen", ()), (*map(float, y), b))
        return b


def exact_law(memory, T, link=0, force=False):
    """The law of all (y_t, b_t) of Doubler on the unit square, as Fractions."""
    algorithm, law, lost = LinearDoubler(ConfidenceBall1, memory, scale=1e-3), defaultdict(F), F(0)

    def play(coins):
        game = Rational(SETS["polytope"], np.array([1 / 3, 2 / 7]), 0.2, 0, T, np.array([T]), coins)
        parts = algorithm.parts(game)
        game.link = link
        LinearDoubler.text(*parts, game)
        return game.seen, F(game.lost[0]).limit_denominator(10**6)

    for p, (seen, left) in every_path(play):
        law[seen] += p
        lost += p * left
    return law, lost


def test_the_average_arm_and_the_list_have_the_same_law():
    average, counts = exact_law("average", 6), exact_law("counts", 6)
    assert sum(average[0].values()) == 1
    assert len(average[0]) == 2**6  # every string of outcomes
    assert len({y for seen in average[0] for *y, _ in seen[:2] for y in [tuple(y)]}) > 1
    assert average[0] == counts[0]
    assert average[1] == counts[1]  # and the same expected loss of the left arm


def test_under_another_link_the_laws_differ():
    assert exact_law("average", 5, link=2)[0] != exact_law("counts", 5, link=2)[0]


def test_the_average_arm_is_refused_where_it_fails():
    game = game_on(SETS["points"]).game(10, np.array([10]), rng())
    with pytest.raises(ValueError, match="not convex"):
        LinearDoubler(ConfidenceBall1).play(game)
    game = game_on(Ball(2), link="natural").game(10, np.array([10]), rng())
    with pytest.raises(ValueError, match="natural"):
        LinearDoubler(ConfidenceBall1).play(game)


def memory_of(scenario, memory, T):
    """Bytes of the list L, and the number of arms it held, after T rounds."""
    algorithm = LinearDoubler(ConfidenceBall1, memory, scale=1e-4)
    game = scenario.game(T, np.array([T]), rng())
    parts = algorithm.parts(game)
    compiled.run(algorithm.text, *parts, game)
    L = parts[1]
    return sum(v.nbytes for v in vars(L).values() if isinstance(v, np.ndarray)), getattr(
        L, "most", 1
    )


def test_the_average_arm_needs_one_vector_and_the_list_on_a_ball_all_arms():
    ball, box = game_on(Ball(3)), game_on(Box([-1] * 3, [1] * 3))
    assert memory_of(ball, "average", 10**2) == memory_of(ball, "average", 10**4)
    assert memory_of(ball, "counts", 2**12)[1] == 2**11  # the last full epoch, every arm new
    assert memory_of(box, "counts", 10**2)[0] == memory_of(box, "counts", 10**4)[0]
    assert memory_of(box, "counts", 10**4)[1] <= 8


def test_a_linear_program_runs_as_plain_python_and_says_so():
    A, b = [[-1, 0], [0, -1], [1, 1]], [0, 0, 1]
    scenario = LinearUtilities(Inequalities(A, b), [0.5, 0.2], 0.2)
    algorithm = LinearDoubler(ConfidenceBall1, scale=1e-3)
    plain = simulate(scenario, algorithm, T=30, runs=1, workers=1, compiled=False)
    assert plain.regret.shape[1] > 3
    with pytest.raises(ValueError, match="compiled=False"):
        simulate(scenario, algorithm, T=30, runs=1, workers=1)


def test_a_readers_own_set_needs_only_the_oracle():
    class Diamond(Box):
        """The 1-norm ball: a reader's set."""

        def __init__(self):
            super().__init__([-1, -1], [1, 1])

        def argmax(self, c, x):
            at = 0 if abs(c[0]) >= abs(c[1]) else 1
            x[0] = x[1] = 0.0
            x[at] = 1.0 if c[at] > 0 else -1.0

    scenario = LinearUtilities(Diamond(), [0.3, 0.1], 0.5)
    run = simulate(scenario, LinearDoubler(ConfidenceBall1, scale=1e-4), T=4000, runs=2, workers=1)
    assert (run.regret[:, -1] < 0.5 * 4000 * 0.3).all()


# Bounds


def test_the_bounds_have_the_corrected_powers_of_the_dimension():
    def power(ball, gap):
        many, few = (regret_bound(ball, n, 10**9, 1e-9, gap) for n in (4000, 1000))
        return log(many / few) / log(4)

    found = [power(2, None), power(1, None), power(2, 0.1), power(1, 0.1)]
    assert np.allclose(found, [1, 1.5, 2, 3])


def test_the_machines_bound_covers_what_it_does():
    """Loose, but a bound: on a ball with the published radius."""
    inside, i = game_on(Ball(2)).inside(), 12
    for ball, machine in ((1, ConfidenceBall1), (2, ConfidenceBall2)):
        watched = Watched(machine, delta=delta_of_epoch(i, 3))
        mean = simulate(inside, watched, T=2**i, runs=5, workers=1).mean()[-1]
        assert mean <= epoch_bound(ball, 3, i, cap=0.3)
    assert squared_radius(3, 0.1, 1) == pytest.approx((8 / 3 * log(10)) ** 2)
    assert delta_of_epoch(1, 100) == exp(-30 / 8)


def test_doublers_bound_sums_the_epochs():
    B = [0, *(epoch_bound(2, 3, i) for i in range(1, 45))]
    T = 2**40 + 5
    by_hand = 1 + 3 * sum(B[1:39]) + (1 + 7 / 2**39) * B[39] + 3.5
    assert doubler_bound(2, 3, T) == pytest.approx(by_hand)
    assert doubler_bound(2, 3, T) < 0.12 * T  # it speaks ...
    assert doubler_bound(2, 3, 2**30) == pytest.approx(2**30)  # ... and is silent here
    assert doubler_bound(2, 3, 2**50, gap=0.5) < doubler_bound(1, 3, 2**50, gap=0.5)


def test_doubler_learns_on_ball_and_polytope():
    for X, memory in ((Ball(2), "average"), (Box([-1, -1], [1, 1]), "counts")):
        doubler = LinearDoubler(ConfidenceBall1, memory, scale=1e-4)
        mean = simulate(game_on(X), doubler, T=2**13, runs=4, workers=1).mean()
        assert mean[-1] < 0.5 * 2**13 * 0.3
        assert np.log2(mean[-1] / mean[-2]) < 0.9


# Sets of arms are values that all threads share


@pytest.fixture
def hasty():
    """Threads that take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("name", [*SETS, "inequalities"])
def test_sixteen_threads_ask_one_set(name, hasty):
    X = Inequalities(*HALVES) if name == "inequalities" else SETS[name]
    directions = rng().standard_normal((40 if name == "inequalities" else 2000, X.d))
    alone = [X.best(c) for c in directions]
    with ThreadPool(16) as pool:
        crowd = pool.map(X.best, directions, chunksize=1)
    assert np.array_equal(alone, crowd)


@pytest.mark.parametrize("X", SETS.values(), ids=SETS)
def test_sixteen_workers_share_a_game(X, hasty):
    algorithm = LinearDoubler(ConfidenceBall1, memory="counts", scale=1e-3)
    options = {"T": 3, "runs": 64, "compiled": False}
    alone = simulate(game_on(X), algorithm, workers=1, **options)
    crowd = simulate(game_on(X), algorithm, workers=16, chunk=1, **options)
    assert all(np.array_equal(alone.arrays[k], crowd.arrays[k]) for k in alone.arrays)


@pytest.mark.parametrize("X", SETS.values(), ids=SETS)
def test_asking_a_set_changes_nothing_in_it(X):
    def numbers():
        return {name: np.array(value) for name, value in vars(X).items()}

    before = numbers()
    X.best(np.arange(X.d) - 0.5)
    X.spanner()
    after = numbers()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)


def test_every_set_says_whether_its_vertices_are_listed():
    assert Ball(2).vertices() is None and Inequalities([[1], [-1]], [1, 0]).vertices() is None
    assert len(Box([0, 0], [1, 1]).vertices()) == 4
