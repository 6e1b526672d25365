"""The bounds against exact laws, against known values, and against smaller constants."""

import math
from functools import cache

import numpy as np
import pytest

from dueling.theory import bounds, exact, preferences

GOOD1 = [0.8, 0.2, 0.2, 0.2, 0.2, 0.2]
GOOD2 = [0.8, 0.7, 0.2, 0.2, 0.2, 0.2]
ARITH = [0.8, 0.7, 0.575, 0.45, 0.325, 0.2]
TWENTIETHS = np.arange(1, 20) / 20

PAIRS = [(1.0, 0.0), (0.9, 0.2), (0.7, 0.4), (0.55, 0.45)]
ALPHAS = [0.3, 1, 3]


def linear(mu):
    mu = np.asarray(mu)
    return (1 + mu[None, :] - mu[:, None]) / 2


def natural(mu):
    mu = np.asarray(mu)
    return mu[None, :] / (mu[None, :] + mu[:, None])


def logit(mu):
    mu = np.asarray(mu)
    return 1 / (1 + np.exp(mu[:, None] - mu[None, :]))


@cache
def ucb_laws(means, T, alpha):
    return list(exact.ucb_laws(means, T, alpha))


# Lemma A and Lemma B


def excess_A1(nu, g, T, alpha):
    """Lemma A1: a bound on the mean of (N(T) - nu)_+, for whole nu."""
    return np.where(nu >= 2 * (alpha + 2) * np.log(T) / g**2, 2 / alpha * nu**-alpha, np.inf)


def excess_A2(nu, eps, g, T, alpha):
    """Lemma A2: another, from the least nu that the sharp bounds take."""
    enough = nu >= bounds._nu(g, T, alpha, eps)
    return np.where(enough, bounds._excess(nu, eps, g, alpha), np.inf)


def tail_B1(s, g, T, alpha):
    """Lemma B1: a bound on Pr[N(T) >= s]."""
    n = np.ceil(s) - 1.0
    enough = n >= 2 * (alpha + 2) * np.log(T) / g**2
    return np.where(enough, 2 / alpha * np.maximum(n, 1) ** -alpha, 1.0)


def tail_printed(s, g, T, alpha):
    """Lemma 2.2 as printed; true exactly for alpha >= (2 + sqrt 2)/4, about 0.854."""
    return np.where(s >= 4 * alpha * np.log(T) / g**2, 2 / alpha * (s / 2) ** -alpha, 1.0)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("means", PAIRS)
def test_pulls_hold_for_all_T(means, alpha):
    g = means[0] - means[1]
    T = np.arange(2, 61)
    N = [exact.mean(law, lambda n: n[1]) for law in ucb_laws(means, 60, alpha)[1:]]
    sharp = bounds.pulls_sharp(g, T, alpha)
    assert (sharp + 1e-12 >= N).all()
    assert (sharp <= bounds._pulls_A3(g, T, alpha)).all() and (sharp <= T).all()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("means", PAIRS)
def test_excess_and_tail_hold(means, alpha):
    g = means[0] - means[1]
    for T in (2, 7, 30, 60):
        pmf = exact.pulls(ucb_laws(means, 60, alpha)[T - 1], 1)
        n, nu = np.arange(T + 1), np.arange(1.0, T + 1)
        excess = np.maximum(n - nu[:, None], 0) @ pmf
        tail = (n >= nu[:, None]) @ pmf
        assert (excess <= excess_A1(nu, g, T, alpha)).all()
        for eps in (0.1, 0.4, 0.8):
            assert (excess <= excess_A2(nu, eps, g, T, alpha)).all()
        for bound in (tail_B1, bounds.tail_B2):
            assert (tail <= bound(nu, g, T, alpha) + 1e-12).all()
        if alpha >= 1:
            assert (tail <= tail_printed(nu, g, T, alpha) + 1e-12).all()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_regret_of_three_arms(alpha):
    means = (0.9, 0.5, 0.1)
    for T, law in enumerate(ucb_laws(means, 18, alpha)[1:], start=2):
        R, sharp = exact.ucb_regret(law, means), bounds.ucb_sharp(means, T, alpha)
        Delta = 0.9 - np.array(means[1:])
        assert R <= sharp <= np.sum(Delta * bounds._pulls_A3(Delta, T, alpha))


