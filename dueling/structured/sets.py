r"""Sets of arms in R^d, each with the one operation that an algorithm asks of it.

``argmax(c, x)``: x becomes an arm that maximises :math:`\langle c,x\rangle`. Everything compiled is
written as loops over numbers, so that compiled and plain runs give the same bits.

Inside a machine an arm is *lifted*: :math:`x'=(x,1)` in R^(d+1), which makes affine rewards linear.
"""

from contextlib import suppress
from math import inf, sqrt
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection, QhullError

from ..engine import checks
from ..engine.value import Value
from .algebra import combine, dot, put

TOLERANCE = 1e-9
REACH = 1 + 1e-3  # how far the coordinates of an arm may leave [-1, 1]


class Arms(Value):
    """A compact set of arms in R^d; a subclass gives ``argmax``, ``holds`` and array fields.

    ``convex`` says whether the average of arms is an arm.

    >>> Box([0, 0], [1, 1]).vertices().tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """

    convex = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.d})"

    def best(self, c) -> np.ndarray:
        """A new vector: the arm that maximises <c, x>."""
        x, c = np.zeros(self.d), vector("c", c, self.d)
        power = np.frexp(abs(c).max(initial=0))[1]  # so that no square leaves the floats
        self.argmax(np.ldexp(c, -power), x)
        return x

    def contains(self, x) -> bool:
        """Whether x is one of the arms."""
        x = np.asarray(x)
        return x.shape == (self.d,) and bool(np.isfinite(x).all() and self.holds(x))

    def holds(self, x) -> bool:
        """Whether the vector x of d finite numbers is an arm."""
        raise NotImplementedError

    def vertices(self) -> np.ndarray | None:
        """The extreme points, one row for each; None where they are not listed."""
        return None

    def spanner(self) -> np.ndarray:
        """A barycentric spanner of the lifted set, one row for each vector (computed once)."""
        if self not in _SPANNERS:
            _SPANNERS[self] = spanner(self)
            _SPANNERS[self].flags.writeable = False
        return _SPANNERS[self]


_SPANNERS: WeakKeyDictionary[Arms, np.ndarray] = WeakKeyDictionary()  # apart: a set is a value


class Points(Arms):
    """Finitely many arms, the rows of ``points``; ties go to the first.

    >>> Points([[0, 1], [1, 0]]).best([2, 1])
    array([1., 0.])
    """

    convex = False

    def __init__(self, points):
        points = checks.numbers("points", points, 2)
        if points.size == 0:
            raise ValueError(f"points has shape {points.shape}; it must have an arm.")
        self.d, self.points = points.shape[1], points

    def argmax(self, c, x):
        """The first row of largest <c, x>."""
        best, at = -inf, 0
        for k in range(len(self.points)):
            value = dot(c, self.points[k])
            if value > best:
                best, at = value, k
        put(self.points[at], x)

    def vertices(self) -> np.ndarray:
        """All arms."""
        return self.points

    def holds(self, x) -> bool:
        """Whether x is one of the points."""
        return (abs(self.points - x).max(axis=1) <= TOLERANCE).any()


class Polytope(Points):
    """The convex hull of ``points``; the oracle answers with one of the points.

    >>> Polytope([[0, 0], [2, 0]]).contains([1, 0])
    True
    """

    convex = True

    def holds(self, x) -> bool:
        """Whether x is a convex combination of the points (a linear program)."""
        if super().holds(x):
            return True
        A = np.vstack([self.points.T, np.ones(len(self.points))])
        weights = linprog(np.zeros(len(self.points)), A_eq=A, b_eq=np.append(x, 1.0))
        return weights.status == 0


