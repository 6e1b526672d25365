"""Compiled runs and plain runs of one text: the same bits, the same objects left behind."""

import ast
import inspect
import random
import sys
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from threading import Barrier, Thread
from types import FunctionType, ModuleType

import numpy as np
import pytest
from conftest import Ten, same
from numba import config, njit
from numpy.lib.stride_tricks import as_strided
from numpy.random import Generator

from dueling import (
    BTMB,
    IF,
    KLUCB,
    UCB,
    Algorithm,
    Cardinal,
    Champion,
    Doubler,
    Exp3,
    ExploreThenCommit,
    MultiSBM,
    Preferences,
    Single,
    Sparring,
    SuccessiveElimination,
    Thompson,
    TsallisINF,
    TwoSidedChampion,
    Uniform,
    Utilities,
    beta,
    compilable,
    linear,
    simulate,
)
from dueling.engine import compiled, frozen
from dueling.engine.algorithm import mab

DUEL = Utilities([0.9, 0.6, 0.35, 0.1], linear, beta(3), name="compiled")
BANDIT = Cardinal([0.9, 0.6, 0.35], name="compiled")


class Few:
    """A small game with fixed rewards that remembers the arms; quick to compile."""

    def __init__(self, K=3, T=100):
        self.K, self.T, self.t = K, T, 0
        self.arms = np.zeros(T, np.int64)

    def on(self):
        return self.t < self.T

    def pull(self, x):
        if not 0 <= x < self.K:
            raise ValueError("arm outside")
        self.arms[self.t] = x
        self.t += 1
        return (5 * self.t + x) % 7 % 3 % 2


def left_behind(machine, T=100, K=3, **parameters):
    """(machine, game, next random number) after a compiled and after a plain run."""
    for run in (lambda *objects: compiled.run(mab, *objects), mab):
        S, game = machine(K, np.random.default_rng(3), **parameters), Few(K, T)
        run(S, game)
        yield S, game, getattr(S, "rng", np.random.default_rng(3)).random()


def both(algorithm, T=300, runs=4, **options):
    """One simulation, compiled and plain."""
    scenario = BANDIT if isinstance(algorithm, Single) else DUEL
    realised = scenario is DUEL
    return [
        simulate(
            scenario, algorithm, T, runs, workers=1, compiled=how, realised=realised, **options
        )
        for how in (True, False)
    ]


UCBS = [
    {"alpha": 3.0},
    {"alpha": -1.0},
    {"alpha": 0.1, "ties": "first"},
    {"alpha": 2, "ties": "random"},  # a whole number, as a reader writes it
]


@pytest.mark.parametrize("parameters", UCBS, ids=str)
@pytest.mark.parametrize(
    "reduction", [Sparring, MultiSBM, Doubler, Champion, TwoSidedChampion, Single]
)
def test_ucb_compiled_is_plain(reduction, parameters):
    assert same(*both(reduction(UCB, **parameters)))


@pytest.mark.parametrize("reduction", [Sparring, MultiSBM, Doubler, Champion, TwoSidedChampion])
def test_a_readers_machine_runs_compiled_in_every_reduction(reduction):
    assert same(*both(reduction(Ten)))


@pytest.mark.parametrize("machine", [Thompson, KLUCB])
def test_other_machines_compiled_are_plain(machine):
    assert same(*both(MultiSBM(machine)))


def test_a_firm_champion_compiled_is_plain():
    assert same(*both(Champion(UCB, r=0.5, alpha=0.0)))


BASELINES = [
    IF(1, 4.0),
    IF(1, 0.3, delta=0.4),
    IF(2, 0.3, delta=0.4),
    IF(2, 1.0, horizon=50),
    BTMB(3.0),
    BTMB(0.3, delta=0.4),
    BTMB(0.3, 1.2, delta=0.4, self_duels=False),
    Uniform(),
]


@pytest.mark.parametrize("algorithm", BASELINES, ids=str)
def test_baselines_compiled_are_plain(algorithm):
    assert same(*both(algorithm))


@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize("algorithm", [Sparring(UCB), Doubler(UCB), IF(), BTMB()], ids=str)
def test_the_shortest_games_are_alike_too(algorithm, T):
    assert same(*both(algorithm, T, checkpoints=[T], permute=False))


# Shapes a reader's class may have


class Constant:
    """Numbers on the class, for all instances."""

    step, first, loud = 0.25, 1, False

    def __init__(self, K, rng):
        self.K, self.score, self.x = K, np.zeros(K), 0

    def reset(self):
        self.score[:] = 0
        self.score[self.first] = self.step

    def advance(self):
        self.x = 0
        for x in range(self.K):
            if self.score[x] > self.score[self.x] or self.loud:
                self.x = x
        return self.x

    def feedback(self, u):
        self.score[self.x] += self.step * (u - 0.7)