def constant_rewards(T, alpha):
    """Pulls of the arm of mean 0 against the arm of mean 1: UCB is then deterministic."""
    (law,) = exact.law(exact.ucb_chain([1, 0], alpha, "first"), T)
    return law[1][0]


@pytest.mark.parametrize("alpha", [1, 3])
def test_leading_constant_of_ucb_is_attained(alpha):
    T = 3000
    N, lead = constant_rewards(T, alpha), (alpha + 2) / 2 * math.log(T)
    assert 0.6 * lead < N <= bounds.pulls_sharp(1, T, alpha) < bounds._pulls_A3(1, T, alpha)
    assert bounds.pulls_sharp(1, T, alpha) / 2 < N  # half the sharp bound is refuted
    assert lead / 2 < N  # and so is half the constant


@pytest.mark.parametrize(
    "bound, lead",
    [
        (lambda T: bounds.ucb_sharp(GOOD1, T, 1), bounds.multisbm_leading(GOOD1, 1) / 4),
        (lambda T: bounds.multisbm_sharp(GOOD1, T, 1), bounds.multisbm_leading(GOOD1, 1)),
        (lambda T: bounds.multisbm(GOOD1, T, 1), 4 * bounds.multisbm_leading(GOOD1, 1)),
    ],
)
def test_bounds_approach_their_constants(bound, lead):
    near, far, farther = (bound(T) / (lead * math.log(T)) for T in (1e6, 1e50, 1e300))
    assert 1 < farther < far < near and farther < 1.3


def test_printed_tail_fails_for_small_alpha():
    # constant rewards 0.01 apart: arm 2 is preferred with n pulls at round t iff f(n, t) > g
    alpha, g, T = 0.2, 0.01, 10**12

    def f(n, t):
        return math.sqrt((alpha + 2) * math.log(t) / 2) * (n**-0.5 - (t - 1 - n) ** -0.5)

    s = math.ceil(4 * alpha * math.log(T) / g**2)
    assert s == 221049 and f(s - 1, T - s) > g  # so arm 2 is pulled s times for sure
    assert tail_printed(s, g, T, alpha) == pytest.approx(0.980, abs=5e-4)
    assert min(tail_B1(s, g, T, alpha), bounds.tail_B2(s, g, T, alpha)) >= 1
    # Lemma B1 with less than a quarter of its threshold would fail on the same instance
    s = 303607
    assert f(s - 1, T - s) > g and s - 1 >= 0.49 * (alpha + 2) * math.log(T) / g**2
    assert 2 / alpha * (s - 1) ** -alpha < 1 == tail_B1(s, g, T, alpha)


def test_tails_have_the_stated_range():
    g, T, alpha = 0.5, 1000, 1
    first = 1 + 2 * 3 * math.log(T) / g**2
    assert tail_B1(math.floor(first), g, T, alpha) == 1
    assert tail_B1(first, g, T, alpha) == 2 / (math.ceil(first) - 1)
    s = np.arange(2, T)
    assert (np.diff(bounds.tail_B2(s, g, T, alpha)) <= 0).all()
    assert bounds.tail_B2(1, g, T, alpha) == 1
    assert excess_A1(165.0, g, T, alpha) == math.inf
    assert excess_A1(166.0, g, T, alpha) == 2 / 166


