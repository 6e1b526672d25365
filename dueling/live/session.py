"""A session with a live judge: ``ask`` gives the next duel, ``tell`` takes the vote."""

import os
import threading
import weakref
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..engine import checks
from ..engine.algorithm import Algorithm
from ..engine.votes import TIES
from ..game import Game
from ..scenarios import MOST_ARMS
from . import log as logs
from .evidence import interval, log_evidence
from .turns import Turns


class Duel(NamedTuple):
    """What to show a judge, in this order; ``number`` tells the vote's duel.

    >>> Duel(7, "tea", "milk").same
    False
    """

    number: int
    first: str
    second: str

    @property
    def same(self) -> bool:
        """Whether an arm meets itself: show it alone, and tell None."""
        return self.first == self.second


class Known(NamedTuple):
    """What a session knows by now; each statement holds at all times with chance 1 - delta.

    ``low`` and ``high`` hold the chance that i beats j, for all pairs together. ``winner`` is named
    once the evidence against every rival is at least K/delta. Regret is the preference regret of
    the duels that were shown, if the leader is best: estimated, and at most.
    """

    rounds: int
    votes: int
    ties: int
    leader: str
    winner: str | None
    low: np.ndarray
    high: np.ndarray
    regret: float
    regret_most: float
    first: float
    order_evidence: float

    def __str__(self) -> str:
        named = "is the winner" if self.winner else "leads, and is not yet the winner"
        cost = f"regret about {self.regret:.3g}, at most {self.regret_most:.3g}"
        return f"{self.leader} {named}: {self.rounds} rounds, {self.votes} votes, {cost}"


class Shown:
    """A duel that is out: what the text calls it, and what was told."""

    def __init__(self, duel: Duel, pair: tuple[int, int]):
        self.duel, self.pair = duel, pair
        self.told, self.winner = False, None