class Inequalities(Arms):
    """The polytope of all x with A x <= b, by a linear program for each maximum.

    The oracle is ``scipy.optimize.linprog`` and runs as plain Python only (``compiled=False``);
    ``polytope()`` enumerates the vertices once, and the result compiles.

    >>> Inequalities([[1], [-1]], [1, 0]).best([1])
    array([1.])
    """

    def __init__(self, A, b):
        self.A, self.b = checks.numbers("A", A, 2), checks.numbers("b", b, 1)
        if len(self.A) != len(self.b):
            raise ValueError(f"b has {len(self.b)} numbers; it must have {len(self.A)}, as A rows.")
        self.d = self.A.shape[1]
        for j in range(self.d):
            for sign in (1.0, -1.0):
                self.best(sign * np.eye(self.d)[j])  # refuses an empty or unbounded set

    def argmax(self, c, x):
        """A vertex that maximises <c, x>."""
        solution = linprog(-np.asarray(c)[: self.d], self.A, self.b, bounds=(None, None))
        if solution.status != 0:
            what = {2: "empty", 3: "unbounded"}.get(solution.status, "not solved by linprog")
            raise ValueError(f"the set of all x with A x <= b is {what}; a set of arms is compact.")
        x[:] = solution.x

    def holds(self, x) -> bool:
        """Whether A x <= b."""
        return (self.A @ x <= self.b + TOLERANCE).all()

    def polytope(self) -> Polytope:
        """The same set by its vertices, which compiles; the set must have an interior."""
        norm = np.sqrt((self.A**2).sum(axis=1))
        c = np.append(np.zeros(self.d), -1.0)  # the largest ball inside
        ball = linprog(c, np.column_stack([self.A, norm]), self.b, bounds=(None, None))
        halves, corners = np.column_stack([self.A, -self.b]), np.array([np.nan])
        if ball.status == 0 and ball.x[-1] > TOLERANCE:
            with suppress(QhullError), np.errstate(all="ignore"):
                corners = HalfspaceIntersection(halves, ball.x[:-1]).intersections
        if not np.isfinite(corners).all():
            raise ValueError(
                "the set of all x with A x <= b has no interior, or almost none; give its vertices."
            )
        return Polytope(np.unique(corners.round(12) + 0.0, axis=0))


class Ellipsoid(Arms):
    """All centre + shape z, z in the unit ball.

    >>> Ellipsoid([0, 0], [[2, 0], [0, 1]]).best([1, 0])
    array([2., 0.])
    """

    def __init__(self, centre, shape):
        self.centre = checks.numbers("centre", centre, 1)
        self.shape = checks.numbers("shape", shape, 2)
        self.d = len(self.centre)
        square = (self.d, self.d)
        if self.shape.shape != square:
            raise ValueError(f"shape has shape {self.shape.shape}; it must be {square}, as centre.")
        if np.linalg.matrix_rank(self.shape) < self.d:
            raise ValueError("shape is singular; it must have an inverse.")

    def argmax(self, c, x):
        """The point centre + shape z with z along shape^T c."""
        z = np.zeros(self.d)
        combine(c[: self.d], self.shape, z)
        square = dot(z, z)
        norm = sqrt(square) if square > 0 else 1.0
        for i in range(self.d):
            x[i] = self.centre[i]
            for j in range(self.d):
                x[i] += self.shape[i, j] * z[j] / norm

    def holds(self, x) -> bool:
        """Whether x is in the ellipsoid."""
        return np.linalg.norm(np.linalg.solve(self.shape, x - self.centre)) <= 1 + TOLERANCE


class Ball(Ellipsoid):
    """The ball of this radius around ``centre``, by default the unit ball of R^d around 0.

    >>> Ball(2).best([3, 4])
    array([0.6, 0.8])
    """

    def __init__(self, d: int, radius: float = 1.0, centre=None):
        d = checks.whole("d", d)
        self.radius = checks.real("radius", radius, "a number > 0", lambda r: r > 0)
        centre = np.zeros(d) if centre is None else vector("centre", centre, d)
        super().__init__(centre, self.radius * np.eye(d))

    def argmax(self, c, x):
        """The point centre + radius times the direction of c."""
        square = dot(c, c[: self.d])
        step = self.radius / sqrt(square) if square > 0 else 0.0
        for j in range(self.d):
            x[j] = self.centre[j] + step * c[j]