def test_lemma_A2_by_hand():
    eps, g, T, alpha = 0.3, 0.5, 20, 0.3
    nu = math.ceil(2.3 * math.log(20) / (2 * 0.7**2 * 0.25))
    rate = 2 * 0.3**2 * 0.25
    e = nu**-0.3 / 0.3 + math.exp(-nu * rate) / (1 - math.exp(-rate))
    assert nu == 29 and excess_A2(29.0, eps, g, T, alpha) == pytest.approx(e)
    assert excess_A2(28.0, eps, g, T, alpha) == math.inf
    assert excess_A2(30.0, eps, g, T, alpha) < e
    assert bounds.pulls_sharp(g, T, alpha, eps=[eps]) == T  # a bound above the trivial one
    many = math.ceil(2.3 * math.log(500) / (2 * 0.7**2 * 0.25))
    want = many + many**-0.3 / 0.3 + math.exp(-many * rate) / (1 - math.exp(-rate))
    assert bounds.pulls_sharp(g, 500, alpha, eps=[eps]) == pytest.approx(want)


# Theorem D


def test_epochs():
    for T in range(2, 300):
        k, Z = bounds.epochs(T)
        assert k >= 1 and 0 <= Z < 2 ** (k + 1) and sum(2**i for i in range(1, k + 1)) + Z == T


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("mu", [(0.0, 1.0), (0.2, 0.9), (0.9, 0.2), (0.4, 0.6)])
def test_doubler_holds_for_all_T(mu, alpha):
    R = exact.regret(exact.doubler(linear(mu), 30, alpha), exact.costs(mu))
    for T in range(2, 31):
        sharp = bounds.doubler_ucb_sharp(mu, T, alpha, x1=0)
        assert R[T - 1] <= sharp + 1e-12
        assert sharp <= bounds.doubler_ucb_closed(mu, T, alpha)


def test_doubler_three_arms():
    mu = (0.1, 0.9, 0.5)
    R = exact.regret(exact.doubler(linear(mu), 20, 1), exact.costs(mu))
    assert all(R[T - 1] <= bounds.doubler_ucb_sharp(mu, T, 1, x1=0) for T in range(2, 21))


@cache
def worst_machine(mu, alpha, n):
    """The largest exact regret of UCB after n rounds over the left players of a two-arm Doubler."""
    if n == 0:
        return 0.0
    lists = {mu[0]} | {mu[0] + (mu[1] - mu[0]) * j / 16 for j in range(17)}
    means = [tuple((1 + v - m) / 2 for v in mu) for m in lists]
    return max(exact.ucb_regret(exact.ucb(p, n, alpha), p) for p in means)


@pytest.mark.parametrize("mu", [(0.0, 1.0), (0.3, 0.8)])
def test_theorem_D_with_the_exact_machine_is_nearly_tight(mu):
    R = exact.regret(exact.doubler(linear(mu), 30, 1), exact.costs(mu))

    def B(n):
        return worst_machine(mu, 1, n)

    for T in range(2, 31):
        bound = bounds.doubler(B, T, first=mu[1] - mu[0])
        assert R[T - 1] <= bound + 1e-9
        assert R[T - 1] > 0.8 * bound  # so no constant in it can be 20 % smaller


def theorem_Da(c, a, T):
    """Theorem D(a): regret of Doubler if B(n) = c log2(n)^a, for a first list of gap 1."""
    k, _ = bounds.epochs(T)
    return 1 + 3 * c * (k ** (a + 1) / (a + 1) + k**a) + c * (k + 1) ** a


@pytest.mark.parametrize("a, regret, printed", [(0, 90, 0), (0.5, 424.5, 158.8), (1, 2686, 1860.5)])
def test_scheduled_machine(a, regret, printed):
    # two arms, gap 1: the machine plays the bad arm floor(log2(n)^a) times in its first n rounds
    def B(n):
        return math.floor(math.log2(n) ** a) / 2 if n else 0

    T, k = 2**61 - 2, 60
    exactly = 1 + sum(B(2**i) for i in range(1, k + 1)) + 2 * sum(B(2**i) for i in range(1, k))
    assert bounds.doubler(B, T) == exactly == regret
    assert bounds.doubler_log_printed(0.5, a, T) == pytest.approx(printed, abs=0.05)
    assert bounds.doubler_log_printed(0.5, a, T) < regret <= theorem_Da(0.5, a, T)


