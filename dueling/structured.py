r"""Structured and infinite arm sets (Sections 2.1 and 3): linear utilities and ConfidenceBall.

An arm is a vector x of a compact set X in R^d with expected utility :math:`\langle\mu,x\rangle+o`.
A set of arms has one operation, ``argmax(c, x)``: x becomes an arm that maximises
:math:`\langle c,x\rangle`. The machines are ConfidenceBall_1 and ConfidenceBall_2 of Dani, Hayes
and Kakade (COLT 2008); they are built as ``machine(X, rng, **parameters)`` and run, compiled or
not, inside the very texts of Doubler and Sparring that serve finite sets. Everything is written as
loops over numbers, so that compiled and plain runs give the same bits.

Inside a machine an arm is *lifted*: :math:`x'=(x,1)` in R^(d+1), which makes affine rewards linear.
"""

from contextlib import suppress
from functools import cache
from math import exp, inf, log, sqrt

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection, QhullError

from . import checks
from .algorithm import Single, label
from .bounds import epochs
from .compiled import compilable
from .reductions import Doubler
from .scenarios import digest

TOLERANCE = 1e-9
REACH = 1 + 1e-3  # how far the coordinates of an arm may leave [-1, 1]
REFRESH = 16  # the factor of A^-1 is corrected every REFRESH * n rounds


# --- sets of arms ---------------------------------------------------------------------------------


class Arms:
    """A compact set of arms in R^d; a subclass gives ``argmax(c, x)`` and array fields.

    ``vertices()``, where it exists, lists the extreme points; ``convex`` says whether the average
    of arms is an arm.
    """

    __slots__ = ("__dict__", "_spanner")  # the slot is invisible to the compiler
    convex = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.d})"

    def best(self, c) -> np.ndarray:
        """A new vector: the arm that maximises <c, x>."""
        x = np.zeros(self.d)
        self.argmax(_vector("c", c, self.d), x)
        return x

    def spanner(self) -> np.ndarray:
        """A barycentric spanner of the lifted set, one row for each vector (computed once)."""
        if not hasattr(self, "_spanner"):
            self._spanner = spanner(self)
        return self._spanner


class Points(Arms):
    """Finitely many arms, the rows of ``points``; ties go to the first."""

    convex = False

    def __init__(self, points):
        points = checks.numbers("points", points, 2)
        if points.size == 0:
            raise ValueError(f"points has shape {points.shape}; a set of arms is not empty.")
        self.d, self.points = points.shape[1], points

    def argmax(self, c, x):
        """The first row of largest <c, x>."""
        best, at = -inf, 0
        for k in range(len(self.points)):
            value = 0.0
            for j in range(self.d):
                value += c[j] * self.points[k, j]
            if value > best:
                best, at = value, k
        for j in range(self.d):
            x[j] = self.points[at, j]

    def vertices(self) -> np.ndarray:
        """All arms."""
        return self.points

    def contains(self, x) -> bool:
        """Whether x is one of the arms."""
        return bool((abs(self.points - np.asarray(x)).max(axis=1) <= TOLERANCE).any())


class Polytope(Points):
    """The convex hull of ``points``; the oracle answers with one of the points."""

    convex = True

    def contains(self, x) -> bool:
        """Whether x is a convex combination of the points (a linear program)."""
        if super().contains(x):
            return True
        A = np.vstack([self.points.T, np.ones(len(self.points))])
        found = linprog(np.zeros(len(self.points)), A_eq=A, b_eq=np.append(x, 1.0))
        return found.status == 0


class Inequalities(Arms):
    """The polytope of all x with A x <= b, by a linear program for each maximum.

    The oracle is ``scipy.optimize.linprog`` and runs as plain Python only (``compiled=False``);
    ``polytope()`` enumerates the vertices once, and the result compiles.
    """

    def __init__(self, A, b):
        self.A_, self.b_ = checks.numbers("A", A, 2), checks.numbers("b", b, 1)
        if len(self.A_) != len(self.b_):
            raise ValueError(f"A has {len(self.A_)} rows and b {len(self.b_)}; they must agree.")
        self.d = self.A_.shape[1]
        for j in range(self.d):
            for sign in (1.0, -1.0):
                self.best(sign * np.eye(self.d)[j])  # refuses an empty or unbounded set

    def argmax(self, c, x):
        """A vertex that maximises <c, x>."""
        found = linprog(-np.asarray(c)[: self.d], self.A_, self.b_, bounds=(None, None))
        if found.status != 0:
            what = {2: "empty", 3: "unbounded"}.get(found.status, "not solved by linprog")
            raise ValueError(f"the set of all x with A x <= b is {what}; a set of arms is compact.")
        x[:] = found.x

    def contains(self, x) -> bool:
        """Whether A x <= b."""
        return bool((self.A_ @ x <= self.b_ + TOLERANCE).all())

    def polytope(self) -> Polytope:
        """The same set by its vertices, which compiles; the set must have an interior."""
        norm = np.sqrt((self.A_**2).sum(axis=1))
        c = np.append(np.zeros(self.d), -1.0)  # the largest ball inside
        ball = linprog(c, np.column_stack([self.A_, norm]), self.b_, bounds=(None, None))
        halves, found = np.column_stack([self.A_, -self.b_]), np.array([np.nan])
        if ball.status == 0 and ball.x[-1] > TOLERANCE:
            with suppress(QhullError), np.errstate(all="ignore"):
                found = HalfspaceIntersection(halves, ball.x[:-1]).intersections
        if not np.isfinite(found).all():
            raise ValueError(
                "the set of all x with A x <= b has no interior, or almost none; give its vertices."
            )
        return Polytope(np.unique(found.round(12) + 0.0, axis=0))


