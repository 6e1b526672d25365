"""Structured and infinite arm sets (Sections 2.1 and 3): linear utilities and ConfidenceBall."""

from .balls import OFUL, ConfidenceBall1, ConfidenceBall2
from .doubler import LinearDoubler, Watched
from .games import LinearCardinal, LinearUtilities
from .sets import Arms, Ball, Box, Ellipsoid, Inequalities, Points, Polytope, Simplex, spanner

__all__ = [
    "OFUL",
    "Arms",
    "Ball",
    "Box",
    "ConfidenceBall1",
    "ConfidenceBall2",
    "Ellipsoid",
    "Inequalities",
    "LinearCardinal",
    "LinearDoubler",
    "LinearUtilities",
    "Points",
    "Polytope",
    "Simplex",
    "Watched",
    "spanner",
]