def test_printed_log_constant_is_below_ours_exactly_under_three_halves():
    for a in (0, 0.5, 1, 1.49):
        assert bounds.doubler_log_leading_printed(1, a) < bounds.doubler_log_leading(1, a)
    assert bounds.doubler_log_leading_printed(1, 2) > bounds.doubler_log_leading(1, 2)
    for a in (0.5, 1, 3):
        T = 2**600
        ratio = theorem_Da(1, a, T) / math.log2(T) ** (a + 1)
        assert ratio == pytest.approx(bounds.doubler_log_leading(1, a), rel=0.02)


def test_first_epoch_costs_one():
    # a machine without regret, T = 2, gap 1: the two rounds against the bad left arm cost 1
    assert bounds.doubler(lambda n: 0.0, 2) == 1  # equation (J) as printed says 1/2


@pytest.mark.parametrize("a", [0.25, 0.5, 1])
def test_polynomial_machines(a):
    def B(n):
        return 0.7 * n**a

    for T in [*range(2, 200), 10**6, 2**40 - 3]:
        D = bounds.doubler(B, T)
        assert bounds.doubler_power(0.7, a, T) + 1e-9 >= D
        assert 1 + (1 + 3 / (1 - 2**-a)) * B(T) + 1e-9 >= D  # Theorem D(b) for any such growth
    assert bounds.doubler(B, T) > 0.45 * bounds.doubler_power(0.7, a, T)
    assert bounds.doubler_power(1, 0.5, T) <= 8.25 * math.sqrt(T + 2) + 1


def test_plateaus_break_the_printed_polynomial_case():
    # nondecreasing, above sqrt(n), and constant for long: not O(f), so growth must be assumed
    def f(n):
        i = n.bit_length() - 1
        return 2.0 ** ((2 ** (i.bit_length()) - 1) / 2) if i > 0 else float(n > 0)

    for j, factor in ((5, 15), (7, 60)):
        k = 2**j - 1
        T = 2 ** (k + 1) - 2
        assert f(2**k) >= math.sqrt(2**k)
        assert bounds.doubler(f, T) > factor * f(2**k)


def test_closed_corollary_is_the_sum_without_caps():
    mu, T, alpha = ARITH, 5000, 2
    Delta = np.max(mu) - np.array(mu)[1:]

    def B(n):
        return 4 * 4 * np.sum(1 / Delta) * math.log(n) + 0.5 * 2 * Delta.sum() if n else 0.0

    k, Z = bounds.epochs(T)
    want = 1 + 3 * sum(B(2**i) for i in range(1, k + 1)) + B(Z)
    assert bounds.doubler_ucb_closed(mu, T, alpha) == pytest.approx(want)
    T = 2**900
    lead = 6 * (alpha + 2) * np.sum(1 / Delta) / math.log(2) * math.log(T) ** 2
    assert bounds.doubler_ucb_closed(mu, T, alpha) == pytest.approx(lead, rel=0.01)


def test_doubler_known_values():
    for mu, sharp in ((GOOD1, 7450), ([0.8, 0.0], 1739)):
        assert round(bounds.doubler_ucb_sharp(mu, 32000, 3, eps=TWENTIETHS)) == sharp
        assert 0.97 * sharp < bounds.doubler_ucb_sharp(mu, 32000, 3) < sharp


# Theorem M


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("mu", [(0.0, 1.0), (0.9, 0.2), (0.4, 0.6)])
def test_multisbm_holds_for_all_T(mu, alpha):
    R = exact.regret(exact.multisbm(linear(mu), 24, alpha), exact.costs(mu))
    for T in range(2, 25):
        sharp = bounds.multisbm_sharp(mu, T, alpha, x1=0, eps=TWENTIETHS)
        assert R[T - 1] <= sharp <= bounds.multisbm(mu, T, alpha, x1=0)


@pytest.mark.parametrize("mu", [(0.1, 0.9, 0.5), (0.0, 1.0, 1.0), (0.3, 0.3, 0.9)])
def test_multisbm_three_arms(mu):
    R = exact.regret(exact.multisbm(linear(mu), 11, 1), exact.costs(mu))
    for T in range(2, 12):
        sharp = bounds.multisbm_sharp(mu, T, 1, x1=0, eps=TWENTIETHS)
        assert R[T - 1] <= sharp <= bounds.multisbm(mu, T, 1, x1=0)


