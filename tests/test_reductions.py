"""Algorithms 2-4 and Champion: exact laws, what each machine is told, lists, reference values."""

from collections import Counter, defaultdict
from fractions import Fraction as F

import numpy as np
import pytest
from conftest import CYCLE, TWO, Logged, at_reference, expected_plays, new_game, plain
from scipy.stats import chisquare, norm
from test_exact import champion as plain_champion
from test_exact import choices, enumerate_plays

from dueling import (
    UCB,
    Cardinal,
    Champion,
    Doubler,
    MultiSBM,
    Preferences,
    Single,
    Sparring,
    TwoSidedChampion,
    Uniform,
    simulate,
)
from dueling.engine.algorithm import Constants
from dueling.later.sides import two_sided_champion
from dueling.reductions import Multiset, champion, doubler, multisbm, sparring
from dueling.theory import exact

REDUCTIONS = {"sparring": Sparring, "multisbm": MultiSBM, "doubler": Doubler, "champion": Champion}
LEADS = [[1 / 2, 0], [1, 1 / 2]]  # arm 0 always wins: the only coins are those of self-duels


# The law of the text itself, all coin flips enumerated, equals the exact engine's as fractions


@pytest.mark.parametrize("ties, T2, T3", [("first", 6, 5), ("random", 5, 3)])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("alpha", [-1, 3])
def test_the_text_has_exactly_the_law_of_the_exact_engine(name, alpha, ties, T2, T3):
    algorithm = REDUCTIONS[name](UCB, alpha=alpha, ties=ties)
    for P, T in ((TWO, T2), (CYCLE, T3)):
        want = getattr(exact, name)(P, T, alpha, ties)[-1]
        assert (expected_plays(algorithm, P, T) == want).all()


def test_the_third_epoch_of_doubler_has_its_exact_law():
    """Round 7 draws from a list of four, where multiset and set part."""
    P = [[exact.Fraction(p) for p in row] for row in LEADS]
    want = exact.doubler(P, 7, -1, "first")[-1]
    assert (expected_plays(Doubler(UCB, alpha=-1, ties="first"), P, 7) == want).all()


@pytest.mark.parametrize("r", [0.25, 0.5, 1.0])
def test_the_fourth_epoch_of_champion_has_its_exact_law(r):
    """The left arm of round 8 was chosen by four rounds, where r decides."""
    want = exact.champion(TWO, 8, -1, "first", r)[-1]
    got = expected_plays(Champion(UCB, r=r, alpha=-1, ties="first"), TWO, 8)
    assert (got == want).all()
    assert (got == exact.champion(TWO, 8, -1, "first")[-1]).all() == (r == 1)


def two_sided(h, K, alpha, ties):
    """TwoSidedChampion read off the whole history: [(probability, x, y)]."""
    told, side, stands, start, length = defaultdict(list), 1, 0, 0, 1
    while True:
        turn = h[start : start + length]
        told[side, stands] += [(duel[side], duel[2] if side else 1 - duel[2]) for duel in turn]
        if len(turn) < length:
            break
        n = Counter(duel[side] for duel in turn)
        stands = min(a for a in range(K) if n[a] == max(n.values()))
        start, length, side = start + length, length * (2 - side), 1 - side
    answers = choices(tuple(told[side, stands]), K, alpha, ties)
    return [(p, *((stands, a) if side else (a, stands))) for p, a in answers]


TILTED = [[F(1, 2), F(1, 5)], [F(3, 4), F(1, 3)]]  # the right side is taken less often


@pytest.mark.parametrize("P, T, ties", [(TILTED, 9, "first"), (TILTED, 5, "random")])
def test_the_text_of_the_two_sided_champion_has_its_exact_law(P, T, ties):
    got = expected_plays(TwoSidedChampion(UCB, alpha=-1, ties=ties), P, T)
    assert (got == enumerate_plays(two_sided, P, T, -1, ties)[-1]).all()
    assert (got != enumerate_plays(plain_champion, P, T, -1, ties)[-1]).any()