class Ellipsoid(Arms):
    """All centre + shape z, z in the unit ball."""

    def __init__(self, centre, shape):
        self.centre, self.shape = (
            checks.numbers("centre", centre, 1),
            checks.numbers("shape", shape, 2),
        )
        self.d = len(self.centre)
        if self.shape.shape != (self.d, self.d):
            raise ValueError(
                f"shape is {self.shape.shape}; with this centre it is {self.d} square."
            )
        if np.linalg.matrix_rank(self.shape) < self.d:
            raise ValueError("shape is singular; an ellipsoid of arms has an interior.")
        self.z = np.zeros(self.d)

    def argmax(self, c, x):
        """The point centre + shape z with z along shape^T c."""
        square = 0.0
        for j in range(self.d):
            self.z[j] = 0.0
            for i in range(self.d):
                self.z[j] += self.shape[i, j] * c[i]
            square += self.z[j] * self.z[j]
        norm = sqrt(square) if square > 0 else 1.0
        for i in range(self.d):
            x[i] = self.centre[i]
            for j in range(self.d):
                x[i] += self.shape[i, j] * self.z[j] / norm

    def contains(self, x) -> bool:
        """Whether x is in the ellipsoid."""
        return bool(np.linalg.norm(np.linalg.solve(self.shape, x - self.centre)) <= 1 + TOLERANCE)


class Ball(Ellipsoid):
    """The ball of this radius around ``centre``, by default the unit ball of R^d around 0."""

    def __init__(self, d: int, radius: float = 1.0, centre=None):
        d = checks.whole("d", d)
        self.radius = checks.real("radius", radius, "a number > 0", lambda r: r > 0)
        centre = np.zeros(d) if centre is None else _vector("centre", centre, d)
        super().__init__(centre, self.radius * np.eye(d))

    def argmax(self, c, x):
        """The point centre + radius times the direction of c."""
        square = 0.0
        for j in range(self.d):
            square += c[j] * c[j]
        step = self.radius / sqrt(square) if square > 0 else 0.0
        for j in range(self.d):
            x[j] = self.centre[j] + step * c[j]


class Box(Arms):
    """All x with low <= x <= high in every coordinate."""

    def __init__(self, low, high):
        self.low, self.high = checks.numbers("low", low, 1), checks.numbers("high", high, 1)
        self.d = len(self.low)
        if self.d == 0 or self.low.shape != self.high.shape:
            raise ValueError(f"low has {self.d} numbers, high {len(self.high)}; they must agree.")
        if not (self.low < self.high).all():
            at = int(np.argmin(self.high - self.low))
            raise ValueError(f"low[{at}] is not below high[{at}]; the box would be empty or flat.")

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

    def contains(self, x) -> bool:
        """Whether x is in the box."""
        x = np.asarray(x)
        return bool(((self.low - TOLERANCE <= x) & (x <= self.high + TOLERANCE)).all())


class Simplex(Arms):
    """All x >= 0 with sum 1: the mixtures of d pure arms."""

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

    def contains(self, x) -> bool:
        """Whether x is in the simplex."""
        x = np.asarray(x)
        return bool((x >= -TOLERANCE).all() and abs(x.sum() - 1) <= TOLERANCE)