@pytest.mark.parametrize(
    "mu, T, alpha, sharp, closed",
    [
        (GOOD1, 10**6, 1, 4669, 11436),
        (GOOD1, 10**6, 3, 7217, 19850),
        (GOOD2, 10**6, 1, 7377, 24241),
        (ARITH, 10**6, 1, 11649, 32398),
        ([0.9, 0.1], 10**6, 3, 390, 1067),
        ([0.8, 0.2, 0.2], 32000, 1, 868, 2063),
    ],
)
def test_multisbm_known_values(mu, T, alpha, sharp, closed):
    assert round(bounds.multisbm_sharp(mu, T, alpha, eps=TWENTIETHS)) == sharp
    assert round(bounds.multisbm(mu, T, alpha)) == closed
    assert 0.97 * sharp < bounds.multisbm_sharp(mu, T, alpha) < sharp + 0.5


def test_any_eps_gives_a_bound_and_a_finer_grid_a_better_one():
    best = bounds.multisbm_sharp(GOOD1, 10**5, 1)
    for eps in (0.05, 0.3, 0.7):
        assert bounds.multisbm_sharp(GOOD1, 10**5, 1, eps=eps) >= best


def test_several_optimal_arms_multiply_the_leading_term():
    mus = [[0.5] * M + [0.0] for M in (1, 2, 4, 8)]
    lead = [bounds.multisbm_leading(mu, 1) for mu in mus]
    assert lead == [lead[0] * M for M in (1, 2, 4, 8)]
    for mu, c in zip(mus, lead):
        slope = bounds.multisbm(mu, 1e200, 1) - bounds.multisbm(mu, 1e100, 1)
        assert slope == pytest.approx(4 * c * math.log(1e100), rel=0.02)


def test_equal_arms_have_no_regret():
    for bound in (bounds.ucb_sharp, bounds.multisbm, bounds.multisbm_sharp):
        assert bound([0.5, 0.5, 0.5], 100, 1) == 0
    assert bounds.doubler_ucb_sharp([0.5, 0.5], 100, 1) == 0


def test_order_of_the_leading_constants():
    for mu in (GOOD1, GOOD2, ARITH, [1.0, 0.3], [0.6, 0.0]):
        lower, ours = bounds.lower_leading(mu), bounds.multisbm_leading(mu, 1)
        assert lower < ours / 4
    kl = 0.2 * math.log(0.2 / 0.8) + 0.8 * math.log(0.8 / 0.2)
    assert bounds.lower_leading([0.8, 0.2], "a") == pytest.approx(0.3 / kl)
    assert bounds.lower_leading([0.8, 0.2], "b") == pytest.approx(0.6 / kl)


def told(y, z, best):
    """What one duel of y against z tells about whether y is as good as the best."""
    p, q = (1 + y - z) / 2, (1 + best - z) / 2
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a)


@pytest.mark.parametrize("mu", [GOOD1, GOOD2, ARITH, [0.9, 0.3], [0.6, 0.6, 0.0], [0.5, 0.4, 0.1]])
def test_line_c_arm_by_arm(mu):
    best = max(mu)
    terms = [
        (best - y) / 2 / max(told(y, z, best) for j, z in enumerate(mu) if j != i)
        for i, y in enumerate(mu)
        if y < best
    ]
    a, b, c = (bounds.lower_leading(mu, line) for line in "abc")
    assert c == pytest.approx(sum(terms)) and b == 2 * a <= c


# Preference tables and Theorem D.1


def yue_joachims(BD):
    E = np.array(
        [
            [0, 0.05, 0.05, 0.04, 0.11, 0.11],
            [-0.05, 0, 0.05, BD, 0.08, 0.10],
            [-0.05, -0.05, 0, 0.04, 0.01, 0.06],
            [-0.04, -0.04, -0.04, 0, 0.04, 0],
            [-0.11, -0.08, -0.01, -0.04, 0, 0.01],
            [-0.11, -0.10, -0.06, 0, -0.01, 0],
        ]
    )
    return 0.5 + E.T


