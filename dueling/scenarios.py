"""Scenarios: which game is played and what a duel costs; how a reader states their own."""

from collections.abc import Callable, Iterator

import numpy as np

from . import links
from .engine import checks, votes
from .engine.algorithm import called
from .engine.protocol import Scenario
from .engine.value import fixed
from .game import Bandit, Game
from .theory.preferences import borda, condorcet, copeland, fair

MOST_ARMS = 1000
"""Of a dueling game: each of its runs keeps some K x K tables."""


class Preferences(Scenario):
    """A dueling game given by P[x, y] = Pr[b = 1 | x, y], the chance that the right arm y wins.

    The best arm is the Condorcet winner, and regret is the one of Section 7 (YJ):
    (eps[x*, x] + eps[x*, y]) / 2, eps[x*, x] = (P[x, x*] - P[x*, x]) / 2. A table of position bias,
    P + P^T != 1, must be asked for with ``biased=True``. A table without a Condorcet winner has no
    such regret. ``copeland`` and ``borda`` are the best score less the mean score of x and y, and
    every table has them; ``none`` counts the plays alone. Without a name, the table's digest is the
    name. ``names`` are those of the arms.

    **Mind the orientation.** Most papers and packages write W[i, j], the chance that i beats j:
    the transpose. Handed over as P, it makes the worst arm the best; :meth:`wins` takes it.

    >>> Preferences.wins([[0, 8], [2, 0]], ["tea", "milk"], name="drinks")  # tea won 8 of 10
    Preferences(drinks: 2 arms, best tea)
    """

    regrets = ("preference", "copeland", "borda")

    names: tuple[str, ...] | None = None

    def __init__(self, P, name: str | None = None, biased: bool = False, names=None):
        antisymmetric = not checks.flag("biased", biased)
        self.P, self._tables = checks.preferences("P", P, antisymmetric), {}
        self.K = _few("P", self.P)
        self.names = None if names is None else checks.names("names", names, self.K)
        super().__init__(name, "preferences", self.P)

    @staticmethod
    def wins(W, names=None, name: str | None = None) -> "Preferences":
        """The game of W[i, j], how often i beat j or the chance of it; unplayed pairs are draws."""
        return Preferences(votes.chances(W), name, names=names)

    @staticmethod
    def from_votes(log, counts=None, name: str | None = None) -> "Preferences":
        """The game of a log of votes, with rows (winner, loser) or (a, b, outcome).

        The outcome is the winner's name, or None for a tie, which counts half a win for each;
        ``counts`` says how often each row occurred, and a warning how many pairs never did.
        """
        W, names = votes.tally(log, counts)
        return Preferences(votes.chances(W), name, names=names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}: {self.K} arms, {self._best()})"

    def _best(self) -> str:
        try:
            return f"best {self.names[self.best] if self.names else self.best}"
        except ValueError:
            return "no Condorcet winner"

    @property
    def best(self) -> int:
        """The Condorcet winner x*: see :func:`dueling.theory.preferences.condorcet`."""
        star = condorcet(self.P)
        if star is None:
            raise ValueError(
                f"{self.name} has no Condorcet winner: preference regret needs one; "
                "'copeland' and 'borda' do not, and regret='none' counts the plays alone."
            )
        return star

    def table(self, regret: str | None = None) -> np.ndarray:
        """The expected regret of one duel (x, y), as a read-only K x K table."""
        regret = self.regret(regret)
        if regret not in self._tables:
            self._tables[regret] = getattr(self, f"_{regret}")()
        return fixed(self._tables[regret])

    def _preference(self) -> np.ndarray:
        D = fair(self.P)[:, self.best] - 0.5
        return (D[:, None] + D[None, :]) / 2

    def _copeland(self) -> np.ndarray:
        return _lost(copeland(self.P))

    def _borda(self) -> np.ndarray:
        return _lost(borda(self.P))

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True) -> Game:
        """A game of T rounds on the run's generator, in an order of the arms drawn from it."""
        p = rng.permutation(self.K) if permute else np.arange(self.K)
        return Game(self.P[p[:, None], p], T, checkpoints, rng, p)

    def measure(self, game: Game, regret: str | None = None) -> dict:
        """Regret at the checkpoints, and plays[b, x, y] at the end, in the scenario's own arms."""
        measured = {"plays": _own(game.plays, game.order)}
        if regret != "none":
            table = self.table(regret)
            blocks = [game.kept] if len(game.kept) else (plays[None] for plays in game.snapshots())
            duels = (_own(plays.sum(axis=1), game.order) for plays in blocks)
            measured["regret"] = np.concatenate([(n * table).sum(axis=(1, 2)) for n in duels])
        return measured

    def history(self, game: Game) -> Iterator[np.ndarray]:
        """plays[b, x, y] at each checkpoint, one after the other, in the scenario's own arms."""
        return (_own(plays, game.order) for plays in game.snapshots())

    def facts(self) -> dict:
        """What decides the duels, and the arms' names, for the record of a result."""
        return {"P": self.P} | ({"names": self.names} if self.names else {})


