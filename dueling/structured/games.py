r"""Games over a set of arms: utilities :math:`\langle\mu,x\rangle+o`, duels or rewards."""

from math import exp, inf, nan

import numpy as np

from ..engine import checks
from ..engine.protocol import Rounds, Scenario
from .algebra import dot, put
from .sets import TOLERANCE, Arms, Ellipsoid, vector

LINK_NAMES = ("linear", "logit", "natural")


class LinearRounds(Rounds):
    r"""T rounds over the arms of X with utilities <mu, x> + offset, known only to the game.

    ``lost[0]`` and ``lost[1]`` sum the gaps :math:`\Delta_{x_t}` of the left and
    :math:`\Delta_{y_t}` of the right arms, ``lost[2]`` counts the right arms that were not optimal;
    ``kept`` holds them at the checkpoints.
    """

    def __init__(self, X, mu, offset, T, checkpoints, rng):
        self.X, self.mu, self.offset, self.d = X, mu.copy(), offset, X.d
        self.top = float(X.best(mu) @ mu + offset)
        self.worst = self.top - float(X.best(-mu) @ mu + offset) + TOLERANCE
        self.lost = np.zeros(3)
        super().__init__(T, checkpoints, rng, self.lost)

    def utility(self, x):
        """<mu, x> + offset; not a number where x has not d coordinates."""
        return self.offset + dot(self.mu, x) if len(x) == self.d else nan

    def record(self):
        """Keep what is lost so far."""
        put(self.lost, self.kept[self.passed])

    def lose(self, u, v):
        """Count the round of a left arm of utility u and a right arm of utility v."""
        left, right = self.top - u, self.top - v
        inside = -TOLERANCE <= left <= self.worst and -TOLERANCE <= right <= self.worst
        if not (inside and self.t < self.T):
            raise ValueError("the game was given an arm outside its set, or no round was left.")
        self.lost[0] += left
        self.lost[1] += right
        self.lost[2] += right > TOLERANCE
        self.end_round()


class LinearGame(LinearRounds):
    """A dueling game over the arms of X; ``link`` is a place in :data:`LINK_NAMES`."""

    def __init__(self, X, mu, offset, link, T, checkpoints, rng):
        super().__init__(X, mu, offset, T, checkpoints, rng)
        self.link = link

    def play(self, x, y):
        """The choice b_t between the left arm x and the right arm y: 1 means y."""
        u, v = self.utility(x), self.utility(y)
        self.lose(u, v)
        if self.link == 0:
            p = (1 + v - u) / 2
        elif self.link == 1:
            p = 1 / (1 + exp(u - v))
        else:
            p = v / (u + v)
        return int(self.rng.random() < p)


class LinearBandit(LinearRounds):
    r"""A cardinal bandit over the arms of X: Bernoulli rewards of mean <mu, x> + offset.

    ``escaped`` is 1 once :func:`watched` has seen :math:`\theta=(\mu,o)` outside a machine's
    confidence set.
    """

    def __init__(self, X, mu, offset, T, checkpoints, rng):
        super().__init__(X, mu, offset, T, checkpoints, rng)
        self.theta, self.escaped = np.append(mu, offset), 0

    def pull(self, x):
        """The reward u_t of the arm x."""
        value = self.utility(x)
        self.lose(self.top, value)
        return int(self.rng.random() < value)