def spanner(X: Arms) -> np.ndarray:
    r"""A barycentric spanner of the lifted set (Awerbuch and Kleinberg): rows b_1..b_n of arms.

    Every lifted arm is :math:`\sum_i\lambda_ib_i` with :math:`|\lambda_i|\le1.001`; n is one more
    than the affine dimension of X. A vector is exchanged while an arm has a larger coordinate.
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
    found = [_extreme(X, c) for c in np.linalg.svd(B)[2][len(B) :]]
    b, size = max(found, key=lambda pair: pair[1], default=(None, 0.0))
    return b if size > TOLERANCE else None


def _vector(name: str, value, d: int) -> np.ndarray:
    vector = checks.numbers(name, value, 1)
    if len(vector) != d:
        raise ValueError(f"{name} has {len(vector)} numbers; the arms have dimension {d}.")
    return vector


# --- the radius and the regret bounds of Dani, Hayes and Kakade -----------------------------------


@compilable
def beta(n, delta, t):
    r"""The squared radius of Dani, Hayes and Kakade in dimension n.

    .. math:: \beta_t=\max(128\,n\ln t\,\ln(t^2/\delta),\ (\tfrac83\ln(t^2/\delta))^2)
    """
    ell = 2 * log(t) - log(delta)
    root = 8 / 3 * ell
    return max(128 * n * log(t) * ell, root * root)


def delta_of_epoch(i: int, n: int) -> float:
    r"""The failure probability of Doubler's epoch i, which is 2^i long.

    .. math:: \delta_i=\min(2^{-i},\ e^{-3\sqrt n/8})

    The second term makes :math:`\beta_1\ge n`, which the guarantee needs.
    """
    return min(0.5**i, exp(-3 * sqrt(n) / 8))


def regret_bound(ball: int, n: int, T: int, delta: float, gap: float | None = None) -> float:
    r"""With probability 1 - delta, the regret of ConfidenceBall in T rounds of dimension n.

    .. math:: \sqrt{8nT\beta_T\ln(T+1)}\text{ or, with a gap, }8n\beta_T\ln(T+1)/\Delta

    for ConfidenceBall_2; for ConfidenceBall_1 :math:`n\beta_T` replaces :math:`\beta_T`.
    """
    squares = 8 * n * beta(n, delta, T) * log(T + 1) * (n if ball == 1 else 1)
    return sqrt(T * squares) if gap is None else squares / gap


def epoch_bound(ball: int, n: int, i: int, gap: float | None = None, cap: float = 0.5) -> float:
    r"""The function B of Theorem D at :math:`m=2^i`: expected regret of ConfidenceBall in epoch i.

    :func:`regret_bound` with :math:`\delta_i` and half the gap, plus :math:`\delta_im` times
    ``cap`` for the failure; never above m times ``cap``, the largest regret of m rounds.
    """
    m, delta = 2**i, delta_of_epoch(i, n)
    known = regret_bound(ball, n, m, delta, None if gap is None else gap / 2)
    return min(m * cap, known + delta * m * cap)


def doubler_bound(ball: int, n: int, T: int, gap: float | None = None, cap: float = 0.5) -> float:
    r"""Expected regret of Doubler over ConfidenceBall: Theorem D with B of :func:`epoch_bound`.

    The last, incomplete epoch of Z rounds costs the right arm at most min(Z cap, B of that epoch).
    """
    k, Z = epochs(T)

    def B(i):
        return epoch_bound(ball, n, i, gap, cap)

    full = 3 * sum(B(i) for i in range(1, k))
    return 2 * cap + full + (1 + Z / 2**k) * B(k) + min(Z * cap, B(k + 1))


# --- a little linear algebra, as loops: the same bits compiled and plain -------------------------


@compilable
def put(source, target):
    """Copy a vector, number by number."""
    for j in range(len(target)):
        target[j] = source[j]


@compilable
def put_rows(source, target):
    """Copy a table, row by row."""
    for i in range(len(target)):
        put(source[i], target[i])


@compilable
def dot(a, b):
    """<a, b>, over the length of b."""
    total = 0.0
    for j in range(len(b)):
        total += a[j] * b[j]
    return total


@compilable
def times(M, v, out):
    """Write M v into out."""
    for i in range(len(out)):
        out[i] = dot(M[i], v)


@compilable
def combine(v, M, out):
    """Write v^T M, a combination of the rows of M, into out."""
    for j in range(len(out)):
        out[j] = 0.0
    for i in range(len(v)):
        for j in range(len(out)):
            out[j] += v[i] * M[i, j]


# --- machines -------------------------------------------------------------------------------------


@cache
def over(machine: type, arms: type) -> type:
    """The class of these machines over arm sets of this class: it has the methods of both."""
    name = f"{machine.__name__} over {arms.__name__}"
    return type(name, (machine, arms), {"__doc__": machine.__doc__, "__slots__": ()})


class ConfidenceBall:
    r"""What both ConfidenceBalls share: least squares on the lifted arms, and the radius.

    .. math:: A_t=\sum_ib_ib_i^\top+\sum_{s<t}x'_sx_s'^\top,\qquad
        \hat\theta_t=A_t^{-1}\sum_{s<t}u_sx'_s

    with a barycentric spanner b, and :math:`\beta_t` of :func:`beta` times ``scale`` (1 is what
    Dani, Hayes and Kakade publish). Kept is a factor R, n x (d+1), with
    :math:`R^\top R=A_t^{-1}`; an arm changes it by rank one,
    :math:`R\leftarrow(I-\gamma gg^\top)R`, :math:`g=Rx'`, :math:`\gamma=1/(s+s^2)`,
    :math:`s=\sqrt{1+|g|^2}`, and every 16 n rounds one Newton step
    :math:`R\leftarrow\frac12(3I-RAR^\top)R` removes what rounding has done.

    ``delta`` is the probability of failure of one run. By default the i-th reset sets it to
    :func:`delta_of_epoch`, which is what Doubler needs; a machine that is reset once, alone or
    inside Sparring, wants ``delta=1/T``.
    """

    def __init__(self, X, rng, scale=1.0, delta=None):
        own = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in vars(X).items()}
        vars(self).update(own)  # what the oracle reads
        B = X.spanner()
        self.n, self.N = B.shape
        self.scale = checks.real("scale", scale, "a number > 0", lambda s: s > 0)
        self.per_epoch, self.epoch, self.t = delta is None, 0, 1
        self.least = delta_of_epoch(0, self.n)
        self.delta = delta_of_epoch(1, self.n)
        if delta is not None:
            self.delta = checks.real("delta", delta, "in (0, 1)", lambda p: 0 < p < 1)
        self.A1, self.R1 = B.T @ B, np.array(np.linalg.pinv(B).T, order="C")  # before any reward
        self.A, self.R, self.total = self.A1.copy(), self.R1.copy(), np.zeros(self.N)
        self.mean, self.x, self.arm = np.zeros(self.N), np.zeros(self.d), np.zeros(self.d)
        self.c, self.h, self.g = np.zeros(self.N), np.zeros(self.N), np.zeros(self.n)  # scratch
        self.RM, self.E = np.zeros((self.n, self.N)), np.zeros((self.n, self.n))
        if taken := [name for name in own if vars(self)[name] is not own[name]]:
            raise ValueError(f"{X!r} has a field {taken[0]!r}, a name of the machine's; rename it.")

    def reset(self):
        """Forget all rewards; the next epoch begins."""
        put_rows(self.A1, self.A)
        put_rows(self.R1, self.R)
        for j in range(self.N):
            self.total[j] = 0.0
        self.t = 1
        self.epoch += 1
        if self.per_epoch:
            self.delta = min(0.5**self.epoch, self.least)

    def squared_radius(self):
        """beta_t times the scale."""
        return self.scale * beta(self.n, self.delta, self.t)

    def estimate(self):
        """Least squares: mean = R^T R total."""
        times(self.R, self.total, self.g)
        combine(self.g, self.R, self.mean)

    def lift(self, x):
        """Write (x, 1) into c."""
        for j in range(self.d):
            self.c[j] = x[j]
        self.c[self.d] = 1.0

    def feedback(self, u):
        """Enter the reward u of the arm just played: the sums, then the factor R."""
        A, c = self.A, self.c
        self.lift(self.arm)
        for j in range(self.N):
            self.total[j] += u * c[j]
            for k in range(self.N):
                A[j, k] += c[j] * c[k]
        self.t += 1
        self.update()

    def update(self):
        """R becomes (I - gamma g g^T) R for the lifted arm in c; now and then it is corrected."""
        R, g, h = self.R, self.g, self.h
        times(R, self.c, g)
        combine(g, R, h)
        s = sqrt(1 + dot(g, g))
        for i in range(self.n):
            step = g[i] / (s + s * s)
            for j in range(self.N):
                R[i, j] -= step * h[j]
        if self.t % (REFRESH * self.n) == 0:
            self.refresh()

    def refresh(self):
        """One Newton step towards R A R^T = I; it keeps R's rotation."""
        self.sandwich(self.R, self.A)
        for i in range(self.n):
            for k in range(self.n):
                self.E[i, k] = ((3.0 if i == k else 0.0) - self.E[i, k]) / 2
            combine(self.E[i], self.R, self.RM[i])
        put_rows(self.RM, self.R)

    def sandwich(self, R, M):
        """Write R M R^T into E."""
        for i in range(self.n):
            combine(R[i], M, self.RM[i])
            times(R, self.RM[i], self.E[i])

    def residual(self, theta):
        """Write R A (theta - mean) into g, the whitened distance of theta from the centre."""
        self.estimate()
        for j in range(self.N):
            self.c[j] = theta[j] - self.mean[j]
        times(self.A, self.c, self.h)
        times(self.R, self.h, self.g)