@pytest.mark.parametrize("reduction", [Sparring, MultiSBM, Champion])
def test_the_exact_law_refuses_another_alpha(reduction):
    name = reduction.__name__.lower()
    want = getattr(exact, name)(TWO, 7, 3, "first")[-1]
    assert (expected_plays(reduction(UCB, alpha=-1.9, ties="first"), TWO, 7) != want).any()


# The same law, sampled from the compiled simulation

FAMILY = 1e-4  # the chance that any of these tests fails on a right program
ORDER = [[0.5, 0.3, 0.2], [0.7, 0.5, 0.35], [0.8, 0.65, 0.5]]
GAMES = [(TWO, 3), (TWO, 14), (ORDER, 8)]


@pytest.mark.parametrize("P, T", GAMES, ids=["two-3", "two-14", "order-8"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_simulation_agrees_with_the_exact_engine(name, P, T):
    P, runs, algorithm = np.array(P, float), 2500, REDUCTIONS[name](UCB, alpha=1.0)
    plays = simulate(Preferences(P, "z"), algorithm, T, runs, permute=False).plays
    mean = getattr(exact, name)(P, T, 1)[-1]
    want = np.array([(1 - P) * mean, P * mean])
    error = np.maximum(plays.std(axis=0, ddof=1), 0.02) / runs**0.5
    level = norm.isf(FAMILY / 2 / (len(GAMES) * len(REDUCTIONS) * want.size))
    assert (abs(plays.mean(axis=0) - want) < level * error).all()


@pytest.mark.parametrize("ties", ["random", "first"])
def test_pulls_of_ucb_agree_with_the_exact_engine(ties):
    mu, T, runs = (0.8, 0.5), 20, 3000
    law = exact.pulls(exact.ucb(mu, T, 1, ties), 1)
    scenario = Cardinal(mu, f"z/ucb/{ties}")
    result = simulate(scenario, Single(UCB, alpha=1.0, ties=ties), T, runs, permute=False)
    seen = np.bincount(result.pulls[:, 1], minlength=T + 1)
    often = runs * law > 5
    seen = np.append(seen[often], seen[~often].sum())
    law = np.append(law[often], law[~often].sum())
    assert chisquare(seen, runs * law).pvalue > FAMILY


# Reference values: arith/linear, T = 32000, 400 runs


@pytest.mark.parametrize(
    "algorithm, mean, error",
    [
        (Sparring(UCB, alpha=3.0), 1355, 5),
        (MultiSBM(UCB, alpha=3.0), 2421, 8),
        (Doubler(UCB, alpha=3.0), 3174, 7),
        (Champion(UCB, alpha=3.0), 725, 7),
        (Uniform(), 9333, None),
    ],
    ids=str,
)
def test_reference_value(algorithm, mean, error):
    assert at_reference(algorithm, mean, error)


# What each machine is told, on the duels it was told about


class Spy:
    """A machine that plays at random and writes down all that happens to it."""

    def __init__(self, K, rng):
        self.K, self.rng, self.log = K, rng, []

    def reset(self):
        self.log.append("reset")

    def advance(self):
        self.log.append(int(self.rng.random() * self.K))
        return self.log[-1]

    def feedback(self, u):
        self.log.append((self.log.pop(), u))


def spied(K=3, T=100):
    game = Logged(np.array(CYCLE, float), T)
    return game, [Spy(K, game.rng) for _ in range(K)]


def test_sparring_feeds_each_side_its_own_arm_and_its_own_victory():
    game, (left, right, _) = spied()
    sparring(left, right, game)
    assert left.log == ["reset", *((x, 1 - b) for x, _, b in game.duels)]
    assert right.log == ["reset", *((y, b) for _, y, b in game.duels)]


def test_multisbm_feeds_the_machine_of_the_left_arm_with_the_right_arm():
    game, S = spied()
    multisbm(S, game)
    for x in range(3):
        assert S[x].log == ["reset", *((y, b) for z, y, b in game.duels if z == x)]
    assert [x for x, _, _ in game.duels] == [0, *(y for _, y, _ in game.duels[:-1])]


@pytest.mark.parametrize("T", [1, 3, 4, 100])
def test_champion_stands_for_an_epoch_and_feeds_the_machine_of_the_left_arm(T):
    game, S = spied(T=T)
    champion(S, Constants(game.rng, r=1.0), game)
    for x in range(3):
        assert S[x].log == ["reset", *((y, b) for z, y, b in game.duels if z == x)]
    lefts = [{x for x, _, _ in epoch} for epoch in epochs(game.duels, 1)]
    rights = [np.bincount([y for _, y, _ in epoch]) for epoch in epochs(game.duels, 1)]
    assert lefts == [{0}, *({int(n.argmax())} for n in rights[:-1])] and len(game.duels) == T


@pytest.mark.parametrize("T", [1, 2, 3, 4, 100])
def test_each_side_of_the_two_sided_champion_challenges_in_its_turn(T):
    game, left = spied(T=T)
    right = [Spy(3, game.rng) for _ in range(3)]
    two_sided_champion(left, right, game)
    told, taken = {x: [["reset"], ["reset"]] for x in range(3)}, 0
    for i in range(7):
        for side in (1, 0):
            turn = game.duels[taken : taken + 2**i]
            assert len({duel[1 - side] for duel in turn}) == min(1, len(turn))
            for duel in turn:
                told[duel[1 - side]][side].append((duel[side], duel[2] if side else 1 - duel[2]))
            taken += len(turn)
    assert [[left[x].log, right[x].log] for x in range(3)] == list(told.values()) and taken == T


def epochs(duels, length=2):
    """The duels cut into epochs of 2, 4, 8, ... rounds, or from another length on."""
    start = 0
    while start < len(duels):
        yield duels[start : start + length]
        start, length = start + length, 2 * length


@pytest.mark.parametrize("T", [1, 2, 3, 6, 7, 62, 100])
def test_doubler_resets_and_feeds_right_arms_only(T):
    game, (S, *_) = spied(T=T)
    doubler(S, Multiset(3, game.rng), game)
    want = [e for epoch in epochs(game.duels) for e in ["reset", *((y, b) for _, y, b in epoch)]]
    assert S.log == want and len(game.duels) == T


def test_doubler_left_arms_come_from_the_last_epochs_list():
    seen = Counter()
    for seed in range(30):
        game = Logged(np.array(CYCLE, float), 126, np.random.default_rng(seed))
        Doubler(UCB, alpha=0.0).play(game, compile=False)
        before = [0]
        for epoch in epochs(game.duels):
            lefts, count = [x for x, _, _ in epoch], Counter(before)
            assert set(lefts) <= set(before)
            for x in count:  # how far the frequency of x is from its share of the list
                share = count[x] / len(before)
                seen["deviation"] += (lefts.count(x) - share * len(lefts)) * (share - 0.5)
                seen["variance"] += share * (1 - share) * len(lefts) * (share - 0.5) ** 2
            before = [y for _, y, _ in epoch]
    assert abs(seen["deviation"]) < 5 * seen["variance"] ** 0.5


# Doubler's list


def filled(counts, rng):
    L = Multiset(len(counts), rng)
    L.start(0)
    for y in np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts)):
        L.note(y)
    L.renew()
    return L


