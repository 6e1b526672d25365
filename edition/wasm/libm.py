"""The four functions of libm that the kernels call, as Python texts that are compiled with them.

A browser's own logarithm differs from one browser to the next, and from glibc's at one whole number
in a hundred. These are within 0.51 units in the last place (``log``, ``exp``), use nothing but
+, -, *, / and tables, and so give the same bits wherever WebAssembly runs. Arguments are normal
numbers; where a result has fewer than 53 bits it is 0.
"""

from decimal import Decimal, localcontext
from math import floor, inf, nan, sqrt

import numpy as np

from dueling.engine.compiled import compilable

STEPS = 128
LOWEST = 0x3FE6000000000000  # the bits of 0.6875: mantissas are taken from [0.6875, 1.375)
UPPER = ~0x7FFFFFF  # keeps the upper 26 bits of a mantissa


def _parts(value: Decimal, grid: int) -> tuple[float, float]:
    """The value as a multiple of 2^-grid and the rest, a float each."""
    high = float(round(value * 2**grid)) / 2**grid
    return high, float(value - Decimal(high))


def _steps() -> list[tuple[float, float, float]]:
    """For each step of mantissas an inverse 1/c of eleven bits at most, and ln c in two parts."""
    rows = []
    for i in range(STEPS):
        ends = [np.int64(LOWEST + (j << 45)).view(np.float64) for j in (i, i + 1)]
        inverse = 1.0 if 1.0 in ends else round(2048 / sum(ends)) / 1024
        rows.append((inverse, *_parts(-Decimal(inverse).ln(), 42)))
    return rows


def _powers() -> list[tuple[float, float]]:
    """2^(i / 128) in two parts."""
    values = [Decimal(2) ** (Decimal(i) / STEPS) for i in range(STEPS)]
    return [(float(value), float(value - Decimal(float(value)))) for value in values]


with localcontext() as exact:
    exact.prec = 60
    INVERSE, LN_HIGH, LN_LOW = np.array(_steps()).T.copy()
    POWER_HIGH, POWER_LOW = np.array(_powers()).T.copy()
    LN2_HIGH, LN2_LOW = _parts(Decimal(2).ln(), 42)
    STEP_HIGH, STEP_LOW = _parts(Decimal(2).ln() / STEPS, 40)


@compilable
def log(x):
    """The natural logarithm, as k ln 2 + ln c + ln(1 + r) for x = 2^k m and r = m / c - 1.

    >>> float(log(9170.0)), float(log(1.0))
    (9.12369256525051, 0.0)
    """
    if not 0 < x < inf:
        return -inf if x == 0 else x if x > 0 else nan
    bits = np.float64(x).view(np.int64)
    k = (bits - LOWEST) >> 52
    i = ((bits - LOWEST) >> 45) & (STEPS - 1)
    m = np.int64(bits - (k << 52)).view(np.float64)
    upper = np.int64((bits - (k << 52)) & UPPER).view(np.float64)
    left, right = upper * INVERSE[i] - 1, (m - upper) * INVERSE[i]  # both exact
    r = left + right
    rest = right - (r - left) if abs(left) > abs(right) else left - (r - right)
    whole = k * LN2_HIGH + LN_HIGH[i]  # exact
    high = whole + r
    rest += r - (high - whole) if abs(whole) > abs(r) else whole - (high - r)
    curve = -1 / 2 + r * (1 / 3 + r * (-1 / 4 + r * (1 / 5 + r * (-1 / 6 + r * (1 / 7 - r / 8)))))
    return high + (rest + k * LN2_LOW + LN_LOW[i] + r * r * curve)


@compilable
def exp(x):
    """The exponential function: 2^(k + i / 128) e^r.

    >>> float(exp(1.0)), exp(-1e9)
    (2.718281828459045, 0.0)
    """
    if not -708 < x < 709:
        return inf if x > 0 else 0.0 if x < 0 else nan
    n = floor(x / STEP_HIGH + 0.5)
    r = (x - n * STEP_HIGH) - n * STEP_LOW
    high, low = POWER_HIGH[n & (STEPS - 1)], POWER_LOW[n & (STEPS - 1)]
    curve = r + r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r / 120)))
    return (high + (low + high * curve)) * np.int64(((n >> 7) + 1023) << 52).view(np.float64)


@compilable
def log1p(x):
    """ln(1 + x), by the logarithm of the rounded 1 + x and what the rounding lost.

    >>> float(log1p(1e-20))
    1e-20
    """
    u = 1 + x
    return log(u) + (x - (u - 1)) / u


@compilable
def power(x, y):
    """x^y: exact products for whole y >= 0, x sqrt(x) with its rest for y = 3/2, else by log.

    >>> power(2.0, 10.0), power(2.0, 1.5)
    (1024.0, 2.8284271247461903)
    """
    if y == 1.5:
        return _three_halves(x)
    if y != floor(y) or y < 0:
        return exp(y * log(x))
    product = 1.0
    for _ in range(int(y)):
        product *= x
    return product


@compilable
def _three_halves(x):
    s = sqrt(x)
    if s == 0:
        return 0.0
    square, lost = _product(s, s)
    high, low = _product(x, s)
    return high + (low + x * ((x - square) - lost) / (2 * s))


@compilable
def _product(a, b):
    """The rounded product and what the rounding lost (Dekker)."""
    p = a * b
    a1, b1 = 134217729 * a, 134217729 * b
    a1, b1 = a1 - (a1 - a), b1 - (b1 - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


#: LLVM's name of each function -> its text here.
TEXTS = {"llvm.log.f64": log, "llvm.exp.f64": exp, "llvm.pow.f64": power, "log1p": log1p}