class LinearUtilities(Scenario):
    r"""The utility-based dueling game with :math:`\mu(x)=\langle\mu,x\rangle+o` over a set of arms.

    Utilities must lie in [0, 1] on all of X. ``link`` is ``linear`` (the paper's theorems),
    ``logit`` or ``natural``; utilities are deterministic given the arm. Runs differ by their random
    numbers only: there is no order of arms to permute.

    >>> LinearUtilities(Box([0, 0], [1, 1]), [0.3, 0.2], 0.5, name="box").top
    1.0
    """

    regrets: tuple[str, ...] = ("average",)
    kind = "linear/{link}"

    def __init__(self, X: Arms, mu, offset: float = 0.0, link: str = "linear", name=None):
        if not isinstance(X, Arms):
            raise ValueError(f"X is {X!r}; it must be a set of arms, such as Ball(2).")
        self.X, self.mu = X, vector("mu", mu, X.d)
        self.offset = checks.real("offset", offset, "a finite number", lambda o: True)
        self.link = LINK_NAMES.index(checks.one_of("link", link, LINK_NAMES))
        self.top = self.utility(X.best(self.mu))
        self.bottom = self.utility(X.best(-self.mu))
        if self.bottom < -TOLERANCE or self.top > 1 + TOLERANCE:
            raise ValueError(
                f"utilities <mu, x> + offset run from {self.bottom:.6g} to {self.top:.6g} on "
                f"{X!r}; they must lie in [0, 1]."
            )
        if link == "natural" and self.bottom <= 0:
            raise ValueError("natural link reads 0/0 where both utilities are 0; raise the offset.")
        scratch = [np.zeros(X.d)] if isinstance(X, Ellipsoid) else []  # as version 0.2 hashed it
        numbers = (*vars(X).values(), *scratch, X.convex, self.mu, self.offset, self.link)
        kind = f"{self.kind.format(link=link)}/{X!r}"
        super().__init__(name, kind, *(np.asarray(v, float) for v in numbers))

    def utility(self, x) -> float:
        """<mu, x> + offset."""
        return float(np.dot(self.mu, x) + self.offset)

    @property
    def gap(self) -> float:
        """Delta of the Delta-gap case, by which the best vertex is better than the second; else 0.

        A single vertex has no second, and the gap is infinite.
        """
        vertices = self.X.vertices()
        if vertices is None:
            return 0.0
        values = np.sort(vertices @ self.mu)
        return float(values[-1] - values[-2]) if len(values) > 1 else inf

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True):
        """A game of T rounds on the run's generator; there is no permutation."""
        return LinearGame(self.X, self.mu, self.offset, self.link, T, checkpoints, rng)

    def measure(self, game: LinearGame, regret: str | None = None) -> dict:
        """Regret at the checkpoints, its left and right shares, and the right's worse arms."""
        self.regret(regret)
        left, right = game.kept[:, 0] / 2, game.kept[:, 1] / 2
        worse = game.kept[:, 2].astype(int)
        return {"regret": left + right, "left": left, "right": right, "worse": worse}

    def facts(self) -> dict:
        """The arms, the utilities and the name of the link."""
        arms = {name: value for name, value in vars(self.X).items() if not name.startswith("_")}
        names = {"arms": repr(self.X), "link": LINK_NAMES[self.link]}
        return {**arms, **names, "mu": self.mu, "offset": self.offset}

    def is_arm(self, x) -> bool:
        """Whether x is an arm of the game."""
        return isinstance(x, np.ndarray) and self.X.contains(x)

    def inside(self, m: float | None = None) -> "LinearCardinal":
        """The bandit that Doubler's machine meets in an epoch: means (1 + mu(y) - m) / 2.

        m is the mean utility of the left player, by default that of the best arm.
        """
        m = self.top if m is None else checks.real("m", m, "a finite number", lambda m: True)
        name = f"inside {self.name} at {m:.6g}"
        return LinearCardinal(self.X, self.mu / 2, (1 + self.offset - m) / 2, name)


class LinearCardinal(LinearUtilities):
    """A cardinal bandit with Bernoulli(<mu, x> + offset) rewards over a set of arms.

    >>> LinearCardinal(Simplex(3), [0.8, 0.5, 0.2], name="mixtures").gap
    0.30000000000000004
    """

    regrets = ("cardinal",)
    kind = "cardinal"

    def __init__(self, X: Arms, mu, offset: float = 0.0, name=None):
        super().__init__(X, mu, offset, name=name)

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True):
        """A game of T rounds on the run's generator; there is no permutation."""
        return LinearBandit(self.X, self.mu, self.offset, T, checkpoints, rng)

    def measure(self, game: LinearBandit, regret: str | None = None) -> dict:
        """Regret at the checkpoints, and whether a watched confidence set ever missed theta."""
        self.regret(regret)
        return {"regret": game.kept[:, 1].copy(), "escaped": game.escaped}
