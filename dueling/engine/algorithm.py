"""An algorithm is a text ``f(*parts, game)`` with the parts (machines, constants) it needs."""

import inspect
import linecache
from collections.abc import Callable, Iterator
from functools import partial
from operator import index
from types import FrameType, FunctionType, TracebackType
from typing import Any

import numpy as np

from . import chance, checks, compiled
from .value import Value

OPERATIONS = ("reset", "advance", "feedback")


class Algorithm(Value):
    """A named algorithm; ``play(game)`` runs its text on the game, compiled or as it stands.

    >>> def against_first(S, game):
    ...     while game.on():
    ...         S.feedback(game.play(0, S.advance()))
    >>> Algorithm.of(against_first, Thompson)
    against_first(Thompson)
    """

    text: Callable
    needs = "play"  # what the text asks of its game

    def __init__(self, name: str, machine: Callable | None = None, parameters: dict | None = None):
        self.name, self.machine, self.parameters = name, machine, dict(parameters or {})
        if machine is not None:
            check_machine(machine, self.parameters)

    def __repr__(self) -> str:
        return self.name

    @staticmethod
    def of(text: Callable, *machines: Callable, name: str | None = None) -> "Algorithm":
        """The algorithm of a reader's own text ``f(*machines, game)``, under the text's name.

        Each machine is a class that is called with (K, rng); other settings are the text's globals
        or closure. The text may draw from ``game.rng``, and it runs compiled like all others.
        """
        return Own(text, machines, name)

    def new_machine(self, game, other: Callable | None = None):
        """A new machine over the arms of the game, on the run's own generator."""
        parameters = {} if other else self.parameters
        machine = (other or self.machine)(_arms(game), game.rng, **parameters)
        for operation in OPERATIONS:
            if not callable(getattr(machine, operation, None)):
                raise ValueError(
                    f"machine {type(machine).__name__} has no operation {operation!r}; "
                    f"a machine has {', '.join(OPERATIONS)}."
                )
        return machine

    def settings(self) -> dict:
        """The parameters, with the machine's defaults for those that are not given."""
        return defaults(self.machine) | self.parameters

    def parts(self, game) -> tuple:
        """The objects that the text is given, before the game itself."""
        raise NotImplementedError

    def play(self, game, compile: bool = True) -> None:
        """Play the game to its end."""
        if compile:
            compiled.run(self.text, *self.parts(game), game)
        else:
            self.text(*self.parts(game), game)

    def replay(self, game, is_arm: Callable, parts: tuple = ()) -> None:
        """Play in plain Python with guarded machines: a fault names its machine and its place."""
        try:
            self.text(*(_guarded(part, is_arm) for part in parts or self.parts(game)), game)
        except IndexError as error:
            raise ValueError(out_of_bounds(error)) from None

    def rehearse(self, game, is_arm: Callable, lasting: bool = True) -> None:
        """Play a short game in plain Python with guarded machines, to find mistakes early.

        With ``lasting``, as the compiler needs it, every field must keep its kind.
        """
        if not hasattr(game, self.needs):
            kind = type(game).__name__
            raise ValueError(f"algorithm is {self}; it cannot play a {kind}, the scenario's game.")
        try:
            parts = self.parts(game)
        except (TypeError, AttributeError) as error:
            arms = f"the scenario's arms, {_arms(game)!r}"
            raise ValueError(f"algorithm is {self}; it cannot play on {arms} ({error}).") from error
        machines = [m for part in parts for m in (part if isinstance(part, list) else [part])]
        chance.refuse_shared(self, self.text, machines)
        before = [{n: compiled.kind(v) for n, v in compiled.fields(m).items()} for m in machines]
        before_play = chance.shared()
        self.replay(game, is_arm, parts)
        if chance.shared() != before_play:
            such = f"random numbers that all of Python shares; {chance.OWN}"
            raise ValueError(f"{self} draws from {such}.")
        for machine, kinds in zip(machines, before, strict=True):
            for name, value in compiled.fields(machine).items():
                if lasting and kinds.get(name) != compiled.kind(value):
                    raise ValueError(
                        f"field {name!r} of {type(machine).__name__} is not of one kind throughout "
                        f"({kinds.get(name)} at first, {compiled.kind(value)} later); "
                        "set it in __init__ with its lasting type and shape."
                    )


