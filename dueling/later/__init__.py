"""What the paper does not have: more machines, Champion on two sides, later papers' algorithms.

Machines are KL-UCB, MOSS and a Tsallis-INF of small variance (``machines``), two that sweep their
arms (``sweeps``) and one that draws them (``draws``). ``sides`` and ``battle`` are Champion's own:
for sides that value the arms differently, and for displays of several arms. The other modules have
the algorithms on pairs of papers since 2014.

The papers of the algorithms on pairs were not at hand when they were written. Every constant stands
with the public program that attributes it to its paper, and every choice that such programs make in
different ways with the one that was taken.
"""

from .machines import KLUCB, MOSS, ReducedTsallis
from .relative import RMED1, RUCB
from .sides import TwoSidedChampion
from .sweeps import ExploreThenCommit, SuccessiveElimination
from .thompson import DoubleThompson, SelfSparring
from .versatile import VersatileDB
from .winner import WinnerStays

__all__ = [
    "KLUCB",
    "MOSS",
    "RMED1",
    "RUCB",
    "DoubleThompson",
    "ExploreThenCommit",
    "ReducedTsallis",
    "SelfSparring",
    "SuccessiveElimination",
    "TwoSidedChampion",
    "VersatileDB",
    "WinnerStays",
]