def test_card_of_the_yue_joachims_table():
    card = preferences.card(yue_joachims(0.06))
    assert card["antisymmetry defect"] == pytest.approx(0.02)
    assert card["Condorcet winner"] == 0 and card["order"] == [0, 1, 2, 3, 4, 5]
    assert card["undecided pairs"] == [(3, 5)]
    assert card["gamma, transitivity"] == pytest.approx(1.5)
    assert card["triangle violations"] == [(2, 4), (3, 4), (3, 5)]
    assert card["gamma, extended"] == math.inf
    assert card["best arms"] == [(0,), (0,), (0, 1), (1,), (0,), (0,)]
    for BD in (0.04, 0.05):
        assert preferences.gamma_transitivity(yue_joachims(BD)) == pytest.approx(1.25)
    for BD, gap in ((0.06, -0.02), (0.05, -0.01), (0.04, 0)):
        G = preferences.gap_matrix(yue_joachims(BD))
        assert G[3, 1] == pytest.approx(gap) and G[2, 1] == 0 and G[3, 2] == 0
        assert preferences.gamma_extended(yue_joachims(BD)) == math.inf


def test_gap_matrix_of_the_linear_link():
    G = preferences.gap_matrix(linear(ARITH))
    assert np.allclose(G, np.tile((0.8 - np.array(ARITH)) / 2, (6, 1)))
    card = preferences.card(linear(ARITH))
    assert card["gamma, extended"] == pytest.approx(1)
    assert card["gamma, transitivity"] == 1 and card["triangle violations"] == []


def test_no_condorcet_winner():
    P = np.array([[0.5, 0.4, 0.7], [0.6, 0.5, 0.4], [0.3, 0.6, 0.5]])
    assert preferences.condorcet(P) is None and preferences.card(P)["gamma, extended"] == math.inf
    with pytest.raises(ValueError, match="Condorcet winner"):
        preferences.gap_matrix(P)


@pytest.mark.parametrize(
    "link, gamma, low, high",
    [(natural, preferences.gamma_natural, 0.2, 1), (logit, preferences.gamma_logit, 0, 1)],
)
def test_gamma_of_a_link_is_the_least(link, gamma, low, high):
    rng = np.random.default_rng(1)
    tables = [link(np.append(rng.uniform(low, high, 4), high)) for _ in range(300)]
    assert max(map(preferences.gamma_extended, tables)) <= gamma(low, high) + 1e-9
    tight = link(np.array([high, high - 1e-4 * (high - low), low]))
    assert preferences.gamma_extended(tight) > 0.999 * gamma(low, high)


def test_gamma_known_values():
    assert preferences.gamma_natural(0.2, 0.8) == pytest.approx(25 / 16)
    assert preferences.gamma_natural(0.2, 1) == pytest.approx(1.8)
    assert preferences.gamma_logit(0, 1) == pytest.approx(1.2715, abs=5e-5)
    assert preferences.gamma_logit(0.2, 0.8) == pytest.approx(1.0927, abs=5e-5)
    for r in (1, 2, 5, 20):
        assert preferences.gamma_natural(1 / r, 1) <= r


@pytest.mark.parametrize("link", [natural, logit])
def test_theorem_D1_holds_for_all_T(link):
    mu = np.array([0.2, 0.9, 0.5])
    P, w = link(mu), 0.9 - mu
    G, gamma = preferences.gap_matrix(P), preferences.gamma_extended(P)
    R = exact.regret(exact.multisbm(P, 10, 1), exact.costs(mu))
    for T in range(2, 11):
        sharp = bounds.multisbm_gaps_sharp(G, w, T, 1, x1=0, eps=TWENTIETHS)
        closed = bounds.multisbm_gaps(G, w, T, 1, x1=0)
        assert R[T - 1] <= sharp <= closed <= bounds.multisbm_gamma(G[1], w, gamma, T, 1, x1=0)


