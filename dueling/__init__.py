"""Reducing Dueling Bandits to Cardinal Bandits (Ailon, Karnin and Joachims, ICML 2014), as code."""

from .algorithm import Algorithm, Single, Uniform
from .baselines import BTMB, IF
from .compiled import compilable
from .game import Bandit, Game
from .links import bernoulli, beta, deterministic, linear, logit, natural
from .machines import (
    UCB,
    Exp3,
    ExploreThenCommit,
    SuccessiveElimination,
    Thompson,
    TsallisINF,
)
from .reductions import Doubler, MultiSBM, Sparring
from .results import Result
from .scenarios import Cardinal, Preferences, Utilities, scenario, yj
from .simulate import ALGORITHMS, simulate

__version__ = "0.1.0"
__all__ = [
    "ALGORITHMS",
    "BTMB",
    "IF",
    "UCB",
    "Algorithm",
    "Bandit",
    "Cardinal",
    "Doubler",
    "Exp3",
    "ExploreThenCommit",
    "Game",
    "MultiSBM",
    "Preferences",
    "Result",
    "Single",
    "Sparring",
    "SuccessiveElimination",
    "Thompson",
    "TsallisINF",
    "Uniform",
    "Utilities",
    "bernoulli",
    "beta",
    "compilable",
    "deterministic",
    "linear",
    "logit",
    "natural",
    "scenario",
    "simulate",
    "yj",
]
