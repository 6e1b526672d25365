"""Reducing Dueling Bandits to Cardinal Bandits (Ailon, Karnin and Joachims, ICML 2014), as code."""

from importlib.metadata import version

from .baselines import BTMB, IF
from .engine.algorithm import Algorithm, Single, Uniform
from .engine.comparison import Comparison, compare
from .engine.compiled import compilable
from .engine.protocol import Scenario
from .engine.results import Result
from .engine.simulation import simulate
from .game import Bandit, Game
from .later import KLUCB, ExploreThenCommit, SuccessiveElimination, TwoSidedChampion
from .links import bernoulli, beta, deterministic, linear, logit, natural
from .machines import UCB, Exp3, Thompson, TsallisINF
from .reductions import Champion, Doubler, MultiSBM, Sparring
from .scenarios import Cardinal, Preferences, Utilities
from .section7 import ALGORITHMS, scenario, yj

__version__ = version("dueling")
__all__ = [
    "ALGORITHMS",
    "BTMB",
    "IF",
    "KLUCB",
    "UCB",
    "Algorithm",
    "Bandit",
    "Cardinal",
    "Champion",
    "Comparison",
    "Doubler",
    "Exp3",
    "ExploreThenCommit",
    "Game",
    "MultiSBM",
    "Preferences",
    "Result",
    "Scenario",
    "Single",
    "Sparring",
    "SuccessiveElimination",
    "Thompson",
    "TsallisINF",
    "TwoSidedChampion",
    "Uniform",
    "Utilities",
    "bernoulli",
    "beta",
    "compare",
    "compilable",
    "deterministic",
    "linear",
    "logit",
    "natural",
    "scenario",
    "simulate",
    "yj",
]