class Utilities(Preferences):
    r"""The utility-based dueling game (UBDB): expected utilities mu, a link, a utility law.

    Utilities are not observed, so the duel of (x, y) is one coin with
    :math:`P[x, y] = E[\phi(v, u)]`, u and v independent draws of the laws of x and y. Regret:

    * ``average``: :math:`\mu(x^*) - (\mu(x) + \mu(y))/2` (Section 2, the default);
    * ``choice``: :math:`\mu(x^*) - E[u\,\phi(u, v) + v\,\phi(v, u)]` (Section 2);
    * ``preference``: as in Section 7; ``copeland`` and ``borda`` as in any table.

    Without a name, the link and a digest of the numbers are the name.

    >>> Utilities([0.8, 0.3], logit, bernoulli, name="noisy")
    Utilities(noisy: 2 arms, best 0)
    """

    regrets = ("average", "choice", "preference", "copeland", "borda")

    def __init__(self, mu, link: Callable = links.linear, law=links.deterministic, name=None):
        self.mu = checks.utilities("mu", mu)
        self.K = _few("mu", self.mu)
        for what, f, such in (("link", link, "linear"), ("law", law, "bernoulli")):
            checks.instance(Callable, f"a function, such as links.{such}", what, f)
        self.link, self.law = links.on_arrays(link), law
        self.atoms = links.atoms(law, self.mu)
        links.check_link(self.link, np.unique(np.concatenate([values for values, _ in self.atoms])))
        P = np.full((self.K, self.K), 0.5)
        for x in range(self.K - 1):
            P[x, x + 1 :] = self._expect(x, x + 1, lambda u, v: self.link(v, u))
            P[x + 1 :, x] = 1 - P[x, x + 1 :]
        self.called = {"link": called(link, "link"), "law": called(law, "law")}
        self.P, self._tables = np.clip(P, 0, 1), {}
        Scenario.__init__(self, name, f"utilities/{self.called['link']}", self.mu, self.P)

    def facts(self) -> dict:
        """The utilities, the names of link and law, and the table of duels that they give."""
        return {"mu": self.mu, **self.called, **super().facts()}

    def _expect(self, x: int, first: int, f: Callable) -> list[float]:
        """E f(u, v) for the utilities u of arm x and v of each arm from ``first`` on."""
        (u, wu), others = self.atoms[x], self.atoms[first:]
        values = np.concatenate([v for v, _ in others])
        grid = np.broadcast_to(f(u[:, None], values[None, :]), (len(u), len(values)))
        parts = np.split(grid, np.cumsum([len(v) for v, _ in others])[:-1], axis=1)
        return [wu @ np.array(part) @ wv for part, (_, wv) in zip(parts, others, strict=True)]

    @property
    def best(self) -> int:
        """The arm x* of largest expected utility."""
        return int(np.argmax(self.mu))

    @property
    def gaps(self) -> np.ndarray:
        """Delta_x = mu(x*) - mu(x)."""
        return self.mu.max() - self.mu

    def _average(self) -> np.ndarray:
        return (self.gaps[:, None] + self.gaps[None, :]) / 2

    def _choice(self) -> np.ndarray:
        def chosen(u, v):
            return u * self.link(u, v) + v * self.link(v, u)

        return self.mu.max() - np.array([self._expect(x, 0, chosen) for x in range(self.K)])

    def realised(self, game: Game, rng, regret: str | None = None) -> np.ndarray:
        """A draw of the realised regret at the checkpoints, given the plays of a finished game.

        No algorithm sees the utilities, so they may be drawn after the game: given x, y and b,
        the pairs (u, v) of the duels are independent with the law of (u, v) conditional on b.
        """
        regret = checks.one_of("realised regret", regret or "average", ("average", "choice"))
        history = np.array(list(self.history(game)))
        duels = np.diff(history, axis=0, prepend=0)
        cost = np.zeros(len(duels))
        for b, x, y in np.argwhere(history[-1]):
            (u, wu), (v, wv) = self.atoms[x], self.atoms[y]
            u, v = (a.ravel() for a in np.meshgrid(u, v, indexing="ij"))
            chance = np.outer(wu, wv).ravel() * (self.link(v, u) if b else self.link(u, v))
            paid = (v if b else u) if regret == "choice" else (u + v) / 2
            drawn = rng.multinomial(duels[:, b, x, y], chance / chance.sum())
            cost += duels[:, b, x, y] * self.mu.max() - drawn @ paid
        return np.cumsum(cost)


class Cardinal(Scenario):
    """A cardinal bandit with Bernoulli(mu) rewards and pseudo-regret sum of Delta_x.

    >>> Cardinal([0.8, 0.3], name="two")
    Cardinal(two)
    """

    regrets = ("cardinal",)

    def __init__(self, mu, name: str | None = None):
        self.mu = checks.utilities("mu", mu)
        self.K = len(self.mu)
        super().__init__(name, "cardinal", self.mu)

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True) -> Bandit:
        """A game of T rounds on the run's generator, in an order of the arms drawn from it."""
        p = rng.permutation(self.K) if permute else np.arange(self.K)
        return Bandit(self.mu[p], T, checkpoints, rng, p)

    def measure(self, game: Bandit, regret: str | None = None) -> dict:
        """Regret at the checkpoints, and pulls[u, x] at the end, in the scenario's own arms."""
        self.regret(regret)
        p, kept, pulls = game.order, np.empty_like(game.kept), np.empty_like(game.pulls)
        kept[..., p], pulls[:, p] = game.kept, game.pulls
        curve = (kept.sum(axis=1) * (self.mu.max() - self.mu)).sum(axis=1)
        return {"regret": curve, "plays": pulls}

    def facts(self) -> dict:
        """The mean rewards."""
        return {"mu": self.mu}


def _own(plays: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The counts of a game in the scenario's own arms."""
    unordered = np.empty_like(plays)
    unordered[:, order[:, None], order] = plays
    return unordered


def _lost(score: np.ndarray) -> np.ndarray:
    """The best score less the mean score of x and y, for each duel (x, y)."""
    return score.max() - (score[:, None] + score[None, :]) / 2


def _few(name: str, arms: np.ndarray) -> int:
    if len(arms) > MOST_ARMS:
        raise ValueError(f"{name} has {len(arms)} arms; a dueling game has at most {MOST_ARMS}.")
    return len(arms)
