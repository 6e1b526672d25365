"""Every mistake is one sentence that names the argument and its value, before any work starts."""

import re
from fractions import Fraction

import numpy as np
import pytest
from conftest import CYCLE, Ten

from dueling import (
    ALGORITHMS,
    BTMB,
    IF,
    KLUCB,
    UCB,
    Algorithm,
    Cardinal,
    Champion,
    Doubler,
    ExploreThenCommit,
    MultiSBM,
    Preferences,
    Single,
    Sparring,
    SuccessiveElimination,
    Uniform,
    Utilities,
    bernoulli,
    beta,
    linear,
    natural,
    scenario,
    simulate,
    structured,
    yj,
)
from dueling.engine import checks, compiled
from dueling.theory import exact

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Any game that is played for a result fails the test."""

    def started(*_):
        raise AssertionError("work started")

    monkeypatch.setattr(compiled, "run", started)


def refuses(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# Utilities, tables, links, laws


@pytest.mark.parametrize("kind", [Utilities, Cardinal])
@pytest.mark.parametrize(
    "mu, words",
    [
        ([0.5, 1.2], r"mu\[1\] is 1.2; it must be a number in \[0, 1\]"),
        ([-0.1, 0.5], r"mu\[0\] is -0.1; it must be a number in \[0, 1\]"),
        ([0.5, NAN], r"mu\[1\] is nan; it must be a finite number"),
        ([INF, 0.5], r"mu\[0\] is inf; it must be a finite number"),
        ([0.5], r"mu has 1 arm\(s\); a duel needs K >= 2"),
        ([], r"mu has 0 arm\(s\); a duel needs K >= 2"),
        ([[0.5, 0.4]], r"mu has 2 dimension\(s\); it must have 1"),
        (0.5, r"mu has 0 dimension\(s\); it must have 1"),
        (["a", "b"], r"mu is \['a', 'b'\]; it must be an array of numbers"),
        ([[0.1], [0.2, 0.3]], "mu is .* it must be an array of numbers"),
        (["0.1", "0.2"], r"mu is \['0.1', '0.2'\]; it must be an array of numbers"),
        (np.ma.array([0.1, 0.2], mask=[0, 1]), "mu is masked_array.*, none of them masked"),
    ],
)
def test_utilities(kind, mu, words):
    refuses(lambda: kind(mu), words)


def test_more_arms_than_can_be_counted_are_refused_at_once():
    """Before a link, which is asked for all pairs of utilities, is asked for any."""
    words = "mu has 1001 arms; a dueling game has at most 1000"
    refuses(lambda: Utilities(np.zeros(1001), lambda a, b: pytest.fail("it is asked")), words)
    refuses(lambda: Preferences(np.full((1001, 1001), 0.5)), "P has 1001 arms; a dueling game")
    assert Cardinal(np.zeros(10**4)).K == 10**4


@pytest.mark.parametrize(
    "P, words",
    [
        ([[0.5, 0.4]], r"P has shape \(1, 2\); it must be square"),
        ([[0.5]], r"P has 1 arm\(s\); a duel needs K >= 2"),
        ([0.5, 0.5], r"P has 1 dimension\(s\); it must have 2"),
        ([[0.5, 1.5], [-0.5, 0.5]], r"P\[0, 1\] is 1.5; it must be a number in \[0, 1\]"),
        ([[0.5, NAN], [0.5, 0.5]], r"P\[0, 1\] is nan; it must be a finite number"),
        ([[0.5, 0.3], [0.6, 0.5]], r"\(P \+ P\^T\)\[0, 1\] is 0.9; it must be 1"),
        ([[0.4, 0.3], [0.7, 0.5]], r"\(P \+ P\^T\)\[0, 0\] is 0.8; it must be 1"),
    ],
)
def test_preference_tables(P, words):
    refuses(lambda: Preferences(P), words)


@pytest.mark.parametrize(
    "link, words",
    [
        (lambda a, b: a - b + 0.6, r"link gives phi\(0.2, 0.2\) = 0.6 .*phi\(b, a\) must be 1"),
        (lambda a, b: 0.5 + 3 * (a - b), r"link gives phi\(0.2, 0.4\) = -0.1 .*in \[0, 1\]"),
        (lambda a, b: a * NAN, r"link gives phi\(0.2, 0.2\) = nan .*in \[0, 1\]"),
        (lambda a, b: (1 + a) / 2, r"link gives .*phi\(a, b\) \+ phi\(b, a\) must be 1"),
        ("linear", "link is 'linear'; it must be a function, such as links.linear"),
        (None, "link is None; it must be a function"),
        (lambda a: a, r"link must be a function of two utilities \(.* 1 positional"),
        (lambda a, b: "x", r"link gives phi\(0.2, 0.2\) = 'x'; it must be a number in \[0, 1\]"),
    ],
)
def test_links(link, words):
    refuses(lambda: Utilities([0.2, 0.4], link), words)


def test_natural_link_at_zero():
    refuses(lambda: Utilities([0.0, 0.4], natural), r"natural link has no value at \(0, 0\)")
    refuses(lambda: Utilities([0.2, 0.4], natural, bernoulli), r"natural link has no value")


@pytest.mark.parametrize("c", [0, -1, NAN, INF, "5", True])
def test_concentration_of_the_beta_law(c):
    refuses(lambda: beta(c), f"concentration is {c!r}; it must be a number > 0")


@pytest.mark.parametrize(
    "law, words",
    [
        (lambda m: ([m], [0.5]), r"law gives arm 0 values outside \[0, 1\] or weights that miss 1"),
        (lambda m: ([m], [NAN]), "law gives arm 0 .* weights that miss 1"),
        (lambda m: ([NAN], [1]), "law gives arm 0 values outside"),
        (lambda m: ([0.3], [1]), "law gives arm 0 mean 0.3; it must be 0.2"),
        (lambda m: ([0, 1], [1.2, -0.2]), "law gives arm 0 no list of values with weights >= 0"),
        (lambda m: ([], []), "law gives arm 0 no list of values"),
        (lambda m: m, "law gives arm 0 no list of values"),
        (lambda m: ([m], [1], [1]), "law gives arm 0 no list of values"),
        (beta, "law gives arm 0 no list of values"),
        (beta(1e4), "concentration is 10000.0; at the mean 0.2 it must be less extreme"),
        (beta(1e-3), "concentration is 0.001; at the mean 0.4 it must be less extreme"),
        (beta(1e-300), "concentration is 1e-300; at the mean 0.2 it must be less extreme"),
        (lambda m: ([m + 2e-9], [1]), "law gives arm 0 mean 0.200000002; it must be 0.2"),
        (lambda: 1, r"law is .*; it must be a function of one mean \(.* 0 positional"),
        ("bernoulli", "law is 'bernoulli'; it must be a function, such as links.bernoulli"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_laws(law, words):
    refuses(lambda: Utilities([0.2, 0.4], linear, law), words)


def test_nodes_of_the_beta_law():
    refuses(lambda: beta(3, nodes=0), "nodes is 0; it must be a whole number >= 1")


def test_numbers_that_no_float_holds():
    refuses(lambda: Utilities([10**400, 0.5]), "mu is .*; it must be an array of numbers")
    refuses(lambda: IF(scale=10**400), r"scale is 10+ \.\.\. 0+; it must be a number > 0")
    refuses(lambda: simulate("YJ", "IF", T=Fraction(10**400, 3)), "T is .* whole number >= 1")


# Names


@pytest.mark.parametrize(
    "name, near",
    [("arith-linear", "arith/linear"), ("yj", "YJ"), ("1good", "1good/l"), ("xxxxx", "geom/logit")],
)
def test_unknown_scenario_names_the_nearest(name, near):
    refuses(lambda: scenario(name), f"scenario is '{name}'; did you mean .*{near}")
    refuses(lambda: simulate(name, "IF"), f"scenario is '{name}'; did you mean .*{near}")


@pytest.mark.parametrize(
    "name, near",
    [("sparring", "Sparring"), ("MultiSMB", "MultiSBM"), ("?", "Doubler"), ("champ", "Champion")],
)
def test_unknown_algorithm_names_the_nearest(name, near):
    words = rf"algorithm is '{name}'; did you mean .*{near}".replace("?", r"\?")
    refuses(lambda: simulate("YJ", name), words)


@pytest.mark.parametrize("name", [5, ["a"], b"a"])
def test_a_scenario_s_name_is_a_string(name):
    words = rf"name is {re.escape(repr(name))}; it must be a string"
    refuses(lambda: Utilities([0.5, 0.4], name=name), words)
    refuses(lambda: Cardinal([0.5, 0.4], name), words)


def test_other_names():
    refuses(lambda: yj("uper"), "repair is 'uper'; did you mean 'upper'")
    refuses(lambda: simulate("YJ", "IF", regret="avrage"), "regret is 'avrage'; did you mean")
    refuses(lambda: simulate("YJ", "IF", regret="choice"), "regret is 'choice'; did you mean")
    refuses(lambda: scenario("YJ").table("average"), "regret is 'average'")
    refuses(lambda: scenario(np.array(["YJ", "IF"])), r"scenario is array\(.*; did you mean")
    assert scenario(np.array(["YJ"])[0]).name == "YJ"


class Duck:
    """All that a scenario has, without being one."""

    name, regrets, digest, game, measure, is_arm = "duck", ("average",), "0", None, None, None


@pytest.mark.parametrize("thing", [None, 5, {"T": 1}, UCB, Duck()])
def test_things_that_are_no_scenario_or_algorithm(thing):
    refuses(lambda: simulate(thing, "IF"), r"scenario is .*; it must be a name or a scenario")
    refuses(lambda: simulate("YJ", thing), r"algorithm is .*; it must be a name or an algorithm")


def test_a_class_is_no_algorithm_and_no_scenario():
    refuses(lambda: simulate("YJ", Sparring), r"algorithm is <class .*such as Sparring\(UCB, alpha")
    refuses(lambda: simulate(Utilities, "IF"), r"scenario is <class .*such as Utilities\(\[0.8")


# Numbers of simulate


@pytest.mark.parametrize("value", [0, -3, 2.5, NAN, INF, "10", True, [3]])
@pytest.mark.parametrize("name", ["T", "runs", "workers", "chunk"])
def test_whole_numbers(name, value):
    words = rf"^{name} is .*; it must be a whole number >= 1"
    with pytest.raises(ValueError, match=words) as error:
        simulate("YJ", "IF", **{name: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("name", ["T", "runs", "workers", "chunk"])
def test_numbers_that_are_too_large(name):
    for value in (2**63, 1e30, 10**400):
        refuses(lambda v=value: simulate("YJ", "IF", **{name: v}), f"^{name} is .*; it must be at")


@pytest.mark.parametrize("name", ["realised", "permute", "common", "compiled", "progress"])
@pytest.mark.parametrize("value", [1, "yes", [True]])
def test_flags(name, value):
    with pytest.raises(ValueError, match=rf"^{name} is .*; it must be True or False") as error:
        simulate("arith/linear", "IF", 5, 1, **{"compiled": False, name: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("seed", [-1, 0.5, NAN, "a", None])
def test_seed(seed):
    refuses(lambda: simulate("YJ", "IF", seed=seed), f"seed is {seed!r}; .* whole number >= 0")


def test_whole_floats_and_numpy_numbers_are_welcome():
    assert checks.whole("T", 3.0) == checks.whole("T", np.int32(3)) == 3
    assert checks.checkpoints((1.0, np.int64(5)), 5).tolist() == [1, 5]


@pytest.mark.parametrize(
    "rounds, words",
    [
        ([10, 200], "checkpoints has 200; it must not exceed the horizon T = 100"),
        ([20, 10], r"checkpoints is \[20, 10\]; it must be strictly increasing"),
        ([10, 10], r"checkpoints is \[10, 10\]; it must be strictly increasing"),
        ([], r"checkpoints is \[\]; it must be strictly increasing, not empty"),
        ([0, 10], "checkpoints is 0; it must be a whole number >= 1"),
        ([1.5], "checkpoints is 1.5; it must be a whole number >= 1"),
        ([NAN], "checkpoints is nan; it must be a whole number >= 1"),
        ([[1, 2], [3, 4]], r"checkpoints is \[\[1, 2\], \[3, 4\]\]; it must be a list of rounds"),
        (50, "checkpoints is 50; it must be a list of rounds"),
    ],
)
def test_checkpoints(rounds, words):
    refuses(lambda: simulate("YJ", "IF", T=100, checkpoints=rounds), words)


def test_realised_needs_utilities():
    words = r"realised is True; Preferences\(YJ.*\) has no utilities to draw"
    refuses(lambda: simulate("YJ", "IF", realised=True), words)


# Parameters of machines and baselines


@pytest.mark.parametrize("alpha", [-2, -2.5, NAN, INF, "3", None, True, 1e308, 2e9])
@pytest.mark.parametrize("reduction", [Sparring, MultiSBM, Doubler, Champion])
def test_alpha(reduction, alpha):
    words = re.escape(f"alpha is {alpha!r}; it must be a number > -2 and <= 1e9.")
    refuses(lambda: simulate("YJ", reduction(UCB, alpha=alpha)), words)


def test_ties():
    refuses(lambda: simulate("YJ", Sparring(UCB, ties="frist")), "ties is 'frist'; .*'first'")


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: IF(3), "version is 3"),
        (lambda: IF(True), "version is True"),
        (lambda: BTMB(self_duels=1), "self_duels is 1; it must be True or False"),
        (lambda: IF(scale=0), "scale is 0; it must be a number > 0"),
        (lambda: IF(scale=NAN), "scale is nan; it must be a number > 0"),
        (lambda: IF(delta=0), r"delta is 0; it must be a number in \(0, 1\)"),
        (lambda: IF(delta=1.5), r"delta is 1.5; it must be a number in \(0, 1\)"),
        (lambda: IF(delta=NAN), r"delta is nan; it must be a number in \(0, 1\)"),
        (lambda: IF(horizon=0), "horizon is 0; it must be a whole number >= 1"),
        (lambda: BTMB(horizon=2.5), "horizon is 2.5; it must be a whole number >= 1"),
        (lambda: BTMB(horizon=False), "horizon is False; it must be a whole number >= 1"),
        (lambda: BTMB(delta=0.0), r"delta is 0.0; it must be a number in \(0, 1\)"),
        (lambda: BTMB(gamma=0.5), "gamma is 0.5; it must be a number >= 1"),
        (lambda: BTMB(scale="3"), "scale is '3'; it must be a number > 0"),
        (lambda: BTMB(self_duels="no"), "self_duels is 'no'"),
        *(
            (lambda r=r: Champion(UCB, r=r), f"r is {r!r}; it must be above 0 and at most 1.")
            for r in (0, -0.5, 1.5, NAN, INF, "1", None, True)
        ),
        (lambda: exact.champion(CYCLE, 3, 1, r=2), "r is 2; it must be above 0 and at most 1"),
        (lambda: exact.champion(CYCLE, 3, 1, x1=3), "x1 is 3; it must be "),
        (lambda: KLUCB(3, None, c=-1), "c is -1; it must be at least 0"),
        (lambda: SuccessiveElimination(3, None, 0), "horizon is 0; .* whole number >= 1"),
        (lambda: ExploreThenCommit(3, None, 1.5), "rounds is 1.5; .* whole number >= 1"),
        (lambda: ExploreThenCommit(3, None, 1, -1), "first is -1; .* whole number >= 0"),
    ],
)
def test_constants(call, words):
    refuses(call, words)


# Machines


class Still(Ten):
    def advance(self):
        return 0


def machine(**changes):
    return type("Odd", (Still,), changes)


@pytest.mark.parametrize("operation", ["reset", "advance", "feedback"])
@pytest.mark.parametrize("reduction", [Sparring, MultiSBM, Doubler, Champion])
def test_a_machine_that_misses_an_operation(reduction, operation):
    words = f"machine Odd has no operation '{operation}'; a machine has reset, advance, feedback"
    refuses(lambda: simulate("YJ", reduction(machine(**{operation: None}))), words)


@pytest.mark.parametrize("reduction", [Sparring, MultiSBM, Doubler, Single])
def test_a_machine_that_cannot_be_made(reduction):
    alone = type("Alone", (Still,), {"__init__": lambda self, K: None})
    words = r"machine cannot be made by Alone\(K, rng\): too many positional arguments"
    refuses(lambda: reduction(alone), words)
    words = r"machine cannot be made by UCB\(K, rng, alpa\): got an unexpected .*'alpa'"
    refuses(lambda: reduction(UCB, alpa=3), words)
    refuses(lambda: reduction(Ten(3, None)), "machine is a Ten, made already; give the class Ten")


def test_a_right_machine_that_cannot_be_made():
    refuses(lambda: Sparring(UCB, right=Ten(3, None)), "machine is a Ten, made already")


def test_a_right_machine_that_misses_an_operation():
    words = "machine Odd has no operation 'reset'"
    refuses(lambda: simulate("YJ", Sparring(UCB, right=machine(reset=None))), words)


@pytest.mark.parametrize("arm", [-1, 6, 0.0, True, None, "A", 2**70])
@pytest.mark.parametrize("reduction", [Sparring, MultiSBM, Doubler, Champion])
def test_a_machine_that_returns_no_arm(reduction, arm):
    words = f"advance of Odd returned {arm!r}, which is not an arm of the game"
    refuses(lambda: simulate("YJ", reduction(machine(advance=lambda self: arm))), words)


def test_numpy_arms_are_welcome(monkeypatch):
    monkeypatch.undo()
    odd = machine(advance=lambda self: np.argmax(self.s))
    assert simulate("YJ", Sparring(odd), 10, 1, compiled=False).plays.sum() == 10


def algorithm(body):
    """A reader's own algorithm over one machine."""

    class Mine(Algorithm):
        text = staticmethod(body)

        def parts(self, game):
            return (self.new_machine(game),)

    return Mine("Mine", Still)