class Heir(Constant):
    """Other constants, another method, the rest inherited."""

    step = 0.5

    def feedback(self, u):
        self.score[self.x] += self.step * (u - 0.8)


class Helped(Constant):
    """A method of its own beside the three operations, with an argument and a result."""

    def _gain(self, u, scale):
        return scale * (u - 0.7)

    def feedback(self, u):
        self.score[self.x] += self._gain(u, 2.0) + self._gain(1, 0.125)


class Flag:
    """A bool field that changes, and a 2-D array."""

    def __init__(self, K, rng):
        self.K, self.rng, self.x, self.up = K, rng, 0, True
        self.wins = np.zeros((2, K), np.int64)
        self.seen = np.zeros(K, np.bool_)

    def reset(self):
        self.wins[:] = 0
        self.seen[:] = False
        self.up = True

    def advance(self):
        if self.up:
            self.x = (self.x + 1) % self.K
        elif not self.seen.all():
            self.x = int(self.rng.random() * self.K)
        elif self.wins[1, 0] < self.wins[0, 0]:
            self.x = 1
        else:
            self.x = 0
        self.seen[self.x] = True
        return self.x

    def feedback(self, u):
        self.wins[int(u), self.x] += 1
        self.up = not self.up


class Renewed:
    """New arrays assigned in reset, as one writes it first."""

    def __init__(self, K, rng):
        self.K, self.x, self.best = K, 0, 0.0
        self.n, self.wins = np.zeros(K), np.zeros((2, K))

    def reset(self):
        self.n = np.ones(self.K)
        self.wins = np.zeros((2, self.K))
        self.best = 0.0

    def advance(self):
        self.x = int(np.argmax((1 + self.wins[1]) / self.n))
        return self.x

    def feedback(self, u):
        self.n[self.x] += 1
        self.wins[u, self.x] += 1
        self.best = max(self.best, self.wins[u, self.x] / self.n[self.x])


class Blank:
    """No field at all."""

    def __init__(self, K, rng):
        pass

    def reset(self):
        pass

    def advance(self):
        return 1

    def feedback(self, u):
        pass


SHAPES = [Constant, Heir, Helped, Flag, Renewed, Blank]
MACHINES = {
    UCB: {"alpha": 1},
    Thompson: {},
    Exp3: {},
    TsallisINF: {},
    SuccessiveElimination: {"horizon": 3},
    ExploreThenCommit: {"rounds": 3, "first": 1},
    Ten: {},
}


@pytest.mark.parametrize("machine", [*SHAPES, *MACHINES])
@pytest.mark.parametrize("K", [3, 40])
def test_a_compiled_run_leaves_the_same_objects_behind(K, machine):
    """Also of 40 arms, where NumPy sums in another order than a loop does."""
    fast, slow = left_behind(machine, K=K, **MACHINES.get(machine, {}))
    for one, other in zip(fast[:2], slow[:2]):
        for name, value in vars(other).items():
            if name != "rng":
                assert np.array_equal(getattr(one, name), value), name
                assert compiled.kind(getattr(one, name)) == compiled.kind(value), name
    assert fast[2] == slow[2]  # the generator stands where the plain run leaves it


def test_the_shapes_differ_in_what_they_play():
    """So the test above does not compare machines that all do the same."""
    played = {m: tuple(list(left_behind(m))[1][1].arms) for m in SHAPES}
    assert len(set(played.values())) == len(SHAPES)


def test_a_number_of_the_class_is_read_at_every_run():
    class Tuned(Constant):
        pass

    class Bare(Constant):
        step = None  # not the number of its parent any more

    for first in (1, 2):
        Tuned.first = first
        fast, slow = left_behind(Tuned)
        assert fast[1].arms[0] == first and np.array_equal(fast[1].arms, slow[1].arms)
    assert "step" not in compiled.fields(Bare(3, None))


def test_a_compiled_error_keeps_what_was_done():
    class Late(Blank):
        def __init__(self, K, rng):
            self.t = 0

        def advance(self):
            self.t += 1
            return 0 if self.t <= 50 else 9

    S, game = Late(3, None), Few()
    with pytest.raises(ValueError, match="arm outside"):
        compiled.run(mab, S, game)
    assert S.t == 51 and game.t == 50


# One text for many objects


def kernels():
    """How many texts were compiled so far."""
    texts = [made for key, made in frozen._products.items() if type(key) is tuple and key[0] is mab]
    return sum(map(len, texts))