class ConfidenceBall1(ConfidenceBall):
    r"""ConfidenceBall_1: the arm of the best of the 2n vertices of a 1-norm ball.

    .. math:: \arg\max_{x\in X}\ \max\{\langle\nu,x'\rangle:
        \|S(\nu-\hat\theta_t)\|_1\le\sqrt{n\beta_t}\}

    where S is a square root of A_t, :math:`S^\top S=A_t`. The vertices are
    :math:`\hat\theta_t\pm\sqrt{n\beta_t}\,R_i`, R_i the rows of :math:`R=S^{-\top}`, so any set
    with a linear oracle will do. Deviation: Dani, Hayes and Kakade write the symmetric root; with
    ``root="updated"``, the default, S is the root that the rank-one updates carry along, at
    O(d^2) a round. Their analysis uses of S only
    :math:`\|v\|_2\le\|v\|_1\le\sqrt n\|v\|_2`, so the guarantee is the same. ``root="symmetric"``
    takes the symmetric root in the coordinates of the spanner, at O(d^3) a round.
    """

    def __new__(cls, X, rng, root="updated", **parameters):
        """A machine over the arms of X."""
        symmetric = checks.one_of("root", root, ("updated", "symmetric")) == "symmetric"
        return object.__new__(over(SymmetricRoot if symmetric else cls, type(X)))

    def __init__(self, X, rng, scale=1.0, delta=None, root="updated"):
        super().__init__(X, rng, scale, delta)

    def advance(self):
        """The arm of the best vertex; ties go to the first."""
        self.estimate()
        R, mean, c, x = self.R, self.mean, self.c, self.x
        width, best = sqrt(self.n * self.squared_radius()), -inf
        for i in range(self.n):
            for side in range(2):
                step = width if side == 0 else -width
                for j in range(self.N):
                    c[j] = mean[j] + step * R[i, j]
                self.argmax(c, x)
                value = dot(c, x) + c[self.d]
                if value > best:
                    best = value
                    put(x, self.arm)
        return self.arm

    def outside(self, theta):
        """Whether theta lies outside the 1-norm ball."""
        self.residual(theta)
        size = 0.0
        for i in range(self.n):
            size += abs(self.g[i])
        return size > sqrt(self.n * self.squared_radius())


