"""Every public function of the theory refuses every bad argument in one sentence that names it."""

import importlib
import inspect
import pkgutil
import re
import warnings

import numpy as np
import pytest

from dueling import theory
from dueling.theory import bounds, exact, fluid, preferences

#: A good value for the argument of each name: a new name asks for one here.
GOOD = {
    "a": 0.5,
    "alpha": 1,
    "B": lambda n: 0.0,
    "c": 1,
    "chain": exact.sparring_chain([[0.5, 0.2], [0.8, 0.5]], 1),
    "chances": [0.5, 0.2],
    "costs": [[0, 0.2], [0.2, 0.4]],
    "D": [0, 0.2],
    "eps": 0.5,
    "f": lambda state: 1,
    "first": 0.5,
    "fluid.pulls.g": [0, 0.5],
    "g": 0.5,
    "G": [[0, 0.2], [0, 0.2]],
    "gamma": 2,
    "high": 0.8,
    "K": 2,
    "law": {(1, 2): 1},
    "line": "c",
    "low": 0.2,
    "machine": ((1, 1), (2, 0)),
    "means": [0.9, 0.5],
    "mu": [0.9, 0.5],
    "n": 9,
    "nu": 5,
    "order": [0, 1],
    "P": [[0.5, 0.2], [0.8, 0.5]],
    "plays": [[[0, 1], [0, 0]]],
    "r": 0.5,
    "s": 3,
    "star": 0,
    "T": 6,
    "ties": "first",
    "w": [0, 0.3],
    "x": 1,
    "x1": 0,
    "y0": 0,
}
NAN, INF = float("nan"), float("inf")
MASKED = np.ma.array([0.5, 0.2], mask=[0, 1])
BAD = [None, NAN, INF, -INF, "no", [], {}, object(), 10**400, 10**5000, [NAN, 0.5], [[1], [2, 3]]]
BAD += [MASKED, [MASKED, MASKED], 0.5j, ["0.5", "0.2"], np.array([])]
EXTREME = [0, -1, 1e-300, 5e-324, 1e-12, 1 - 1e-12, 1 + 1e-12, 1e12, 1e300, 1e308, 2**62, True]


def functions():
    """The public functions of all modules of the theory."""
    for entry in pkgutil.iter_modules(theory.__path__, f"{theory.__name__}."):
        module = importlib.import_module(entry.name)
        for name, f in vars(module).items():
            if inspect.isfunction(f) and f.__module__ == module.__name__ and name[0] != "_":
                yield f


FUNCTIONS = list(functions())
ARGUMENTS = [(f, name) for f in FUNCTIONS for name in inspect.signature(f).parameters]


def title(thing):
    return f"{thing.__module__.rpartition('.')[2]}.{thing.__name__}" if callable(thing) else thing


def good(f, name):
    return GOOD.get(f"{title(f)}.{name}", GOOD[name])


def call(f, /, **changed):
    """The value of f, read to its end, for good arguments but those that are changed."""
    all_good = {name: good(f, name) for name in inspect.signature(f).parameters}
    value = f(**(all_good | changed))
    return list(value) if inspect.isgenerator(value) else value


def is_nan(value):
    if isinstance(value, dict):
        return is_nan(list(value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_nan, value))
    return isinstance(value, float | np.ndarray) and bool(np.any(np.not_equal(value, value)))


