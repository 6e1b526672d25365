"""ConfidenceBall_1 and ConfidenceBall_2 of Dani, Hayes and Kakade (COLT 2008), and OFUL.

They are built as ``machine(X, rng, **parameters)`` over a set of arms X and run, compiled or not,
inside the very texts of Doubler and Sparring that serve finite sets.
"""

from math import inf, log, sqrt

import numpy as np

from ..engine import checks
from .algebra import combine, dot, eigen, put, put_rows, secular, times
from .radius import RADII, delta_of_epoch, self_normalised, squared_radius
from .sets import Arms, Ellipsoid

REFRESH = 16  # the factor of A^-1 is corrected every REFRESH * n rounds


class ConfidenceBall:
    r"""What both ConfidenceBalls share: least squares on the lifted arms, and the radius.

    .. math:: A_t=\sum_ib_ib_i^\top+\sum_{s<t}x'_sx_s'^\top,\qquad
        \hat\theta_t=A_t^{-1}\sum_{s<t}u_sx'_s

    with a barycentric spanner b, and the :func:`squared_radius` :math:`\beta_t` times ``scale``
    (1 is what Dani, Hayes and Kakade publish), or with ``radius="self-normalised"`` the much
    smaller one of :func:`self_normalised`. Kept is a factor R, n x (d+1), with
    :math:`R^\top R=A_t^{-1}`; an arm changes it by rank one,
    :math:`R\leftarrow(I-\gamma gg^\top)R`, :math:`g=Rx'`, :math:`\gamma=1/(s+s^2)`,
    :math:`s=\sqrt{1+|g|^2}`, and every 16 n rounds one Newton step
    :math:`R\leftarrow\frac12(3I-RAR^\top)R` removes what rounding has done.

    ``delta`` is the probability of failure of one run. By default the i-th reset sets it to
    :func:`delta_of_epoch`, which is what Doubler needs; a machine that is reset once, alone or
    inside Sparring, wants ``delta=1/T``.
    """

    def __init__(self, X, rng, scale=1.0, delta=None, radius="Freedman"):
        self.X, self.d = X, X.d
        B = X.spanner()
        self.n, self.N = B.shape
        self.scale = checks.real("scale", scale, "a number > 0", lambda s: s > 0)
        self.normalised = checks.one_of("radius", radius, RADII) == "self-normalised"
        self.per_epoch, self.epoch, self.t, self.log_det = delta is None, 0, 1, 0.0
        self.least = delta_of_epoch(0, self.n, radius)
        self.delta = delta_of_epoch(1, self.n, radius)
        if delta is not None:
            self.delta = checks.real("delta", delta, "in (0, 1)", lambda p: 0 < p < 1)
        self.A1, self.R1 = B.T @ B, np.array(np.linalg.pinv(B).T, order="C")  # before any reward
        self.A, self.R, self.total = self.A1.copy(), self.R1.copy(), np.zeros(self.N)
        self.mean, self.x, self.arm = np.zeros(self.N), np.zeros(self.d), np.zeros(self.d)
        self.c, self.h, self.g = np.zeros(self.N), np.zeros(self.N), np.zeros(self.n)  # scratch
        self.RM, self.E = np.zeros((self.n, self.N)), np.zeros((self.n, self.n))

    def reset(self):
        """Forget all rewards; the next epoch begins."""
        put_rows(self.A1, self.A)
        put_rows(self.R1, self.R)
        for j in range(self.N):
            self.total[j] = 0.0
        self.t, self.log_det = 1, 0.0
        self.epoch += 1
        if self.per_epoch:
            self.delta = min(0.5**self.epoch, self.least)

    def squared_radius(self):
        """beta_t times the scale, or b_t times it."""
        if self.normalised:
            return self.scale * self_normalised(self.n, self.delta, self.log_det)
        return self.scale * squared_radius(self.n, self.delta, self.t)

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
        self.log_det += 2 * log(s)
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

    >>> disc = LinearUtilities(Ball(2), [0.3, 0.1], 0.5, name="disc")
    >>> sparring = Sparring(ConfidenceBall1, scale=0.001, delta=0.01)
    >>> simulate(disc, sparring, T=99, runs=5, compiled=False)
    Sparring(ConfidenceBall1, scale=0.001, delta=0.01) on disc: 5 runs, T = 99, regret 2...
    """

    def __new__(cls, X, rng, root="updated", **parameters):
        """A machine over the arms of X."""
        symmetric = checks.one_of("root", root, ("updated", "symmetric")) == "symmetric"
        return object.__new__(SymmetricRoot if symmetric else cls)

    def __init__(self, X, rng, scale=1.0, delta=None, root="updated", radius="Freedman"):
        super().__init__(X, rng, scale, delta, radius)

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
                self.X.argmax(c, x)
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

    def __init__(self, X, rng, scale=1.0, delta=None, root="symmetric", radius="Freedman"):
        super().__init__(X, rng, scale, delta, root, radius)
        self.V = np.zeros((self.n, self.n))

    def update(self):
        """R becomes V^T D^(-1/2) V R1, where V diagonalises A in spanner coordinates to D."""
        n, V, D = self.n, self.V, self.E
        self.sandwich(self.R1, self.A)
        for i in range(n):
            for k in range(n):
                V[i, k] = 1.0 if i == k else 0.0
        eigen(D, V)
        self.log_det = 0.0
        for m in range(n):
            self.log_det += log(D[m, m])
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

    >>> disc = LinearUtilities(Ball(2), [0.3, 0.1], 0.5, name="disc")
    >>> sparring = Sparring(ConfidenceBall2, scale=0.001, delta=0.01)
    >>> simulate(disc, sparring, T=99, runs=5, compiled=False)
    Sparring(ConfidenceBall2, scale=0.001, delta=0.01) on disc: 5 runs, T = 99, regret 2...
    """

    def __new__(cls, X, rng, **parameters):
        """A machine over the arms of X."""
        if isinstance(X, Ellipsoid):
            return object.__new__(OnEllipsoid)
        if X.vertices() is not None:
            return object.__new__(OnVertices)
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

    def __init__(self, X, rng, scale=1.0, delta=None, radius="Freedman"):
        super().__init__(X, rng, scale, delta, radius)
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

    def __init__(self, X, rng, scale=1.0, delta=None, radius="Freedman"):
        super().__init__(X, rng, scale, delta, radius)
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
            self.arm[i] = self.X.centre[i] + dot(self.X.shape[i], self.v) / norm
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


def OFUL(
    X: Arms, rng: np.random.Generator | None, scale: float = 1.0, delta: float | None = None
) -> ConfidenceBall2:
    """OFUL of Abbasi-Yadkori, Pál and Szepesvári: ConfidenceBall_2 with the smaller radius.

    >>> [round(m(Ball(2), None, delta=0.01).squared_radius()) for m in (OFUL, ConfidenceBall2)]
    [11, 151]
    """
    return ConfidenceBall2(X, rng, scale=scale, delta=delta, radius="self-normalised")