class SymmetricRoot(ConfidenceBall1):
    """ConfidenceBall_1 with the symmetric root of A_t in the coordinates of the spanner."""

    def __init__(self, X, rng, scale=1.0, delta=None, root="symmetric"):
        super().__init__(X, rng, scale, delta)
        self.V = np.zeros((self.n, self.n))

    def update(self):
        """R becomes V^T D^(-1/2) V R1, where V diagonalises A in spanner coordinates to D."""
        n, V, D = self.n, self.V, self.E
        self.sandwich(self.R1, self.A)
        for i in range(n):
            for k in range(n):
                V[i, k] = 1.0 if i == k else 0.0
        eigen(D, V)
        for m in range(n):
            combine(V[m], self.R1, self.RM[m])
        for i in range(n):
            for m in range(n):
                self.g[m] = V[m, i] / sqrt(D[m, m])
            combine(self.g, self.RM, self.R[i])


class ConfidenceBall2(ConfidenceBall):
    r"""ConfidenceBall_2: the arm of the best point of the confidence ellipsoid.

    .. math:: \arg\max_{x\in X}\ \langle\hat\theta_t,x'\rangle+\sqrt{\beta_t}\,\|x'\|_{A_t^{-1}}

    The function is convex, so over a polytope its maximum is at a vertex, and the vertices are
    tried one by one; over a ball or an ellipsoid see :class:`OnEllipsoid`. Other sets are refused.
    """

    def __new__(cls, X, rng, **parameters):
        """A machine over the arms of X."""
        if isinstance(X, Ellipsoid):
            return object.__new__(over(OnEllipsoid, type(X)))
        if hasattr(X, "vertices"):
            return object.__new__(over(OnVertices, type(X)))
        raise ValueError(
            f"ConfidenceBall2 has no exact maximum over {X!r}, which has neither listed vertices "
            "nor a quadratic boundary; ConfidenceBall1 needs only the linear oracle."
        )

    def outside(self, theta):
        """Whether theta lies outside the ellipsoid."""
        self.residual(theta)
        return dot(self.g, self.g) > self.squared_radius()


class OnVertices(ConfidenceBall2):
    """ConfidenceBall_2 over finitely many arms or the vertices of a polytope, one by one."""

    def __init__(self, X, rng, scale=1.0, delta=None):
        super().__init__(X, rng, scale, delta)
        self.corners = np.array(X.vertices(), order="C")

    def advance(self):
        """The vertex of largest optimistic value; ties go to the first."""
        self.estimate()
        width, best = sqrt(self.squared_radius()), -inf
        for k in range(len(self.corners)):
            self.lift(self.corners[k])
            times(self.R, self.c, self.g)
            value = dot(self.mean, self.c) + width * sqrt(dot(self.g, self.g))
            if value > best:
                best = value
                put(self.corners[k], self.arm)
        return self.arm


class OnEllipsoid(ConfidenceBall2):
    r"""ConfidenceBall_2 over a ball or an ellipsoid: the global maximum, certified.

    With :math:`M` from the unit ball to the lifted arms, :math:`M^\top\nu=(v,\nu_0)`, the best
    value over the arms is :math:`\nu_0+|v|`, to be maximised over the confidence ellipsoid. It
    exceeds gamma if and only if :math:`|v|^2-(\gamma-\nu_0)^2` is somewhere positive (for gamma at
    least the largest :math:`\nu_0`). The maximum of that quadratic over an ellipsoid is one root of
    a secular equation, with a matching dual bound, so gamma climbs to the global maximum in a few
    steps (:meth:`climb`).
    """

    def __init__(self, X, rng, scale=1.0, delta=None):
        super().__init__(X, rng, scale, delta)
        M = np.vstack([np.column_stack([X.shape, X.centre]), np.append(np.zeros(X.d), 1.0)])
        self.axes, self.last = np.array(M.T[:-1], order="C"), M[:, -1].copy()
        self.J = np.array(M @ np.diag(np.append(np.ones(X.d), -1.0)) @ M.T, order="C")
        self.theta, self.c0, self.c1, self.y = (np.zeros(self.n) for _ in range(4))
        self.v, self.gap = np.zeros(X.d), 0.0

    def advance(self):
        """The arm of the largest optimistic value; ``gap`` bounds by how much it misses it."""
        self.estimate()
        width, low = sqrt(self.squared_radius()), -inf
        self.sandwich(self.R, self.J)
        eigen(self.E, self.R)  # R is a root up to rotation: take the one with R J R^T diagonal
        first = self.prepare(width)
        gamma = first
        for _ in range(60):
            if gamma <= low + 1e-14 * (1 + abs(low)):
                break
            low = gamma
            over = max(self.climb(gamma), 0.0)
            gamma = max(self.value(width), low)
            self.gap = over / (2 * (low - first)) if low > first else sqrt(over)
        norm = sqrt(dot(self.v, self.v))
        for i in range(self.d):
            self.arm[i] = self.centre[i] + dot(self.shape[i], self.v) / norm
        return self.arm

    def prepare(self, width):
        """The quadratic: theta on the diagonal, c0 + gamma c1; returns the largest nu_0."""
        times(self.J, self.mean, self.c)
        times(self.R, self.c, self.c0)
        times(self.R, self.last, self.c1)
        for i in range(self.n):
            self.theta[i] = width * width * self.E[i, i]
            self.c0[i] *= width
            self.c1[i] *= width
        return dot(self.last, self.mean) + sqrt(dot(self.c1, self.c1))

    def climb(self, gamma):
        """The dual value of the largest v^2 - (gamma - nu_0)^2 over the ellipsoid, met at y."""
        top = 0
        for m in range(self.n):
            self.h[m] = self.c0[m] + gamma * self.c1[m]
            if self.theta[m] > self.theta[top]:
                top = m
        s = secular(self.theta, self.h, top)
        for m in range(self.n):
            self.y[m] = self.h[m] / (s + (self.theta[top] - self.theta[m]))
        centre = dot(self.mean, self.c) + 2 * gamma * dot(self.mean, self.last) - gamma * gamma
        value = centre + dot(self.h, self.y) + self.theta[top] + s
        short = 1 - dot(self.y, self.y)
        if short > 0:  # the hard case: what is missing goes along the top direction
            rest = sqrt(short + self.y[top] * self.y[top])
            self.y[top] = rest if self.y[top] >= 0 else -rest
        return value

    def value(self, width):
        """The value nu_0 + norm of v at nu = mean + width R^T y; it leaves v behind."""
        combine(self.y, self.R, self.h)
        for j in range(self.N):
            self.h[j] = self.mean[j] + width * self.h[j]
        times(self.axes, self.h, self.v)
        return dot(self.last, self.h) + sqrt(dot(self.v, self.v))