def twice(S, game):
    while game.on():
        S.advance()
        game.play(0, S.advance())
        S.feedback(1)


def deaf(S, game):
    while game.on():
        game.play(0, S.advance())


def unasked(S, game):
    while game.on():
        game.play(0, S.advance())
        S.feedback(1)
        S.feedback(0)


def generous(S, game):
    while game.on():
        game.play(0, S.advance())
        S.feedback(2)


def lazy(S, game):
    game.play(0, S.advance())


def outside(S, game):
    game.play(0, 6)


@pytest.mark.parametrize(
    "body, words",
    [
        (twice, "advance of Still was called twice without feedback in between"),
        (deaf, "advance of Still was called twice without feedback in between"),
        (unasked, "feedback of Still was called without advance before it"),
        (generous, r"feedback of Still was given 2; a reward lies in \[0, 1\]"),
        (lazy, "Mine played 1 of 40 rounds; it must play them all"),
        (outside, "play was given an arm outside 0..K-1"),
    ],
)
def test_an_algorithm_that_breaks_the_rules(body, words):
    refuses(lambda: simulate("YJ", algorithm(body)), words)


def test_reset_may_come_between_advance_and_feedback():
    """Doubler resets after feedback, but a reset always makes the machine free again."""

    def body(S, game):
        while game.on():
            S.advance()
            S.reset()
            game.play(0, S.advance())
            S.feedback(1)

    with pytest.raises(AssertionError, match="work started"):
        simulate("YJ", algorithm(body), 10, 1, workers=1)


