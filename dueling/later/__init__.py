"""Algorithms, machines and games of later papers, each in one text.

The papers of the algorithms on pairs were not at hand when they were written. Every constant stands
with the public program that attributes it to its paper, and every choice that such programs make in
different ways with the one that was taken.
"""

from .machines import MOSS, ReducedTsallis
from .relative import RMED1, RUCB
from .thompson import DoubleThompson, SelfSparring
from .versatile import VersatileDB
from .winner import WinnerStays

__all__ = [
    "MOSS",
    "RMED1",
    "RUCB",
    "DoubleThompson",
    "ReducedTsallis",
    "SelfSparring",
    "VersatileDB",
    "WinnerStays",
]
