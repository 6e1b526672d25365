"""A little linear algebra as loops over numbers: the same bits compiled and plain."""

from math import sqrt

from ..engine.compiled import compilable


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
