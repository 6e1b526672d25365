"""Versatile-DB: Sparring, of two copies of Tsallis-INF."""

from ..engine import checks
from ..engine.algorithm import Algorithm
from ..machines import TsallisINF
from ..reductions import sparring
from .machines import ReducedTsallis

#: The two estimators of Tsallis-INF; its learning rates go with them.
ESTIMATORS = {"reduced": ReducedTsallis, "weighted": TsallisINF}


class VersatileDB(Algorithm):
    """Versatile-DB (Saha and Gaillard, ICML 2022): its text is that of Sparring.

    S. Huan's ``dueling-bandit``, which refers to Algorithm 3 of the paper, takes the estimator of
    reduced variance by default (but adds the base line to the drawn arm only, which is not Zimmert
    and Seldin's estimator). With ``estimator="weighted"`` it is ``Sparring(TsallisINF)``.

    >>> simulate("YJ", VersatileDB(), T=99, runs=5, compiled=False)
    VersatileDB on YJ: 5 runs, T = 99, regret 5.5 ± 0.26, ...
    """

    text = staticmethod(sparring)

    def __init__(self, estimator: str = "reduced"):
        machine = ESTIMATORS[checks.one_of("estimator", estimator, ESTIMATORS)]
        name = "VersatileDB" if estimator == "reduced" else f"VersatileDB({estimator})"
        super().__init__(name, machine)

    def settings(self) -> dict:
        """Its machine, which says both the estimator and the rates."""
        return {"machine": self.machine.__name__}

    def parts(self, game) -> tuple:
        """The left and the right machine."""
        return self.new_machine(game), self.new_machine(game)