def refusal(f, name, value):
    """The sentence in which f refuses the value, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = call(f, **{name: value})
    except ValueError as error:
        assert type(error) is ValueError, f"{type(error).__name__}: {error}"
        return str(error)
    assert not is_nan(result), f"{name} = {value!r} gives {result!r}"
    return None


def test_all_modules_are_seen():
    assert {bounds.ucb_sharp, exact.law, fluid.pulls, preferences.card} < set(FUNCTIONS)
    assert len(FUNCTIONS) > 45 and len(ARGUMENTS) > 130


@pytest.mark.parametrize("f", FUNCTIONS, ids=title)
def test_good_arguments_are_welcome(f):
    assert not is_nan(call(f))


@pytest.mark.parametrize("f, name", ARGUMENTS, ids=title)
def test_bad_arguments_are_refused_by_their_name(f, name):
    optional = inspect.signature(f).parameters[name].default is None
    for value in BAD[optional:]:
        sentence = refusal(f, name, value)
        assert sentence and "\n" not in sentence and len(sentence) < 240, value
        assert re.match(rf"{name}(\[[\d, ]+\])? (is|has) .*[.?]$", sentence), value


@pytest.mark.parametrize("f, name", ARGUMENTS, ids=title)
def test_no_number_gives_nan_or_an_error_of_another_kind(f, name):
    numeric = isinstance(good(f, name), int | float | list)
    endless = name == "T" and f.__module__ == exact.__name__  # no law of so many rounds ends
    for value in EXTREME if numeric and not endless else ():
        sentence = refusal(f, name, value)
        assert sentence is None or re.search(rf"\b{name}\b", sentence), (value, sentence)


# Arguments that must agree with each other

ARITH = [0.8, 0.7, 0.575, 0.45, 0.325, 0.2]
CYCLE = np.array([[0.5, 0.4, 0.7], [0.6, 0.5, 0.4], [0.3, 0.6, 0.5]])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: bounds.multisbm(ARITH, 9, 1, x1=6), "x1 is 6; it must be an arm, 0 to 5."),
        (
            lambda: bounds.ucb_sharp([0.3, 0.1 + 0.2], 9, 1),
            "mu[0] is 0.3; it must be the largest, or",
        ),
        (lambda: bounds.ucb_sharp([0.5], 9, 1), "mu has 1 arm(s); a duel needs K >= 2."),
        (lambda: bounds.tail_B2([1, -1], 0.5, 9, 1), "s[1] is -1; it must be a number of pulls in"),
        (lambda: bounds.multisbm(ARITH, 9, [1, 2]), "alpha is [1, 2]; it must be a number in"),
        (lambda: bounds.doubler(lambda n: n, 2.5), "T is 2.5; it must be a whole number >= 2."),
        (lambda: bounds.doubler_power(1, 0, 9), "a is 0.0; it must be a power in [1e-09, 1]."),
        (lambda: bounds.pulls_sharp(0.5, 9, 1, 0), "eps is 0; it must be a number in"),
        (lambda: bounds.pulls_sharp(0.5, 9, 1, [0.5, 0]), "eps[1] is 0; it must be a number in"),
        (lambda: bounds.multisbm_gaps_sharp(np.zeros((2, 2)), [0, 1], 9, 1), "G[0, 1] is 0; it "),
        (lambda: bounds.multisbm_gaps(-np.ones((2, 2)), [0, 1], 9, 1), "G[0, 1] is -1; it must"),
        (
            lambda: bounds.multisbm_gaps(np.ones((3, 2)), [0, 1], 9, 1),
            "G has shape (3, 2); it must",
        ),
        (lambda: bounds.multisbm_gaps(np.ones((2, 2)), [1, 1], 9, 1), "w is array([1., 1.]); it "),
        (lambda: bounds.multisbm_gamma([0, 0, 0.1], [0, 1, 1], 1, 9, 1), "D[1] is 0; it must be"),
        (lambda: bounds.multisbm_gamma([0, 0.1], [0, 1], INF, 9, 1), "gamma is inf; it must be a "),
        (lambda: preferences.card([[0.5, 2], [-1, 0.5]]), "P[0, 1] is 2; it must be a number in"),
        (lambda: preferences.card(np.ones((2, 3))), "P has shape (2, 3); it must be square."),
        (lambda: preferences.gap_matrix(CYCLE), "P has no Condorcet winner; it must have one, or"),
        (lambda: preferences.gap_matrix(CYCLE, star=3), "star is 3; it must be an arm, 0 to 2."),
        (lambda: preferences.gamma_transitivity(CYCLE, [0, 1, 1]), "order is array([0., 1., 1.])"),
        (lambda: preferences.gamma_natural(0, 1), "low is 0.0; it must be at least 1e-09 under"),
        (lambda: preferences.gamma_logit(1, 0), "low is 1.0; it must be at most high = 0.0."),
        (
            lambda: fluid.multisbm(CYCLE[:2], [0, 1, 1], 9, 1),
            "P has shape (2, 3); it must be square",
        ),
        (lambda: fluid.visits(CYCLE[0], 9, 1), "P has 1 dimension(s); it must have 2."),
        (
            lambda: fluid.doubler(CYCLE, [0, 1], 9, 1),
            "w is array([0., 1.]); it must be a list of 3",
        ),
        (lambda: exact.sparring([[0.5, 0.3], [0.6, 0.5]], 3, 1), "(P + P^T)[0, 1] is 0.9; it "),
        (lambda: exact.multisbm([[1, 0], [1, 1]], 3, 1), "(P + P^T)[0, 0] is 2; it must be 1."),
        (lambda: exact.multisbm(CYCLE, 3, 1, y0=3), "y0 is 3; it must be an arm, 0 to 2."),
        (lambda: exact.pulls({(1, 2): 1}, 2), "x is 2; it must be an arm, 0 to 1."),
        (lambda: exact.ucb([0.5, 0.5], 3, 1, "last"), "ties is 'last'; did you mean 'first'"),
        (lambda: exact.ucb([0.5, 0.5], 3, -2), "alpha is -2; it must be a number > -2 and <= 1e9"),
        (lambda: exact.regret(np.ones((4, 2, 2)), np.ones((3, 3))), "costs has shape (3, 3); it "),
    ],
)
def test_arguments_that_do_not_agree(call, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        call()