def test_theorem_D1_contains_theorem_M():
    for mu, T, alpha in ((GOOD1, 10**4, 1), (ARITH, 10**6, 0.5), ([1, 0.5, 0], 99, 3)):
        Delta = max(mu) - np.array(mu)
        G = np.tile(Delta / 2, (len(mu), 1))
        closed = bounds.multisbm_gaps(G, Delta, T, alpha)
        assert closed == pytest.approx(bounds.multisbm_gamma(Delta / 2, Delta, 1, T, alpha))
        # Theorem M rounds the largest gap up to 1 in its last term
        assert closed <= bounds.multisbm(mu, T, alpha) <= closed + 2 * len(mu) ** 2 / alpha
    assert closed == pytest.approx(bounds.multisbm([1, 0.5, 0], 99, 3))


def test_gamma_enters_squared_and_not_in_the_leading_term():
    D = w = np.array([0, 0.2, 0.2])
    one, two, four = (bounds.multisbm_gamma(D, w, c, 1e9, 1) for c in (1, 2, 4))
    assert 3.9 < (four - two) / (two - one) < 5.5  # 12 / 3, and a logarithm
    rise = [bounds.multisbm_gamma(D, w, 8, T, 1) for T in (1e150, 1e300)]
    assert rise[1] - rise[0] == pytest.approx(
        2 * 3 * math.log(1e150) * np.sum(w[1:] / D[1:] ** 2), rel=0.3
    )


def test_theorem_D1_by_hand():
    D, w, gamma, T, alpha, K = [0, 0.1, 0.4], [0, 0.3, 0.7], 1.5, 1000, 0.5, 3
    nu = [math.ceil(2 * 2.5 * gamma**2 * math.log(T) / D[x] ** 2) for x in (1, 2)]
    S = sum(w[y] / D[y] ** 2 for y in (1, 2))
    want = 0.7 / 2 + 2 * 2.5 * math.log(T) * S
    want += 2 * 2.5 * gamma**2 * sum(math.log(1 + K * n) for n in nu) * S
    want += K * (1 + 2 / alpha) * sum(w) + 0.7 * 2 * K / alpha * sum(n**-alpha for n in nu)
    assert bounds.multisbm_gamma(D, w, gamma, T, alpha) == pytest.approx(want, rel=1e-12)


def test_natural_link_on_one_good_arm_is_linear():
    # .8 against .2 wins with probability .8 under both
    w = 0.8 - np.array(GOOD1)
    sharp = bounds.multisbm_gaps_sharp(preferences.gap_matrix(natural(GOOD1)), w, 10**6, 3)
    assert sharp == pytest.approx(bounds.multisbm_sharp(GOOD1, 10**6, 3))


def test_the_machine_of_each_arm_that_costs_nothing_may_run_for_all_rounds():
    D, w, T, alpha, gamma = np.array([0, 0, 0.3]), np.array([0, 0, 0.6]), 1e4, 1.0, 1.5
    nu = math.ceil(2 * 3 * gamma**2 * math.log(T) / 0.09)
    lead = math.log(T) + gamma**2 * (math.log(T) + math.log(1 + 3 * nu))
    want = 0.3 + 6 * 0.6 / 0.09 * lead + 3 * 3 * 0.6 + 0.6 * 6 / nu
    assert bounds.multisbm_gamma(D, w, gamma, T, alpha) == pytest.approx(want, rel=1e-12)
    G = np.tile(D / gamma, (3, 1))  # the least gaps that gamma allows
    G[0] = D
    assert bounds.multisbm_gaps(G, w, T, alpha) <= want * (1 + 1e-12)


def test_the_order_of_a_card_is_that_of_copeland_scores():
    """Under a position bias too, which lets each of two arms win on the right."""
    P = [[0.5, 0.7], [0.6, 0.5]]
    assert preferences.copeland(P).tolist() == [0, 1]
    assert preferences.card(P)["order"] == [1, 0] and preferences.card(P)["Condorcet winner"] == 1