class Box(Arms):
    """All x with low <= x <= high in every coordinate.

    >>> Box([0, 0], [1, 2]).best([1, -1])
    array([1., 0.])
    """

    def __init__(self, low, high):
        self.low, self.high = checks.numbers("low", low, 1), checks.numbers("high", high, 1)
        self.d = len(self.low)
        if self.d == 0:
            checks.refuse("low", low, "not empty")
        if len(self.high) != self.d:
            raise ValueError(f"high has {len(self.high)} numbers; it must have {self.d}, as low.")
        checks.each("low", self.low, self.low < self.high, "below high")

    def argmax(self, c, x):
        """The corner: high where c > 0, else low."""
        for j in range(self.d):
            x[j] = self.high[j] if c[j] > 0 else self.low[j]

    def vertices(self) -> np.ndarray:
        """The 2^d corners."""
        if self.d > 16:
            raise ValueError(
                f"a box of dimension {self.d} has 2^{self.d} corners; too many to list."
            )
        bits = (np.arange(2**self.d)[:, None] >> np.arange(self.d)) & 1
        return np.where(bits == 1, self.high, self.low)

    def holds(self, x) -> bool:
        """Whether x is in the box."""
        return ((self.low - TOLERANCE <= x) & (x <= self.high + TOLERANCE)).all()


class Simplex(Arms):
    """All x >= 0 with sum 1: the mixtures of d pure arms.

    >>> Simplex(3).best([1, 5, 2])
    array([0., 1., 0.])
    """

    def __init__(self, d: int):
        self.d = checks.whole("d", d, 2)

    def argmax(self, c, x):
        """The first unit vector of largest c."""
        at = 0
        for j in range(self.d):
            if c[j] > c[at]:
                at = j
        for j in range(self.d):
            x[j] = 1.0 if j == at else 0.0

    def vertices(self) -> np.ndarray:
        """The unit vectors."""
        return np.eye(self.d)

    def holds(self, x) -> bool:
        """Whether x is in the simplex."""
        return (x >= -TOLERANCE).all() and abs(x.sum() - 1) <= TOLERANCE


def spanner(X: Arms) -> np.ndarray:
    r"""A barycentric spanner of the lifted set (Awerbuch and Kleinberg): rows b_1..b_n of arms.

    Every lifted arm is :math:`\sum_i\lambda_ib_i` with :math:`|\lambda_i|\le1.001`; n is one more
    than the affine dimension of X. A vector is exchanged while an arm has a larger coordinate.

    >>> spanner(Ball(2)).shape
    (3, 3)
    """
    B = np.append(X.best(np.ones(X.d)), 1.0)[None, :]
    while (b := _outside(X, B)) is not None:
        B = np.vstack([B, b])
    if len(B) == 1:
        raise ValueError(f"{X!r} is a single point; a duel needs at least two arms.")
    i, kept = 0, 0
    while kept < len(B):
        b, size = _extreme(X, np.linalg.pinv(B)[:, i])
        kept = 0 if size > REACH else kept + 1
        if size > REACH:
            B[i] = b
        i = (i + 1) % len(B)
    return B


def _extreme(X: Arms, c: np.ndarray) -> tuple[np.ndarray, float]:
    """The lifted arm with the largest |<c, x'>|, and that size."""
    ends = [np.append(X.best(sign * c[:-1]), 1.0) for sign in (1, -1)]
    sizes = [abs(float(b @ c)) for b in ends]
    return ends[int(np.argmax(sizes))], max(sizes)


def _outside(X: Arms, B: np.ndarray) -> np.ndarray | None:
    """A lifted arm outside the span of the rows of B, or None."""
    ends = [_extreme(X, c) for c in np.linalg.svd(B)[2][len(B) :]]
    b, size = max(ends, key=lambda pair: pair[1], default=(None, 0.0))
    return b if size > TOLERANCE else None


def vector(name: str, value: ArrayLike, d: int) -> np.ndarray:
    """The value as a vector of d finite numbers."""
    vector = checks.numbers(name, value, 1)
    if len(vector) != d:
        raise ValueError(f"{name} has {len(vector)} numbers; the arms have dimension {d}.")
    return vector