def test_draw_is_uniform_over_the_multiset():
    counts = [50, 0, 13, 1, 36]
    L = filled(counts, np.random.default_rng(3))
    seen = np.bincount([L.draw() for _ in range(20000)], minlength=5)
    assert seen[1] == 0
    keep = [0, 2, 3, 4]
    assert chisquare(seen[keep], 200 * np.array(counts)[keep]).pvalue > 1e-5


@pytest.mark.parametrize("counts", [[1, 0], [0, 1], [2, 3, 1], [0, 0, 4]])
def test_every_element_of_the_multiset_is_drawn_once_in_size(counts):
    class Grid:
        def random(self):
            return next(self.values)

    rng, size = Grid(), sum(counts)
    L = filled(counts, rng)
    rng.values = iter((np.arange(size) + 0.5) / size)
    assert [L.draw() for _ in range(size)] == np.repeat(np.arange(len(counts)), counts).tolist()
    rng.values = iter([0.0, np.nextafter(1, 0)])
    assert counts[L.draw()] and counts[L.draw()]


def test_list_sizes_and_renewal_of_each_epoch():
    lists = []

    class Noted(Multiset):
        def renew(self):
            super().renew()
            lists.append((self.size, self.counts.tolist(), self.noted, self.next.any()))

    game = Logged(np.array(CYCLE, float), 62)
    doubler(Spy(3, game.rng), Noted(3, game.rng), game)
    for (size, counts, noted, left_over), epoch in zip(lists, epochs(game.duels), strict=True):
        assert size == len(epoch) == sum(counts) and not noted and not left_over
        assert counts == [sum(y == x for _, y, _ in epoch) for x in range(3)]
    assert [size for size, *_ in lists] == [2, 4, 8, 16, 32]