def test_threads_that_start_together_compile_once():
    class New(Constant):
        pass

    interval, before, gate = sys.getswitchinterval(), kernels(), Barrier(8)
    pulls = []

    def play():
        S, game = New(3, None), Few()
        gate.wait()
        compiled.run(mab, S, game)
        pulls.append(game.arms.tolist())

    threads = [Thread(target=play) for _ in range(8)]
    try:
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert pulls == pulls[:1] * 8 and kernels() == before + 1


def test_equal_layouts_share_one_compilation():
    list(left_behind(Constant))
    before = kernels()
    for K in (2, 11):
        compiled.run(mab, Constant(K, None), Few(K, 7 * K))
    assert kernels() == before


def test_two_instances_in_a_list_keep_their_own_numbers():
    def text(S, game):
        while game.on():
            S[1].x = game.t
            game.pull(0)

    S, game = [Constant(3, None), Constant(3, None)], Few(T=9)
    compiled.run(text, S, game)
    assert (S[0].x, S[1].x, game.t) == (0, 8, 9)


# What compiled and plain Python do not round alike is not in the package's texts


def texts():
    """The functions and methods of the package that are compiled."""
    package = Path(compiled.__file__).parents[1]
    for path in package.rglob("*.py"):
        module = import_module(".".join(path.relative_to(package.parent).with_suffix("").parts))
        for thing in vars(module).values():
            if getattr(thing, "__module__", "") != module.__name__:
                continue
            if hasattr(thing, "compilable") or thing in TEXTS:
                yield thing
            elif isinstance(thing, type) and COMPILED & set(dir(thing)):
                yield from (f for f in vars(thing).values() if isinstance(f, FunctionType))


TEXTS = [algorithm.text for algorithm in (Doubler, MultiSBM, Sparring, Single, Uniform, IF, BTMB)]
COMPILED = {"advance", "on", "draw"}  # of machines, games, and Doubler's list


