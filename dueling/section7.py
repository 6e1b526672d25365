"""The experiment of Section 7 as data: its games, its algorithms, each under its name."""

import numpy as np

from . import links
from .baselines import BTMB, IF
from .engine import checks
from .engine.algorithm import Algorithm
from .machines import UCB
from .reductions import Champion, Doubler, MultiSBM, Sparring
from .scenarios import Preferences, Utilities

#: The five utility vectors of Section 7, arms A..F.
UTILITIES = {
    "1good": (0.8, 0.2, 0.2, 0.2, 0.2, 0.2),
    "2good": (0.8, 0.7, 0.2, 0.2, 0.2, 0.2),
    "3good": (0.8, 0.7, 0.7, 0.2, 0.2, 0.2),
    "arith": (0.8, 0.7, 0.575, 0.45, 0.325, 0.2),
    "geom": (0.8, 0.7, 0.512, 0.374, 0.274, 0.2),
}
#: The three links of Section 7.
LINKS = {"linear": links.linear, "natural": links.natural, "logit": links.logit}

#: The table epsilon of Section 7 as printed, not antisymmetric at (B, D) and with a 0 at (D, F).
YJ_PRINTED = np.array(
    [
        [0.00, 0.05, 0.05, 0.04, 0.11, 0.11],
        [-0.05, 0.00, 0.05, 0.06, 0.08, 0.10],
        [-0.05, -0.05, 0.00, 0.04, 0.01, 0.06],
        [-0.04, -0.04, -0.04, 0.00, 0.04, 0.00],
        [-0.11, -0.08, -0.01, -0.04, 0.00, 0.01],
        [-0.11, -0.10, -0.06, 0.00, -0.01, 0.00],
    ]
)
#: How the printed table is made antisymmetric, by which eps(B, D) becomes .06, .05 or .04.
YJ_REPAIRS = {
    "upper": lambda e: np.triu(e) - np.triu(e).T,
    "average": lambda e: (e - e.T) / 2,
    "lower": lambda e: np.tril(e) - np.tril(e).T,
}
#: The five algorithms of Section 7 under the defaults of this edition.
ALGORITHMS = {
    "Sparring": Sparring(UCB, alpha=3.0),
    "MultiSBM": MultiSBM(UCB, alpha=3.0),
    "Doubler": Doubler(UCB, alpha=3.0),
    "IF": IF(),
    "BTMB": BTMB(),
}
#: What this edition sets beside them, under the same defaults.
OURS = {"Champion": Champion(UCB, alpha=3.0)}


def yj(repair: str = "upper", name: str = "YJ") -> Preferences:
    """The scenario YJ with its table made antisymmetric by the named repair.

    >>> float(yj("average").P[1, 3]), float(yj("upper").P[1, 3])
    (0.45, 0.44)
    """
    eps = YJ_REPAIRS[checks.one_of("repair", repair, YJ_REPAIRS)](YJ_PRINTED)
    return Preferences(0.5 - eps, name)  # P[x, y]: the right arm y beats x


#: The names of the 16 scenarios of Section 7.
NAMES = (*(f"{u}/{link}" for link in LINKS for u in UTILITIES), "YJ")


def scenario(name: str) -> Preferences:
    """The scenario of this name: one of the 15 ``utilities/link`` pairs, or ``YJ``.

    >>> scenario("arith/linear").mu
    array([0.8  , 0.7  , 0.575, 0.45 , 0.325, 0.2  ])
    """
    checks.one_of("scenario", name, NAMES)
    if name == "YJ":
        return yj()
    utilities, link = name.split("/")
    return Utilities(UTILITIES[utilities], LINKS[link], name=name)


def algorithm(name: str) -> Algorithm:
    """The algorithm of this name, one of :data:`ALGORITHMS` or :data:`OURS`.

    >>> algorithm("Sparring"), list(ALGORITHMS), list(OURS)
    (Sparring(UCB, alpha=3), ['Sparring', 'MultiSBM', 'Doubler', 'IF', 'BTMB'], ['Champion'])
    """
    named = ALGORITHMS | OURS
    return named[checks.one_of("algorithm", name, named)]