@compilable
def secular(theta, c, top):
    r"""The root s >= 0 of :math:`\sum_mc_m^2/(s+\theta_{\rm top}-\theta_m)^2=1`, top the largest.

    Newton's method on the concave function :math:`1/\sqrt{\cdot}-1`, from the left; where the sum
    is below 1 already next to the pole (the hard case), the pole's neighbour is returned.
    """
    s = 1e-18 * (1 + abs(theta[top]))
    for m in range(len(theta)):
        s = max(s, abs(c[m]) - (theta[top] - theta[m]))
    for _ in range(100):
        F, G = 0.0, 0.0
        for m in range(len(theta)):
            part = c[m] / (s + (theta[top] - theta[m]))
            F += part * part
            G += part * part / (s + (theta[top] - theta[m]))
        step = F * (sqrt(F) - 1) / G if F > 1 else 0.0
        if step <= 1e-15 * s:
            break
        s += step
    return s


@compilable
def eigen(E, Q):
    """Jacobi's rotations: the symmetric E becomes diagonal, V^T E V, and Q becomes V^T Q."""
    n = len(E)
    for _ in range(40):
        off, on = 0.0, 0.0
        for i in range(n):
            on += E[i, i] * E[i, i]
            for j in range(i):
                off += E[i, j] * E[i, j]
        if off <= 1e-24 * on:
            break
        for i in range(n):
            for j in range(i + 1, n):
                if E[i, j] != 0:
                    rotate(E, Q, i, j)


@compilable
def rotate(E, Q, i, j):
    """One rotation in the plane (i, j) that makes E[i, j] zero."""
    tau = (E[j, j] - E[i, i]) / (2 * E[i, j])
    tan = 1 / (abs(tau) + sqrt(1 + tau * tau))
    if tau < 0:
        tan = -tan
    cos = 1 / sqrt(1 + tan * tan)
    sin = tan * cos
    for k in range(len(E)):
        a, b = E[k, i], E[k, j]
        E[k, i], E[k, j] = cos * a - sin * b, sin * a + cos * b
    for k in range(len(E)):
        a, b = E[i, k], E[j, k]
        E[i, k], E[j, k] = cos * a - sin * b, sin * a + cos * b
    for k in range(Q.shape[1]):
        a, b = Q[i, k], Q[j, k]
        Q[i, k], Q[j, k] = cos * a - sin * b, sin * a + cos * b
    E[i, j] = E[j, i] = 0.0


# --- games and scenarios --------------------------------------------------------------------------

LINKS = ("linear", "logit", "natural")


class LinearRounds:
    r"""T rounds over the arms of X with utilities <mu, x> + offset, known only to the game.

    ``lost[0]`` and ``lost[1]`` sum the gaps :math:`\Delta_{x_t}` of the left and
    :math:`\Delta_{y_t}` of the right arms, ``lost[2]`` counts the right arms that were not optimal;
    ``history`` keeps them at the checkpoints. ``K`` is the set of arms, in the place of the number
    of arms of a finite game.
    """

    __slots__ = ("K", "__dict__")  # the set of arms is invisible to the compiler

    def __init__(self, X, mu, offset, T, checkpoints, rng):
        self.K, self.mu, self.offset, self.rng = X, mu, offset, rng
        self.d, self.T, self.t = X.d, T, 0
        self.top = float(X.best(mu) @ mu + offset)
        self.lost = np.zeros(3)
        self.checkpoints, self.passed, self.due = checkpoints, 0, int(checkpoints[0])
        self.history = np.zeros((len(checkpoints), 3))

    def on(self):
        """Whether a round is left."""
        return self.t < self.T

    def utility(self, x):
        """<mu, x> + offset."""
        return self.offset + dot(self.mu, x)

    def end_round(self, u, v):
        """Count the round of a left arm of utility u and a right arm of utility v."""
        if self.t >= self.T:
            raise ValueError("an arm was played, but no round was left.")
        self.lost[0] += self.top - u
        self.lost[1] += self.top - v
        self.lost[2] += self.top - v > TOLERANCE
        self.t += 1
        if self.t == self.due:
            put(self.lost, self.history[self.passed])
            self.passed += 1
            self.due = self.checkpoints[self.passed] if self.passed < len(self.checkpoints) else 0