def test_no_text_writes_a_square_as_a_power():
    """x**2 is x * x when compiled, and pow(x, 2) in plain Python: the last bit may differ."""
    seen, powers = set(), []
    for f in texts():
        seen.add(f.__qualname__)
        for node in ast.walk(ast.parse(dedent(inspect.getsource(f)))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                by, of = node.right, node.left
                if isinstance(getattr(by, "value", None), int) and not isinstance(of, ast.Constant):
                    powers.append(f"{f.__qualname__}: {ast.unparse(node)}")
    assert {"TsallisINF.weigh", "beat_the_mean", "squared_radius", "Game.play"} <= seen
    assert "Multiset.draw" in seen
    assert powers == []


def test_a_long_run_of_tsallis_inf_is_the_same_compiled_and_plain():
    """One of those that a square in the plain text made differ."""
    settings = {"T": 32000, "runs": 1, "checkpoints": [32000], "workers": 1}
    fast, slow = (
        simulate("arith/linear", Sparring(TsallisINF), compiled=c, **settings)
        for c in (True, False)
    )
    assert same(fast, slow)


# What cannot be compiled says so


class Listed(Blank):
    def __init__(self, K, rng):
        self.seen = [1]


class Strided(Blank):
    def __init__(self, K, rng):
        self.seen = np.zeros((4, 4)).T[1:, ::2]


class Small(Blank):
    def __init__(self, K, rng):
        self.seen = 1 + 0j


class Wide(Blank):
    def __init__(self, K, rng):
        self.seen = 2**64


class OneEnd(Blank):
    def __init__(self, K, rng):
        self.rng = rng

    def advance(self):
        return int(self.rng.integers(2))


class Opaque(Blank):
    def advance(self):
        return len(f"{self.__class__}") % 2


@compilable
def even(n):
    return odd(n - 1) if n > 0 else 1


@compilable
def odd(n):
    return even(n - 1) if n > 0 else 0


class Circular(Blank):
    def advance(self):
        return even(4)


@pytest.mark.parametrize(
    "machine, words",
    [
        (Circular, "(even|odd) calls itself by way of its helpers; compiled=False runs it"),
        (Listed, r"field 'seen' of Listed is a list; .*compiled=False"),
        (Strided, r"'seen' of Strided .*not in C order"),
        (Small, r"field 'seen' of Small is a .*; a compiled object holds"),
        (Wide, "a whole number among the fields of Wide has more than 64 bits; compiled=False"),
        (Opaque, r"mab over Opaque, Bandit cannot be compiled .*compiled=False runs it"),
        (OneEnd, r"cannot be compiled \(numba has no .*integers\(.*2\)\)\); compiled=False"),
    ],
)
def test_what_cannot_be_compiled_says_so_and_runs_plain(machine, words):
    with pytest.raises(ValueError, match=words):
        simulate(BANDIT, Single(machine), 10, 1, workers=1)
    assert simulate(BANDIT, Single(machine), 10, 1, compiled=False).pulls.sum() == 10


def test_a_compiler_that_is_switched_off_says_so(monkeypatch):
    class Fresh(Constant):
        pass

    monkeypatch.setattr(config, "DISABLE_JIT", 1)  # as the variable NUMBA_DISABLE_JIT does
    with pytest.raises(ValueError, match="numba may not compile: unset NUMBA_DISABLE_JIT"):
        simulate(BANDIT, Single(Fresh), 10, 1, workers=1)
    assert simulate(BANDIT, Single(Fresh), 10, 1, compiled=False).pulls.sum() == 10


def test_a_list_of_unlike_machines_is_refused():
    with pytest.raises(ValueError, match="2 kinds; all must be alike"):
        compiled.run(mab, [Blank(2, None), Constant(2, None)], None)


def test_an_array_of_another_shape_is_refused_when_compiled():
    class Growing(Renewed):
        def reset(self):
            self.n = np.ones(self.K + 1)

        def advance(self):
            return 0

    with pytest.raises(ValueError, match="an array of another shape"):
        next(left_behind(Growing))


def test_preferences_with_a_position_bias_are_played_alike():
    table = Preferences([[0.6, 0.3], [0.9, 0.6]], "bias", biased=True)
    runs = [
        simulate(table, Sparring(UCB), 200, 3, compiled=how, workers=1) for how in (True, False)
    ]
    assert same(*runs)


# What a text reads from outside


PACE = 1
SETTINGS = ModuleType("settings")
SETTINGS.pace = 100


@compilable
def doubled(x):
    return 2 * x * PACE


@compilable
def twice_doubled(x):
    return 2 * doubled(x)


class Outside(Blank):
    """Counts in steps that come from outside; what else it counts is its own."""

    def __init__(self, K, rng):
        self.t = 0


def steps(cls):
    """The count after three rounds, compiled and plain."""
    return [S.t for S, *_ in left_behind(cls, T=3)]


def outside(feedback):
    return type("Outside", (Outside,), {"feedback": feedback})


def test_a_global_is_read_anew(monkeypatch):
    def feedback(self, u):
        self.t += PACE

    machine, before = outside(feedback), kernels()
    for pace in (1, 2, 1, 2):
        monkeypatch.setitem(globals(), "PACE", pace)
        assert steps(machine) == [3 * pace] * 2
    assert kernels() == before + 2


def test_an_equal_value_in_the_place_of_another_is_not_compiled_anew(monkeypatch):
    def by_number(self, u):
        self.t += PACE

    def by_array(self, u):
        self.t += PACE[0]

    for feedback, fresh in ((by_number, int), (by_array, lambda text: np.array([int(text)]))):
        machine, before = outside(feedback), kernels()
        for pace in ("1000", "2000", "1000", "2000"):
            monkeypatch.setitem(globals(), "PACE", fresh(pace))
            assert steps(machine) == [3 * int(pace)] * 2
        assert kernels() == before + 2


def test_a_changed_cell_array_module_and_helper_are_read_anew(monkeypatch):
    pace, table = 1, np.array([0, 10])

    def feedback(self, u):
        self.t += pace + table[1] + SETTINGS.pace + twice_doubled(1)

    machine = outside(feedback)
    assert steps(machine) == [3 * 115] * 2
    pace = 2
    assert steps(machine) == [3 * 116] * 2
    table[1] = 20
    assert steps(machine) == [3 * 126] * 2
    monkeypatch.setattr(SETTINGS, "pace", 200)
    assert steps(machine) == [3 * 226] * 2
    monkeypatch.setitem(globals(), "PACE", 1000)
    assert steps(machine) == [3 * 4222] * 2


def test_a_changed_method_is_compiled_anew():
    class Changing(Outside):
        def feedback(self, u):
            self.t += 1

    assert steps(Changing) == [3, 3]
    Changing.feedback = lambda self, u: None
    assert steps(Changing) == [0, 0]


def test_a_helper_in_a_closure():
    @compilable
    def five(u):
        return 5

    def feedback(self, u):
        self.t += five(u)

    assert steps(outside(feedback)) == [15, 15]


# What compiled runs do differently is refused


class Toggling(Blank):
    """A field that is a float in between, whole at both ends of the rehearsal."""

    def __init__(self, K, rng):
        self.K, self.t, self.half = K, 0, 0

    def advance(self):
        self.half = self.t / 2
        return int(2 * self.half) % self.K

    def feedback(self, u):
        self.half = 0
        self.t += 1


class Swapping(Constant):
    """Two arrays that trade places: assignment copies when compiled."""

    def __init__(self, K, rng):
        self.K, self.x, self.score, self.other = K, 0, np.zeros(K), np.ones(K)

    def feedback(self, u):
        self.score[self.x] += u - 0.6
        self.score, self.other = self.other, self.score


class Single32(Constant):
    """float32 numbers: NumPy keeps them, numba widens them."""

    def __init__(self, K, rng):
        self.K, self.x, self.score = K, 0, np.zeros(K, np.float32)

    def feedback(self, u):
        self.score[self.x] = (self.score[self.x] * 0.9 + 0.1 * u) / 1.1


@pytest.mark.parametrize("machine", [Toggling, Swapping, Single32])
def test_a_machine_that_plays_otherwise_when_compiled_is_refused(machine):
    with pytest.raises(ValueError, match=machine.__name__):
        simulate("arith/linear", Sparring(machine), T=100, runs=1, workers=1)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("after", [5, 500])
def test_a_division_by_zero_is_refused_in_a_sentence(after):
    """NumPy's numbers would go on with inf; a compiled run stops, early or late."""

    class Dividing(Blank):
        def __init__(self, K, rng):
            self.left, self.share = np.array([float(after)]), 0.0

        def feedback(self, u):
            self.left[0] -= 1
            self.share = u / self.left[0]

    words = r"mab over Dividing, Bandit divides by zero; .*compiled=False"
    with pytest.raises(ValueError, match=words):
        simulate(BANDIT, Single(Dividing), 1000, 1, workers=1)
    assert simulate(BANDIT, Single(Dividing), 1000, 1, compiled=False).pulls.sum() == 1000


def test_a_plain_division_by_zero_is_refused_in_the_rehearsal():
    class Dividing(Blank):
        def advance(self):
            return 1 // 0

    with pytest.raises(ValueError, match=r"Single\(Dividing\) divides by zero in its first 40"):
        simulate(BANDIT, Single(Dividing), 1000, 1, workers=1, compiled=False)


def test_what_the_compiler_cannot_read_is_refused_in_a_sentence():
    class Matching(Constant):
        def feedback(self, u):
            match u:
                case {"reward": _}:
                    self.x = 0

    with pytest.raises(
        ValueError, match=r"^mab over Matching.* unsupported opcode \(MATCH_MAPPING"
    ):
        next(left_behind(Matching))


def test_super_is_refused_by_name():
    class Child(Constant):
        def feedback(self, u):
            super().feedback(u)

    with pytest.raises(ValueError, match=r"feedback of Child calls super\(\), which only plain"):
        next(left_behind(Child))


def test_a_number_of_the_class_is_written_back():
    class Counting(Blank):
        t = 0

        def feedback(self, u):
            self.t += 1

    assert [S.t for S, *_ in left_behind(Counting)] == [100, 100]


def test_a_numpy_bool_is_a_bool():
    class Numpy(Blank):
        def __init__(self, K, rng):
            self.up = np.bool_(True)

        def feedback(self, u):
            self.up = not self.up

    assert [bool(S.up) for S, *_ in left_behind(Numpy, T=3)] == [False, False]


# Fields that are objects, and arrays that are read-only


class Table:
    """What several machines share: a value with a method of its own."""

    def __init__(self, K):
        self.bonus, self.asked = np.linspace(0, 1, K), 0
        self.bonus.flags.writeable = False

    def of(self, x):
        self.asked += 1
        return self.bonus[x]


class Sharing(Constant):
    """A machine that asks another object."""

    def __init__(self, K, rng):
        self.K, self.score, self.x, self.table = K, np.zeros(K), 0, Table(K)

    def feedback(self, u):
        self.score[self.x] += self.step * (u - 0.7) + 0.01 * self.table.of(self.x)


def test_a_field_may_be_an_object():
    (fast, game, _), (slow, other, _) = left_behind(Sharing, K=5)
    assert (game.arms == other.arms).all() and (fast.score == slow.score).all()
    assert fast.table.asked == slow.table.asked == 100 and len(set(game.arms)) > 2


def test_two_machines_may_hold_one_object():
    def text(S, game):
        while game.on():
            S[0].feedback(game.pull(S[1].advance()))

    S = [Sharing(3, None), Sharing(3, None)]
    S[1].table = S[0].table
    compiled.run(text, S, Few(T=9))
    assert S[0].table.asked == 9


def test_a_changed_method_of_a_held_object_is_compiled_anew(monkeypatch):
    monkeypatch.setattr(Table, "of", Table.of)
    before = next(left_behind(Sharing))[0].score
    monkeypatch.setattr(Table, "of", lambda self, x: 2.0)
    assert (next(left_behind(Sharing))[0].score != before).any()


def test_a_read_only_array_cannot_be_written_when_compiled_either():
    class Writing(Sharing):
        def feedback(self, u):
            self.table.bonus[0] = u

    with pytest.raises(ValueError, match="cannot be compiled"):
        next(left_behind(Writing))


def test_a_list_has_a_length_and_ends():
    def text(S, game):
        S[-1].x = len(S)
        while game.on():
            game.pull(0)

    S = [Constant(3, None) for _ in range(4)]
    compiled.run(text, S, Few(T=2))
    assert [item.x for item in S] == [0, 0, 0, 4]


# What only a plain run would notice


def test_an_index_outside_of_its_array_is_told_by_name():
    class Buffer(Blank):
        def __init__(self, K, rng):
            self.slots, self.t = np.zeros(100), 0

        def feedback(self, u):
            self.slots[self.t] = u
            self.t += 1

    words = r"^feedback of Buffer asks for self.slots\[self.t\], but index 100 is out of bounds"
    for how in (True, False):
        with pytest.raises(ValueError, match=words):
            simulate(BANDIT, Single(Buffer), 1000, 1, workers=1, compiled=how)


class Slots(Blank):
    """Of 5000 rounds, 4900 write beyond the end of the array."""

    def __init__(self, K, rng):
        self.slots, self.t, self.at = np.zeros(100), 0, np.zeros(1, np.int64)


@njit
def put(a, i, u):
    a[i] = u


@compilable
def put_flat(a, i, u):
    a.flat[i] = u


def by_flat(self, u):
    self.slots.flat[self.t] = u
    self.t += 1


def by_helper(self, u):
    put_flat(self.slots, self.t, u)
    self.t += 1


def by_another_compilation(self, u):
    put(self.slots, self.t, u)
    self.t += 1


def by_strides(self, u):
    as_strided(self.slots, (5000,), (8,))[self.t] = u
    self.t += 1


def by_an_axis(self, u):
    self.t += int(np.take_along_axis(self.slots, self.at, 0)[0]) + 1
    self.at[0] = self.t


def by_a_sum_in_place(self, u):
    self.slots += np.ones(100 + self.t)
    self.t += int(self.slots[0] > 60) * 400


def by_a_result_in_place(self, u):
    np.add(self.slots, self.slots, np.zeros(100 - self.t // 50))
    self.t += 1


def by_delete(self, u):
    self.slots[0] = np.delete(self.slots, self.at)[0]
    self.t += 1
    self.at[0] = self.t


def by_counting(self, u):
    self.slots[0] = np.bincount(self.at)[0]
    self.at[0] = min(self.t, 0)


def by_address(self, u):
    self.t += int(self.slots.ctypes.data > 0)


@pytest.mark.parametrize(
    "feedback, words",
    [
        (by_flat, r"^by_flat uses a\.flat, where an index need not be checked; write a\[i\] and"),
        (by_helper, "^put_flat uses a.flat, where"),
        (by_another_compilation, "^by_another_compilation uses a function that is compiled apart"),
        (by_strides, "^by_strides uses as_strided, where an index need not be checked"),
        (by_an_axis, "^by_an_axis uses take_along_axis, where an index need not be checked"),
        (by_a_sum_in_place, r"^by_a_sum_in_place uses a \+= b or its kin with an array b, where"),
        (by_a_result_in_place, "^by_a_result_in_place uses add with an array for its result"),
        (by_delete, "^by_delete uses delete, where"),
        (by_counting, "^by_counting uses bincount, where"),
        (by_address, "^by_address uses a.ctypes, where an index need not be checked"),
    ],
)
def test_memory_without_a_checked_index_is_refused(feedback, words):
    """Where numba checks nothing, a run would write over other objects' memory."""
    machine = type("Buffer", (Slots,), {"feedback": feedback})
    with pytest.raises(ValueError, match=words):
        simulate(BANDIT, Single(machine), 5000, 1, workers=1)
    assert simulate(BANDIT, Single(machine), 50, 1, compiled=False).pulls.sum() == 50


def test_numpy_that_checks_its_indices_is_welcome():
    class Careful(Slots):
        def feedback(self, u):
            self.slots += u
            self.slots[:] = self.slots + np.ones(100)
            self.slots[self.slots > 500] = np.sort(self.slots).max()
            self.t = int(np.argmax(self.slots) + np.searchsorted(self.slots, 0.5))

    fast, slow = left_behind(Careful)
    assert np.array_equal(fast[0].slots, slow[0].slots) and fast[0].t == slow[0].t


def test_a_text_without_a_checked_index_is_refused():
    def text(S, game):
        while game.on():
            S.slots.flat[game.t] = game.pull(0)

    with pytest.raises(ValueError, match=r"^text uses a\.flat, where an index need not be checked"):
        compiled.run(text, Slots(3, None), Few(T=500))


@compilable
def put_beyond(a, i, u):
    a[i] = u


@pytest.mark.parametrize("compiled", [True, False])
def test_an_index_outside_of_an_array_in_a_helper_is_told_with_the_machine(compiled):
    class Buffer(Slots):
        def feedback(self, u):
            put_beyond(self.slots, self.t, u)
            self.t += 1

    words = (
        r"^feedback of Buffer asks for put_beyond\(self.slots, self.t, u\), where put_beyond asks "
        "for a\\[i\\], but index 100 is out of bounds"
    )
    with pytest.raises(ValueError, match=words):
        simulate(BANDIT, Single(Buffer), 1000, 1, workers=1, compiled=compiled)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_index_outside_of_an_array_in_numpy_is_told_with_the_machine(compiled):
    class Buffer(Slots):
        def feedback(self, u):
            self.slots[0] = np.take(self.slots, self.t)
            self.t += 1

    words = r"^feedback of Buffer asks for np.take\(self.slots, self.t\), but index 100 is out"
    with pytest.raises(ValueError, match=words):
        simulate(BANDIT, Single(Buffer), 1000, 1, workers=1, compiled=compiled)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_arm_outside_of_the_game_is_told_with_its_machine_after_the_rehearsal_too(compiled):
    class Late(Slots):
        def advance(self):
            return self.t // 50

        def feedback(self, u):
            self.t += 1

    words = "^advance of Late returned 3, which is not an arm of the game"
    with pytest.raises(ValueError, match=words):
        simulate(BANDIT, Single(Late), 1000, 1, workers=1, compiled=compiled)


def test_an_heir_of_a_machine_of_the_package_is_checked_too():
    class Short(UCB):
        def __init__(self, K, rng):
            self.K, self.rng, self.logs, self.alpha, self.random_ties = K, rng, np.ones(9), 1.0, 0
            self.total, self.mean, self.narrow = np.zeros(K), np.zeros(K), np.zeros(K)
            self.pulls, self.t, self.x = np.zeros(K, np.int64), 1, 1

        def ln(self, t):
            return self.logs[t // 10]

    with pytest.raises(ValueError, match=r"^ln of Short asks for self.logs\[t // 10\]"):
        simulate(BANDIT, Single(Short), 1000, 1, workers=1)


class Driver(Blank):
    """A reader's machine that drives one of the package's, and sets its arm late."""

    arm = 2

    def __init__(self, K, rng):
        self.inner, self.t = UCB(2, rng), 0

    def advance(self):
        return self.inner.advance()

    def feedback(self, u):
        self.t += 1
        if self.t > 60:
            self.inner.x = self.arm
        self.inner.feedback(u)


@pytest.mark.parametrize("arm", [2, 10**6])
def test_a_machine_of_the_package_that_a_readers_machine_drives_is_checked(arm):
    """Two was a silent wrong result, a million the end of the process."""
    machine = type("Driver", (Driver,), {"arm": arm})
    with pytest.raises(ValueError, match=rf"^feedback of UCB .* but index {arm} is out of bounds"):
        simulate(BANDIT, Single(machine), 300, 1, workers=1)


def test_a_machine_of_the_package_that_a_readers_text_drives_is_checked():
    def drive(S, game):
        S.reset()
        while game.on():
            b = game.play(0, S.advance())
            if game.t > 60:
                S.x = 4
            S.feedback(b)

    words = r"^feedback of UCB asks for self.pulls\[x\], but index 4 is out of bounds"
    with pytest.raises(ValueError, match=words):
        simulate(DUEL, Algorithm.of(drive, UCB), 300, 1, workers=1)


def test_a_readers_text_may_read_and_set_the_fields_of_its_machine():
    def follow(S, game):
        S.reset()
        S.alpha = 1.0
        while game.on():
            x = S.advance()
            S.feedback(game.play(int(S.mean[1] > S.mean[0]), x))

    fast, slow = (
        simulate(DUEL, Algorithm.of(follow, UCB), 300, 4, compiled=how, permute=False, workers=1)
        for how in (True, False)
    )
    left = fast.plays[:, 0].sum(axis=(0, 2))
    assert same(fast, slow) and left[0] and left[1] and not left[2:].any()


def test_an_index_outside_of_a_list_of_machines_is_noticed():
    def text(S, game):
        while game.on():
            game.pull(S[game.t].advance())

    with pytest.raises(IndexError):
        compiled.run(text, [Constant(3, None) for _ in range(4)], Few(T=9))


@pytest.mark.parametrize("late", [False, True])
def test_a_fraction_in_a_whole_field_is_refused(late):
    class Halving(Blank):
        def __init__(self, K, rng):
            self.t, self.level = 0, 10

        def feedback(self, u):
            self.t += 1
            if self.t > (100 if late else 0):
                self.level *= 0.5

    words = "field 'level' of Halving is" if late else "field 'level' of Halving is not of one kind"
    with pytest.raises(ValueError, match=words):
        simulate(BANDIT, Single(Halving), 1000, 1, workers=1)


def test_a_number_in_a_field_of_truths_is_refused():
    class Counting(Blank):
        def __init__(self, K, rng):
            self.t, self.seen = 0, False

        def feedback(self, u):
            self.t += 1
            if self.t > 100:
                self.seen = self.t

    with pytest.raises(ValueError, match="field 'seen' of Counting is a truth, but feedback"):
        simulate(BANDIT, Single(Counting), 1000, 1, workers=1)


# Chance that no run can repeat


@compilable
def dice(u):
    return np.random.random()


def dice_in_python(u):
    return random.random()


class Cup:
    def shake(self, u):
        return np.random.random()


RNG = np.random.default_rng(1)
CUP, ALIAS, METHOD, MAKER = Cup(), np.random, np.random.random, np.random.default_rng


def late(body):
    """A machine that takes part in a run for 100 rounds before its feedback does this."""

    held = Cup() if body is by_field else None

    class Late(Blank):
        def __init__(self, K, rng):
            self.t, self.cup = 0, held

        def feedback(self, u):
            self.t += 1
            if self.t > 100:
                body(self, u)

    return Late


def by_module(self, u):
    np.random.random()


def by_alias(self, u):
    ALIAS.random()


def by_method(self, u):
    METHOD()


def by_maker(self, u):
    MAKER().random()


def by_own_generator(self, u):
    RNG.random()


def by_dice(self, u):
    dice(u)


def by_python(self, u):
    dice_in_python(u)


def by_field(self, u):
    self.cup.shake(u)


def by_object(self, u):
    CUP.shake(u)


def by_import(self, u):
    from numpy.random import default_rng

    default_rng().random()


def by_import_of_random(self, u):
    from numpy import random as chance

    chance.random()


def by_local_alias(self, u):
    import numpy as n

    n.random.random()


def by_inner(self, u):
    return [np.random.random() for _ in range(2)]


def closed():
    module, draw = np, random.random

    def by_module_in_a_closure(self, u):
        module.random.random()

    def by_draw_in_a_closure(self, u):
        draw()

    return by_module_in_a_closure, by_draw_in_a_closure


ROUTES = {
    by_module: "by_module draws from np.random.random",
    by_alias: "by_alias draws from ALIAS.random",
    by_method: "by_method draws from METHOD",
    by_maker: "by_maker draws from MAKER",
    by_own_generator: "by_own_generator draws from RNG",
    by_dice: "dice draws from np.random.random",
    by_python: "dice_in_python draws from random.random",
    by_field: "Cup.shake draws from np.random.random",
    by_object: "Cup.shake draws from np.random.random",
    by_import: "by_import draws from default_rng",
    by_import_of_random: "by_import_of_random draws from random",
    by_local_alias: "by_local_alias draws from n.random.random",
    by_inner: "by_inner draws from np.random.random",
    closed()[0]: "by_module_in_a_closure draws from module.random.random",
    closed()[1]: "by_draw_in_a_closure draws from draw",
}


@pytest.mark.parametrize("body", ROUTES, ids=lambda body: body.__name__)
def test_chance_that_all_of_python_shares_is_refused_by_name(body):
    """Also where no rehearsal of 40 rounds reaches it."""
    with pytest.raises(ValueError, match=f"{ROUTES[body]}; draw from the rng that a machine is"):
        simulate(BANDIT, Single(late(body)), 1000, 1, workers=1, compiled=False)


def test_shared_chance_is_refused_in_texts_and_factories_too():
    def text(game):
        while game.on():
            game.play(0, int(np.random.random()))

    def factory(K, rng):
        return Ten(K, np.random.default_rng())

    for algorithm, name in ((text, "text"), (Sparring(factory), "factory")):
        with pytest.raises(ValueError, match=f"{name} draws from np.random"):
            simulate("YJ", algorithm, 100, 1)


def test_shared_chance_under_another_name_is_noticed_as_it_is_drawn():
    class Hidden(Blank):
        def feedback(self, u):
            vars(np)["random"].random()

    with pytest.raises(ValueError, match="draws from random numbers that all of Python shares"):
        simulate(BANDIT, Single(Hidden), 1000, 1, workers=1, compiled=False)


def test_the_type_of_a_generator_is_no_chance():
    class Typed(Ten):
        def __init__(self, K, rng: np.random.Generator):
            self.typed = isinstance(rng, np.random.Generator | Generator)
            Ten.__init__(self, K, rng)

    assert simulate(DUEL, Sparring(Typed), 30, 1, compiled=False).plays.sum() == 30