@pytest.mark.parametrize("reduction", REDUCTIONS.values())
def test_memory_does_not_grow_with_T(reduction):
    def sizes(T):
        game = new_game(np.array(CYCLE, float), T)
        parts = reduction(UCB).parts(game)
        type(reduction(UCB)).text(*parts, game)
        flat = [o for part in parts for o in (part if isinstance(part, list) else [part])]
        return [getattr(v, "nbytes", 0) for o in [*flat, game] for v in vars(o).values()]

    assert sizes(300) == sizes(3000)  # a shorter game keeps its log instead


# Names and settings


def test_names_tell_machine_and_parameters():
    assert str(Sparring(UCB, alpha=3.0)) == "Sparring(UCB, alpha=3)"
    assert str(Sparring(UCB, right=Spy)) == "Sparring(UCB, Spy)"
    assert str(Doubler(UCB, alpha=0.5, ties="first")) == "Doubler(UCB, alpha=0.5, ties=first)"
    assert repr(MultiSBM(Spy)) == "MultiSBM(Spy)"


def test_sparring_takes_two_kinds_of_machines():
    game = Logged(np.array(CYCLE, float), 60)
    algorithm = Sparring(Spy, right=UCB)
    left, right = algorithm.parts(game)
    sparring(left, right, game)
    assert right.pulls.tolist() == [sum(y == x for _, y, _ in game.duels) for x in range(3)]
    assert len(left.log) == 61


def test_the_firmness_is_told_where_it_is_not_the_plain_rule():
    assert str(Champion(UCB, alpha=3.0)) == "Champion(UCB, alpha=3)"
    assert str(Champion(UCB, r=0.5, alpha=3.0)) == "Champion(UCB, alpha=3, r=0.5)"
    assert Champion(UCB, r=0.5).settings() == {"alpha": 3.0, "ties": "random", "r": 0.5}
    assert str(TwoSidedChampion(UCB, alpha=3.0)) == "TwoSidedChampion(UCB, alpha=3)"


def test_two_champions_find_the_best_arm_of_each_side():
    """Left values arm 0 most and right arm 2; a copy of the right arm misses the pair (0, 2)."""
    left, right = np.array([0.9, 0.5, 0.1]), np.array([0.1, 0.5, 0.9])
    game = Preferences((1 + right[None, :] - left[:, None]) / 2, biased=True)
    for algorithm, most in ((TwoSidedChampion, (0, 2)), (Champion, (2, 2))):
        result = plain(
            game, algorithm(UCB, alpha=0.0), T=3000, runs=2, permute=False, regret="none"
        )
        duels = result.plays.sum(axis=(0, 1))
        assert np.unravel_index(duels.argmax(), (3, 3)) == most and duels.max() > 0.8 * 6000


@pytest.mark.parametrize("reduction", [*REDUCTIONS.values(), TwoSidedChampion])
def test_a_better_arm_is_found(reduction):
    """With a clear winner each reduction plays it in most of the last rounds, on both sides."""
    P = np.array([[0.5, 0.05, 0.5], [0.95, 0.5, 0.95], [0.5, 0.05, 0.5]])  # arm 0 beats arm 1
    P[0, 2], P[2, 0] = 0.05, 0.95
    P[1, 2] = P[2, 1] = 0.5
    result = plain(Preferences(P), reduction(UCB, alpha=0.5), T=2000, runs=2)
    assert (result.pulls[:, 0] > 0.8 * 4000).all()