class LinearGame(LinearRounds):
    """A dueling game over the arms of X; ``link`` is a place in :data:`LINKS`."""

    def __init__(self, X, mu, offset, link, T, checkpoints, rng):
        super().__init__(X, mu, offset, T, checkpoints, rng)
        self.link = link

    def play(self, x, y):
        """The choice b_t between the left arm x and the right arm y: 1 means y."""
        u, v = self.utility(x), self.utility(y)
        self.end_round(u, v)
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
        self.end_round(self.top, value)
        return int(self.rng.random() < value)


class LinearUtilities:
    r"""The utility-based dueling game with :math:`\mu(x)=\langle\mu,x\rangle+o` over a set of arms.

    Utilities must lie in [0, 1] on all of X. ``link`` is ``linear`` (the paper's theorems),
    ``logit`` or ``natural``; utilities are deterministic given the arm. Runs differ by their random
    numbers only: there is no order of arms to permute.
    """

    regrets: tuple[str, ...] = ("average",)

    def __init__(self, X: Arms, mu, offset: float = 0.0, link: str = "linear", name=None):
        if not isinstance(X, Arms):
            raise ValueError(f"X is {X!r}; it must be a set of arms, such as Ball(2).")
        self.X, self.mu = X, _vector("mu", mu, X.d)
        self.offset = checks.real("offset", offset, "a finite number", lambda o: True)
        self.link = LINKS.index(checks.one_of("link", link, LINKS))
        self.top = self.utility(X.best(self.mu))
        self.bottom = self.utility(X.best(-self.mu))
        if self.bottom < -TOLERANCE or self.top > 1 + TOLERANCE:
            raise ValueError(
                f"utilities <mu, x> + offset run from {self.bottom:.6g} to {self.top:.6g} on "
                f"{X!r}; they must lie in [0, 1]."
            )
        if link == "natural" and self.bottom <= 0:
            raise ValueError("natural link reads 0/0 where both utilities are 0; raise the offset.")
        numbers = (*vars(X).values(), X.convex, self.mu, self.offset, self.link)
        self.digest = digest(*(np.asarray(v, float) for v in numbers))
        self.name = str(name or f"linear/{link}/{X!r}/{self.digest[:8]}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def utility(self, x) -> float:
        """<mu, x> + offset."""
        return float(np.dot(self.mu, x) + self.offset)

    @property
    def gap(self) -> float:
        """Delta of the Delta-gap case, by which the best vertex is better than the second; else 0.

        A single vertex has no second, and the gap is infinite.
        """
        if not hasattr(self.X, "vertices"):
            return 0.0
        values = np.sort(self.X.vertices() @ self.mu)
        return float(values[-1] - values[-2]) if len(values) > 1 else inf

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True):
        """A game of T rounds on the run's generator; there is no permutation."""
        return LinearGame(self.X, self.mu, self.offset, self.link, T, checkpoints, rng), None

    def measure(self, game: LinearGame, p, regret: str | None = None) -> dict:
        """Regret at the checkpoints, its left and right shares, and the right's worse arms."""
        checks.one_of("regret", regret or "average", self.regrets)
        left, right = game.history[:, 0] / 2, game.history[:, 1] / 2
        worse = game.history[:, 2].astype(int)
        return {"regret": left + right, "left": left, "right": right, "worse": worse}

    def facts(self) -> dict:
        """The arms, the utilities and the name of the link."""
        arms = {name: value for name, value in vars(self.X).items() if not name.startswith("_")}
        said = {"arms": repr(self.X), "link": LINKS[self.link]}
        return {**arms, **said, "mu": self.mu, "offset": self.offset}

    def is_arm(self, x) -> bool:
        """Whether x is an arm of the game."""
        return isinstance(x, np.ndarray) and x.shape == (self.X.d,) and self.X.contains(x)

    def inside(self, m: float | None = None) -> "LinearCardinal":
        """The bandit that Doubler's machine meets in an epoch: means (1 + mu(y) - m) / 2.

        m is the mean utility of the left player, by default that of the best arm.
        """
        m = self.top if m is None else m
        name = f"inside {self.name} at {m:.6g}"
        return LinearCardinal(self.X, self.mu / 2, (1 + self.offset - m) / 2, name)


class LinearCardinal(LinearUtilities):
    """A cardinal bandit with Bernoulli(<mu, x> + offset) rewards over a set of arms."""

    regrets = ("cardinal",)

    def __init__(self, X: Arms, mu, offset: float = 0.0, name=None):
        super().__init__(X, mu, offset, name=name)
        self.name = str(name or self.name.replace("linear/linear", "cardinal"))

    def game(self, T: int, checkpoints: np.ndarray, rng, permute: bool = True):
        """A game of T rounds on the run's generator; there is no permutation."""
        return LinearBandit(self.X, self.mu, self.offset, T, checkpoints, rng), None

    def measure(self, game: LinearBandit, p, regret: str | None = None) -> dict:
        """Regret at the checkpoints, and whether a watched confidence set ever missed theta."""
        checks.one_of("regret", regret or "cardinal", self.regrets)
        return {"regret": game.history[:, 1].copy(), "escaped": game.escaped}