class Live:
    """An algorithm that meets live judges: the text of :meth:`Algorithm.play` itself, waiting.

    Args:
        algorithm: such as ``Champion(UCB, alpha=3)``.
        arms: their names.
        seed: of the text's generator and of the orders of presentation.
        T: how many rounds there will be, None for no end.
        most: how many duels of a pair may be out at once. The text is told the votes on a pair in
            the order in which they were asked for, each once: its law is that of one at a time.
        log: a new file that takes every event before it happens. ``load`` goes on from it.

    Each duel is shown in a random order, so the chance that y is chosen against x is the mean over
    both orders, whatever the position is worth. A tie is half a vote for each; the text, which
    knows wins alone, is told a fair coin.

    >>> live = Live(Champion(UCB, alpha=3), ["tea", "milk", "coffee"], seed=1)
    >>> duel = live.ask()
    >>> duel
    Duel(number=0, first='milk', second='tea')
    >>> live.tell(duel, "tea")
    >>> live.tell(duel, "milk")
    Traceback (most recent call last):
    ValueError: duel is Duel(number=0, first='milk', second='tea'); it is not open, ...
    """

    def __init__(
        self,
        algorithm: Algorithm,
        arms: Iterable[str],
        seed: int = 2014,
        T: int | None = None,
        most: int = 1,
        log: str | os.PathLike | None = None,
    ):
        self.algorithm = _algorithm(algorithm)
        self.arms = _names(arms)
        self.seed, self.most = checks.whole("seed", seed, 0, np.inf), checks.whole("most", most)
        self.T = None if T is None else checks.whole("T", T)
        self._clear()
        path = None if log is None else logs.path("log", log)
        if path is not None and path.exists():
            checks.refuse("log", log, "a new file; Live.load goes on from an old one")
        _rehearse(self.algorithm, len(self.arms))
        self._turns = Turns(algorithm, len(self.arms), self.T, np.random.default_rng(self.seed))
        weakref.finalize(self, self._turns.stop)
        settings = {"arms": self.arms, "seed": self.seed, "T": self.T, "most": self.most}
        self.events = [logs.head(self.algorithm, **settings)]
        if path is not None:
            self.save(path)

    def _clear(self) -> None:
        K = len(self.arms)
        self._log, self._lock, self._process = None, threading.RLock(), os.getpid()
        self._torn = False  # whether an interruption came within a step
        orders = np.random.SeedSequence(self.seed, spawn_key=(1,))
        self._orders = np.random.default_rng(orders)
        self._swapped = bool(self._orders.integers(2))  # whether the next duel is shown as (y, x)
        self._open: dict[int, Shown] = {}
        self._out: dict[tuple, deque] = defaultdict(deque)  # of each pair, in the order asked for
        self._wins, self._shown, self._asked = np.zeros((K, K)), np.zeros((K, K), int), 0
        self._chosen = Counter()  # first, second, tie: of the votes that the text was told

    # The three operations

    def on(self) -> bool:
        """Whether the text asks for another duel."""
        with self._here():
            return self._turns.duel is not None

    def ready(self) -> bool:
        """Whether ``ask`` has a duel to give: a round is left, and not too many are out."""
        with self._here():
            return self.on() and len(self._out[self._turns.duel[:2]]) < self.most

    @property
    def rounds(self) -> int:
        """How many rounds the text has played."""
        return self._turns.t

    @property
    def open(self) -> list[Duel]:
        """The duels that are out, without a vote."""
        with self._lock:
            return [shown.duel for shown in self._open.values()]

    def ask(self) -> Duel:
        """The next duel to show."""
        with self._step():
            if not self.on():
                raise ValueError(f"ask comes after the last round; T is {self.T}.")
            x, y, _ = self._turns.duel
            if not self.ready():
                rule = f"most is {self.most}; tell or drop one of {self.open}"
                raise ValueError(f"ask comes too early, {rule}.")
            pair = (self.arms[y], self.arms[x]) if self._swapped else (self.arms[x], self.arms[y])
            duel = Duel(self._asked, *pair)
            self._note("ask", *duel)
            self._swapped = bool(self._orders.integers(2))
            shown = self._open[duel.number] = Shown(duel, (x, y))
            self._out[x, y].append(shown)
            self._shown[x, y] += 1
            self._asked += 1
            return duel

    def tell(self, duel: Duel | int, winner: str | None = None) -> None:
        """Take the vote on an open duel: the winner's name, or None for a tie."""
        with self._step():
            shown = self._opened(duel)
            if not isinstance(winner, str | None) or winner not in (*shown.duel[1:], *TIES):
                allowed = f"{shown.duel.first!r}, {shown.duel.second!r} or None for a tie"
                checks.refuse("winner", winner, allowed)
            self._note("tell", shown.duel.number, None if winner in TIES else winner)
            del self._open[shown.duel.number]
            shown.told, shown.winner = True, None if winner in TIES else winner
            self._feed()

    def drop(self, duel: Duel | int) -> None:
        """Give up an open duel: its judge does not answer. A vote that comes later is refused."""
        with self._step():
            shown = self._opened(duel)
            self._note("drop", shown.duel.number)
            del self._open[shown.duel.number]
            self._out[shown.pair].remove(shown)
            self._feed()

    def _here(self) -> threading.RLock:
        """The lock, in the process that made the session: its text waits nowhere else."""
        if os.getpid() != self._process:
            checks.refuse("process", os.getpid(), f"{self._process}, or load the log in this one")
        if self._torn:
            way = "load its log, or save it first"
            raise ValueError(f"session was interrupted within a step; {way}.")
        return self._lock

    @contextmanager
    def _step(self) -> Iterator[None]:
        """A change. Who interrupts it, with Ctrl-C, leaves the log whole and the session torn."""
        with self._here():
            self._here()  # asked again: another thread may have been interrupted meanwhile
            try:
                yield
            except Exception:  # a refusal, or a mistake of the text
                raise
            except BaseException:
                self._torn = True
                raise

    def __reduce__(self):
        raise TypeError("a live session cannot be copied or pickled; save it, and load the log.")

    def _opened(self, duel: Any) -> Shown:
        number = duel.number if isinstance(duel, Duel) else duel
        shown = self._open.get(number) if checks.is_whole(number) else None
        if shown is None or (isinstance(duel, Duel) and duel != shown.duel):
            why = "it is not open, being told, dropped or never asked for"
            raise ValueError(f"duel is {checks.shown(duel)}; {why}.")
        return shown

    def _feed(self) -> None:
        """Hand the text the votes that it waits for, as far as they have come."""
        while self.on():
            x, y, coin = self._turns.duel
            out = self._out[x, y]
            if not (out and out[0].told):
                return
            self._turns.answer(self._count(out.popleft(), coin))

    def _count(self, shown: Shown, coin: float) -> int:
        """Count a vote: what the text is told, 1 if the right arm won; a coin says it of a tie."""
        (x, y), winner = shown.pair, shown.winner
        if shown.duel.same:
            return int(coin < 0.5)
        if winner is None:
            self._chosen["tie"] += 1
            self._wins[x, y] += 0.5
            self._wins[y, x] += 0.5
            return int(coin < 0.5)
        b = int(winner == self.arms[y])
        self._chosen["first" if winner == shown.duel.first else "second"] += 1
        self._wins[(y, x) if b else (x, y)] += 1
        return b

    # What is known

    def known(self, delta: float = 0.05) -> Known:
        """What is known by now, each statement true at all times with chance 1 - delta."""
        delta = checks.real("delta", delta, "a number in (0, 1)", lambda d: 0 < d < 1)
        with self._lock:
            return self._known(delta)

    def evidence(self) -> np.ndarray:
        """The logarithm of the evidence that i beats j, at [i, j]; infinite on the diagonal."""
        with self._lock:
            W = self._wins.copy()
        return log_evidence(W, W + W.T) + np.diag(np.full(len(W), np.inf))

    def _known(self, delta: float) -> Known:
        K, W, chosen = len(self.arms), self._wins, self._chosen
        least = self.evidence().min(axis=1)
        leader = int(np.lexsort((W.sum(axis=1), least))[-1])
        low, high = _intervals(W, delta / (K * (K - 1) / 2))
        duels = W + W.T
        share = np.divide(W[leader], duels[leader], out=np.full(K, 0.5), where=duels[leader] > 0)
        cost = self._shown.sum(axis=0) + self._shown.sum(axis=1)
        first, second = chosen["first"], chosen["second"]
        return Known(
            rounds=self.rounds,
            votes=chosen.total(),
            ties=chosen["tie"],
            leader=self.arms[leader],
            winner=self.arms[leader] if least[leader] >= np.log(K / delta) else None,
            low=low,
            high=high,
            regret=max(0.0, float(cost @ (share - 0.5) / 2)),
            regret_most=float(cost @ (high[leader] - 0.5) / 2),
            first=first / max(first + second, 1),
            order_evidence=_two_sided(first, second),
        )

    # Saving and loading

    def save(self, path: str | os.PathLike) -> None:
        """Write the log so far to this file, which takes every later event as well."""
        whole = logs.path("path", path)
        with self._lock:
            self._log = logs.write(whole, self.events)

    @staticmethod
    def load(path: str | os.PathLike, algorithm: Algorithm) -> "Live":
        """The session of this log, as it was; it goes on writing there.

        The log is played again. It must be one of this algorithm, and each of its duels the one
        that the text asks for.
        """
        path = logs.path("path", path)
        head, events, size = logs.read(path)
        same = logs.head(_algorithm(algorithm))
        for name in ("algorithm", "parameters"):
            if head.get(name) != same[name]:
                rule = f"{name} of {algorithm} is {checks.shown(same[name])}"
                raise ValueError(f"{name} of {path} is {checks.shown(head.get(name))}; {rule}.")
        live = Live(algorithm, *(head.get(name) for name in ("arms", "seed", "T", "most")))
        for r, event in enumerate(events, 2):
            try:
                live._again(*event)
            except TypeError:
                rule = "it must be an event, such as ['drop', 7]"
                raise ValueError(f"line {r} of {path} is {checks.shown(event)}; {rule}.") from None
            except ValueError as error:
                raise ValueError(f"line {r} of {path} cannot be played again: {error}") from None
        live._log = logs.resume(path, size)
        return live

    def _again(self, kind: str, number: int, *rest) -> None:
        if checks.one_of("event", kind, ("ask", "tell", "drop")) == "ask":
            duel, logged = self.ask(), Duel(number, *rest)
            if duel != logged:
                raise ValueError(f"duel is {logged}; {self.algorithm} asks for {duel}.")
        else:
            getattr(self, kind)(number, *rest)

    def _note(self, *event) -> None:
        if self._log is not None:
            self._log.append(event)
        self.events.append(list(event))