def _arms(game):
    """What a machine is built over: the number of arms, or the set X of infinitely many.

    A game that a reader writes needs no more than ``K``, ``rng``, ``on`` and ``play``.
    """
    return game.K if hasattr(game, "K") else game.X


def out_of_bounds(error: IndexError) -> str:
    """The sentence about an index outside of its array: method, class, expression and index.

    The innermost method of an object is named, and the helper that it calls, if that has the fault.
    """
    steps = [s for s in _steps(error.__traceback__) if not _is_machinery(s.tb_frame)]
    owners = [s for s in steps if "self" in s.tb_frame.f_locals] or steps[:1]
    asks = dict.fromkeys(map(_asks, owners[-1:] + steps[-1:]))
    return f"{', where '.join(asks)}, but {error}."


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    while step:
        yield step
        step = step.tb_next


def _is_machinery(frame: FrameType) -> bool:
    """Whether a frame is of the engine, of Python or of an installed package."""
    engine = frame.f_globals.get("__package__") == __package__ and "self" in frame.f_locals
    return engine or frame.f_code.co_filename.startswith(chance.LIBRARIES)


def _asks(step: TracebackType) -> str:
    """What a frame asks for: ``feedback of Buffer asks for self.slots[self.t]``."""
    frame, code = step.tb_frame, step.tb_frame.f_code
    line, _, start, end = list(code.co_positions())[step.tb_lasti // 2]
    expression = linecache.getline(code.co_filename, line)[start:end]
    owner = f" of {type(frame.f_locals['self']).__name__}" if "self" in frame.f_locals else ""
    return f"{code.co_name}{owner} asks for {expression}"


class Guard:
    """A machine whose arms and alternation of advance and feedback are checked.

    A text may also read and set the machine's own fields.
    """

    def __init__(self, machine, is_arm: Callable):
        vars(self).update(_machine=machine, _is_arm=is_arm, _waiting=False)

    def __getattr__(self, name):
        return getattr(self._machine, name)

    def __setattr__(self, name, value):
        setattr(self._machine, name, value)

    def reset(self):
        """Pass on."""
        vars(self)["_waiting"] = False
        self._machine.reset()

    def advance(self):
        """Pass on; refuse a second advance without feedback, and an arm outside the set."""
        name = type(self._machine).__name__
        if self._waiting:
            raise ValueError(f"advance of {name} was called twice without feedback in between.")
        x = self._machine.advance()
        if not self._is_arm(x):
            arm = checks.shown(x)
            raise ValueError(f"advance of {name} returned {arm}, which is not an arm of the game.")
        vars(self)["_waiting"] = True
        return x

    def feedback(self, u):
        """Pass on; refuse feedback without advance, and a reward outside [0, 1]."""
        name = type(self._machine).__name__
        if not self._waiting:
            raise ValueError(f"feedback of {name} was called without advance before it.")
        if not 0 <= u <= 1:
            raise ValueError(f"feedback of {name} was given {u!r}; a reward lies in [0, 1].")
        vars(self)["_waiting"] = False
        self._machine.feedback(u)


def _guarded(part, is_arm: Callable):
    if isinstance(part, list):
        return [_guarded(item, is_arm) for item in part]
    return Guard(part, is_arm) if hasattr(part, "advance") else part


def check_machine(machine: Callable, parameters: dict) -> None:
    """Refuses what cannot be called as ``machine(K, rng, **parameters)``."""
    if isinstance(machine, str):
        checks.refuse("machine", machine, "a class such as UCB, without quotation marks")
    if not callable(machine):
        kind = type(machine).__name__
        raise ValueError(f"machine is a {kind}, made already; give the class {kind} itself.")
    try:
        inspect.signature(machine).bind(None, None, **parameters)
    except (TypeError, ValueError) as error:  # the latter of a built-in type
        call = f"{called(machine)}({', '.join(['K', 'rng', *parameters])})"
        raise ValueError(f"machine cannot be made by {call}: {error}.") from None


def defaults(machine: Callable | None) -> dict:
    """The default parameters of a machine, those after K and rng."""
    settings = list(inspect.signature(machine).parameters.items())[2:] if machine else []
    return {name: p.default for name, p in settings if p.default is not p.empty}


def called(f: Callable, otherwise: str | None = None) -> str:
    """The name of a function or class, also where functools.partial holds it."""
    return getattr(f.func if isinstance(f, partial) else f, "__name__", otherwise or str(f))


def _titled(machine: Callable) -> str:
    """A machine's name with the settings that functools.partial gives it: ``UCB(alpha=1)``."""
    settings = ", ".join(_settings(machine))
    return f"{called(machine)}({settings})" if settings else called(machine)


def _settings(machine: Callable, **parameters) -> list[str]:
    """The settings of a machine as in a name: those that functools.partial holds, and its own."""
    held = machine.keywords if isinstance(machine, partial) else {}
    return [f"{name}={number(value)}" for name, value in {**held, **parameters}.items()]


def number(value: Any) -> str:
    """A parameter in a name: all digits of a float that matter, 3 for 3.0."""
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def label(
    reduction: str, machine: Callable, parameters: dict, right: Callable | None = None
) -> str:
    """The name of a reduction over machines, such as ``Sparring(UCB, alpha=3)``."""
    machines = [called(machine), *([] if right is None else [_titled(right)])]
    return f"{reduction}({', '.join(machines + _settings(machine, **parameters))})"


def mab(S, bandit):
    """How a machine plays a cardinal bandit (Section 2): advance, pull, feedback."""
    S.reset()
    while bandit.on():
        x = S.advance()
        u = bandit.pull(x)
        S.feedback(u)


class Single(Algorithm):
    """One machine on a cardinal bandit, the game that the reductions reduce to.

    >>> simulate(Cardinal([0.8, 0.5], "two"), Single(UCB, alpha=1), T=99, runs=5, compiled=False)
    Single(UCB, alpha=1) on two: 5 runs, T = 99, regret 9.06 ± 1.3, ...
    """

    text = staticmethod(mab)
    needs = "pull"

    def __init__(self, machine: Callable, **parameters):
        super().__init__(label("Single", machine, parameters), machine, parameters)

    def parts(self, game) -> tuple:
        """The machine."""
        return (self.new_machine(game),)


class Own(Algorithm):
    """What :meth:`Algorithm.of` makes: a text with machines, each with its class's defaults."""

    def __init__(self, text: Callable, machines: tuple, name: str | None = None):
        if not isinstance(text, FunctionType):
            checks.refuse("text", text, "a plain function, text(*machines, game)")
        title, names = text.__name__, [_titled(machine) for machine in machines]
        for machine in machines:
            check_machine(machine, {})
        try:
            inspect.signature(text).bind(*machines, None)
        except TypeError:
            call, such = ", ".join([*names, "game"]), f"Algorithm.of({title}, UCB) adds a machine"
            raise ValueError(
                f"algorithm is {title}; it cannot be called as {title}({call}); {such}."
            ) from None
        super().__init__(name or (f"{title}({', '.join(names)})" if names else title))
        self.text, self.machines = text, machines

    def settings(self) -> dict:
        """The defaults of the machines."""
        return {"machines": [defaults(machine) for machine in self.machines]}

    def parts(self, game) -> tuple:
        """One machine of each class."""
        return tuple(self.new_machine(game, machine) for machine in self.machines)


def uniform(c, game):
    """Uniformly random pairs: the yardstick."""
    while game.on():
        game.play(int(c.rng.random() * game.K), int(c.rng.random() * game.K))


class Constants:
    """The named constants of an algorithm, and the run's generator."""

    def __init__(self, rng: np.random.Generator, **values):
        self.rng = rng
        vars(self).update(values)


class Uniform(Algorithm):
    """Both arms uniformly at random in every round.

    >>> simulate("YJ", Uniform(), T=99, runs=5, compiled=False)
    Uniform on YJ: 5 runs, T = 99, regret 6.07 ± 0.11, ...
    """

    text = staticmethod(uniform)

    def __init__(self):
        super().__init__("Uniform")

    def parts(self, game) -> tuple:
        """The run's generator; the arms must be numbered."""
        index(_arms(game))
        return (Constants(game.rng),)