# --- Doubler's memory, and the algorithms ---------------------------------------------------------


class AverageArm:
    """The list L of Doubler as one vector: the average of the arms of the last epoch."""

    def __init__(self, X, rng):
        self.first = X.spanner()[0, :-1].copy()
        self.mean, self.total, self.noted = self.first.copy(), np.zeros(X.d), 0

    def start(self, x):
        """L becomes a singleton of X (the argument, an arm's number, says nothing here)."""
        put(self.first, self.mean)
        self.noted = 0

    def draw(self):
        """The average arm."""
        return self.mean

    def note(self, y):
        """Add y to the next epoch's average."""
        self.noted += 1
        for j in range(len(y)):
            self.total[j] = y[j] + (self.total[j] if self.noted > 1 else 0.0)

    def renew(self):
        """The average becomes that of the arms noted since the last call."""
        for j in range(len(self.total)):
            self.mean[j] = self.total[j] / self.noted
        self.noted = 0


class History:
    """The list L of Doubler as counts over the arms played; a uniform draw from it.

    Equal arms share a counter where the arms can repeat (``merge``); on a ball they do not, and
    every arm of an epoch is kept: memory grows like T. ``most`` is the largest number of stored
    arms so far.
    """

    def __init__(self, X, rng, capacity, merge):
        self.rng, self.merge, self.first = rng, merge, X.spanner()[0, :-1].copy()
        self.arms, self.next = np.zeros((capacity, X.d)), np.zeros((capacity, X.d))
        self.counts, self.noting = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        self.size, self.stored, self.storing, self.noted, self.most = 1, 1, 0, 0, 1

    def start(self, x):
        """L becomes a singleton of X (the argument, an arm's number, says nothing here)."""
        put(self.first, self.arms[0])
        self.counts[0] = self.size = self.stored = 1
        self.storing = self.noted = 0

    def draw(self):
        """A uniformly random element of L."""
        left = int(self.rng.random() * self.size)
        k = 0
        if not self.merge:
            return self.arms[left]
        while left >= self.counts[k]:
            left -= self.counts[k]
            k += 1
        return self.arms[k]

    def note(self, y):
        """Put y into the next epoch's list."""
        k = self.find(y) if self.merge else self.storing
        if k == self.storing:
            put(y, self.next[k])
            self.noting[k] = 0
            self.storing += 1
        self.noting[k] += 1
        self.noted += 1

    def find(self, y):
        """The place of y in the next list, or the first free one."""
        for k in range(self.storing):
            same = True
            for j in range(len(y)):
                if self.next[k, j] != y[j]:
                    same = False
                    break
            if same:
                return k
        return self.storing

    def renew(self):
        """L becomes the multiset of the arms noted since the last call."""
        self.stored, self.size = self.storing, self.noted
        for k in range(self.stored):
            put(self.next[k], self.arms[k])
            self.counts[k] = self.noting[k]
        self.most = max(self.most, self.stored)
        self.storing = self.noted = 0


class LinearDoubler(Doubler):
    """Doubler over ``machine(X, rng, **parameters)``, with one of two memories for its list L.

    ``memory="average"`` keeps one vector and plays it as the left arm; this has the law of the
    paper's draw from the list when X is convex and the link linear, and is refused otherwise.
    ``memory="counts"`` keeps the arms of the last epoch with their counts.
    """

    def __init__(self, machine, memory: str = "average", **parameters):
        super().__init__(machine, **parameters)
        self.memory = checks.one_of("memory", memory, ("average", "counts"))
        self.name = label("Doubler", machine, {"memory": self.memory, **parameters})

    def settings(self) -> dict:
        """Those of the machine, and the memory."""
        return super().settings() | {"memory": self.memory}

    def parts(self, game) -> tuple:
        """One machine and the list L."""
        X = game.K
        if self.memory == "counts":
            merge = hasattr(X, "vertices")
            capacity = min(len(X.vertices()), game.T) if merge else game.T
            return self.new_machine(game), History(X, game.rng, capacity, merge)
        if not X.convex:
            raise ValueError(
                f"memory is 'average', but {X!r} is not convex: the average of arms need not be an "
                "arm; use memory='counts'."
            )
        if game.link != 0:
            raise ValueError(
                f"memory is 'average', but the link is {LINKS[game.link]}: only under the linear "
                "link does the average arm win as often as a random arm; use memory='counts'."
            )
        return self.new_machine(game), AverageArm(X, game.rng)


def watched(S, bandit):
    """``mab`` that also sees whether theta ever leaves the machine's confidence set."""
    S.reset()
    while bandit.on():
        x = S.advance()
        if S.outside(bandit.theta):
            bandit.escaped = 1
        u = bandit.pull(x)
        S.feedback(u)


class Watched(Single):
    """One machine on a linear cardinal bandit, its coverage watched."""

    text = staticmethod(watched)

    def rehearse(self, game, *given, **options) -> None:
        """As the same machine unwatched: a guarded machine shows no confidence set."""
        Single(self.machine, **self.parameters).rehearse(game, *given, **options)
        machine = self.new_machine(game)
        if not callable(getattr(machine, "outside", None)):
            kind = type(machine).__name__
            raise ValueError(f"machine {kind} has no operation 'outside', which is watched here.")