def _algorithm(value: Any) -> Algorithm:
    checks.instance(Algorithm, "an algorithm, such as Champion(UCB)", "algorithm", value)
    if value.needs != "play":
        checks.refuse("algorithm", value, "one that plays duels")
    return value


def _names(arms: Iterable[str]) -> tuple[str, ...]:
    words = tuple(arms) if np.iterable(arms) and not isinstance(arms, str) else ()
    if not 2 <= len(words) <= MOST_ARMS or not all(isinstance(word, str) for word in words):
        checks.refuse("arms", arms, f"two or more names, at most {MOST_ARMS}")
    if set(words) & set(filter(None, TIES)):
        checks.refuse("arms", arms, f"names other than {TIES[1]!r}, which is a vote")
    return checks.names("arms", words, len(words))


def _rehearse(algorithm: Algorithm, K: int) -> None:
    """Play a few rounds on fair coins with guarded machines: mistakes show early."""
    game = Game(np.full((K, K), 0.5), 40, np.array([40]), np.random.default_rng(0))
    algorithm.rehearse(game, lambda x: checks.is_whole(x) and 0 <= x < K, lasting=False)


def _intervals(W: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Of each pair, the ends of the interval of the chance that i beats j; 1/2 on the diagonal."""
    ends = np.array([np.eye(len(W)) / 2, 1 - np.eye(len(W)) / 2])  # 0 and 1 without a duel
    for i, j in np.argwhere(W + W.T):
        ends[:, i, j] = interval(W[i, j], W[i, j] + W[j, i], delta)
    return ends[0], ends[1]


def _two_sided(first: int, second: int) -> float:
    """The evidence that the order matters: the mean of those for each side."""
    sides, duels = np.array([first, second]), np.full(2, first + second)
    with np.errstate(over="ignore"):  # infinitely clear
        return float(np.exp(log_evidence(sides, duels)).mean())