def test_a_field_that_changes_its_kind():
    def feedback(self, u):
        self.x = 0.5

    words = "field 'x' of Odd is not of one kind throughout .*; set it in __init__"
    refuses(lambda: simulate("YJ", Sparring(machine(feedback=feedback))), words)


# Mistakes that are found too late, or told in a riddle


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: simulate("arith/linear", "IF", regret="preference", realised=True),
            "regret is 'preference'",
        ),
        (
            lambda: simulate(Preferences(np.array(CYCLE, float)), "IF"),
            "has no Condorcet winner",
        ),
        (
            lambda: simulate(Cardinal([0.5, 0.4]), Single(UCB), regret="none"),
            "regret is 'none'; did you mean 'cardinal'",
        ),
    ],
)
def test_mistakes_of_regret(call, words):
    refuses(call, words)


@pytest.mark.parametrize("pair", [(Cardinal([0.5, 0.4]), Sparring(UCB)), ("YJ", Single(UCB))])
def test_an_algorithm_of_the_other_game(pair):
    refuses(lambda: simulate(*pair), "algorithm|scenario")


BALL = structured.LinearUtilities(structured.Ball(2), [0.1, 0.1], 0.5)


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, Uniform(), Doubler(structured.ConfidenceBall1)])
def test_an_algorithm_of_finitely_many_arms_on_a_ball(algorithm):
    words = r"algorithm is .*; it cannot play on the scenario's arms, Ball\(2\)"
    refuses(lambda: simulate(BALL, algorithm), words)


@pytest.mark.parametrize("reduction", [Sparring, structured.LinearDoubler])
def test_an_algorithm_of_vectors_on_finitely_many_arms(reduction):
    words = r"algorithm is .*; it cannot play on the scenario's arms, 6 \("
    refuses(lambda: simulate("YJ", reduction(structured.ConfidenceBall1)), words)


def test_a_machine_without_a_signature():
    refuses(lambda: Sparring(int), r"machine cannot be made by int\(K, rng\): no signature")


def test_a_plain_run_may_change_the_kind_of_a_field(monkeypatch):
    monkeypatch.undo()

    def reset(self):
        self.x = None

    assert simulate("YJ", Sparring(machine(reset=reset)), 10, 1, compiled=False).plays.sum() == 10
