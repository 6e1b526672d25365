"""Executable witnesses: each step of a proof is checked where it stands, and could have failed.

A witness is of one of four kinds:

* **proved**: for all values of its variables, by a solver (z3), by algebra (sympy) or by interval
  arithmetic (:class:`Positive`);
* **checked**: for every number of rounds, epochs or arms, by Coq (:mod:`edition.formal`);
* **exact**: computed without sampling on the instances named;
* **measured**: estimated from independent runs, at a stated error level.

Each carries a twin: the same check of a deliberately wrong variant. A witness holds when its claim
holds *and* its twin is refused; otherwise :class:`Refused` stops the page. With changed parameters
a check may lack power: the twin holds too, or too few samples settle the claim. Such a witness is
**open**, as is one that was asserted for the defaults only; a claim that is refuted stops the page.
"""

import json
import re
from collections.abc import Callable
from html import escape
from itertools import product

import numpy as np
from scipy.special import betainccinv, betaincinv, stdtrit

from . import tables
from .formal import Checked
from .notebook import Defaults

KINDS, OPEN = ("proved", "checked", "exact", "measured"), "open"
LEVEL = 1e-4  # the error level of a measured witness


class Refused(AssertionError):
    """A claim that does not hold, or a twin that was not refused."""


class Positive:
    """The claim that f > 0 on a box, for interval arithmetic.

    ``f`` takes one argument for each side of the box and is built from ``+ - * / **`` and the
    functions of ``mpmath.iv`` (``iv.log``, ``iv.exp``, ``iv.sqrt``, ...). The box is halved until
    f is seen to be positive on every piece, or not positive at some point.
    """

    def __init__(self, f: Callable, *box: tuple[float, float], pieces: int = 200_000):
        self.f, self.box, self.pieces = f, box, pieces

    def check(self) -> tuple[bool, str]:
        """Whether it holds, and how that was seen."""
        from mpmath import iv

        todo, seen = [self.box], 0
        while todo:
            piece, seen = todo.pop(), seen + 1
            value = self.f(*(iv.mpf(list(side)) for side in piece))
            if value.a > 0:
                continue
            middle = [(a + b) / 2 for a, b in piece]
            if self.f(*(iv.mpf(m) for m in middle)).b <= 0:
                return False, "fails at " + ", ".join(f"{m:.6g}" for m in middle)
            if seen + len(todo) > self.pieces:
                return False, f"not settled on {self.pieces} pieces"
            halves = [((a, m), (m, b)) for (a, b), m in zip(piece, middle, strict=True)]
            todo += list(product(*halves))
        return True, f"interval arithmetic on {seen} piece{'s' if seen > 1 else ''}"


class AtMost:
    """The claim that every truth is at most its bound, and how much that says.

    A bound that is not below ``trivial``, what the truth cannot exceed anyway (1 for a probability,
    T for a count), says nothing: it is compared and counted, but a claim of which every bound is
    trivial does not hold. Each of the three is a number or an array, and they broadcast.

    >>> AtMost([0.2, 0.9], [0.5, 1.5], trivial=1).check()
    (True, '2 cases, 1 not trivial, truth/bound at most 0.4')
    """

    def __init__(self, truth, bound, trivial=np.inf):
        self.truth, self.bound, self.trivial = np.broadcast_arrays(truth, bound, trivial)

    def refuted(self) -> bool:
        """Whether some truth exceeds its bound, or is not a number."""
        return not np.all(self.truth <= self.bound)

    def check(self) -> tuple[bool, str]:
        """Whether it holds, and how much it says."""
        says = np.asarray(self.bound < self.trivial, bool)
        if not says.any():
            return False, f"{says.size} case{'s' * (says.size > 1)}, every one trivial"
        truth, bound = self.truth[says].astype(float), self.bound[says].astype(float)
        ratio = np.divide(truth, bound, out=np.where(truth > 0, np.inf, 0), where=bound > 0).max()
        count = f"{says.size} case{'s' * (says.size > 1)}, {says.sum()} not trivial"
        return not self.refuted(), f"{count}, truth/bound at most {ratio:.3g}"


class Mean:
    """A claim on the expectation of independent samples, at an error level.

    ``at_most=b`` holds when the upper confidence limit of the mean is < b, ``at_least=b`` when the
    lower one is > b, ``equals=v`` when v lies between both. For samples in {0, 1} the limits are
    Clopper and Pearson's, otherwise Student's.
    """

    def __init__(self, samples, at_most=None, at_least=None, equals=None, level: float = LEVEL):
        self.samples = np.asarray(samples, float).ravel()
        self.at_most, self.at_least, self.equals, self.level = at_most, at_least, equals, level

    def limits(self) -> tuple[float, float]:
        """The lower and upper confidence limits, each wrong with probability at most level/2."""
        x, n, tail = self.samples, len(self.samples), self.level / 2
        if np.isin(x, (0, 1)).all():
            k = x.sum()
            low = betaincinv(k, n - k + 1, tail) if k > 0 else 0.0
            return float(low), float(betainccinv(k + 1, n - k, tail)) if k < n else 1.0
        half = -stdtrit(n - 1, tail) * x.std(ddof=1) / np.sqrt(n)
        return float(x.mean() - half), float(x.mean() + half)

    def refuted(self) -> bool:
        """Whether the opposite is seen at the same error level."""
        low, high = self.limits()
        return (
            (self.at_most is not None and low > self.at_most)
            or (self.at_least is not None and high < self.at_least)
            or (self.equals is not None and not low <= self.equals <= high)
        )

    def check(self) -> tuple[bool, str]:
        """Whether it holds, and the numbers."""
        low, high = self.limits()
        holds = (
            (self.at_most is None or high < self.at_most)
            and (self.at_least is None or low > self.at_least)
            and (self.equals is None or low <= self.equals <= high)
        )
        claims = {"at most": self.at_most, "at least": self.at_least, "equal to": self.equals}
        asked = " and ".join(f"{k} {v:.4g}" for k, v in claims.items() if v is not None)
        if not asked:
            raise TypeError("a Mean claims nothing; give it at_most, at_least or equals.")
        n = len(self.samples)
        return holds, f"[{low:.4g}, {high:.4g}] from {n} samples, {asked}; level {self.level:g}"


class Verdict:
    """What the reader sees below a cell: one row of a ledger, which other pages can link to."""

    def __init__(self, row: dict):
        self.row = row

    def _repr_html_(self) -> str:
        kind, step, how, twin = (escape(self.row[key]) for key in ("kind", "step", "how", "twin"))
        claim, wrong = map(escape, texts(self.row["says"]))
        sign, refused = ("○", "") if kind == OPEN else ("✓", "refused, ")
        line = f"<b>{sign} {kind}</b> <i>{step}</i>: {claim}"
        seen = f"<p><b>Seen by</b> {how}.</p>"
        wrong = f"<p><b>Wrong variant</b>{wrong and f': {wrong}'}: {refused}{twin}.</p>"
        start = f'<details class="witness {kind}" id="{self.row["anchor"]}">'
        return f"{start}<summary>{line}</summary>{seen}{wrong}</details>"

    def __repr__(self) -> str:
        twin = "Wrong variant" if self.row["kind"] == OPEN else "Wrong variant refused"
        return f"{self.row['kind']}: {self.row['how']}. {twin}: {self.row['twin']}."


def texts(says: str) -> tuple[str, str]:
    """The claim and the wrong variant of "claim. Twin: variant.", each without its last stop.

    >>> texts("the slope is at most 1. Twin: 1/2.")
    ('the slope is at most 1', '1/2')
    >>> texts("the sum is even")
    ('the sum is even', '')
    """
    claim, _, wrong = says.partition("Twin: ")
    return claim.strip().removesuffix("."), wrong.strip().removesuffix(".")


class Ledger:
    """The witnesses of one page, in order; ``show()`` ends the page and keeps them for the book."""

    COLUMNS = ("step", "kind", "says", "how", "twin")

    def __init__(self, page: str, defaults: Defaults | None = None):
        self.page, self.rows = page, []
        self.defaults = defaults or Defaults({}, {})

    def proved(self, step: str, says: str, claim, twin) -> None:
        """A claim for all values: a z3 formula, a sympy identity or truth, or :class:`Positive`."""
        self._enter("proved", step, says, claim, twin)

    def checked(self, step: str, says: str, theorem: str) -> None:
        """A theorem of formal/duel.v, with its twin, whose negation is a theorem there."""
        self._enter("checked", step, says, Checked(theorem), Checked(theorem, twin=True))

    def exact(self, step: str, says: str, claim, twin) -> None:
        """A truth, an array of truths, or :class:`AtMost`, computed without sampling."""
        self._enter("exact", step, says, claim, twin)

    def measured(self, step: str, says: str, claim: Mean, twin: Mean) -> None:
        """A claim on an expectation, see :class:`Mean`."""
        self._enter("measured", step, says, claim, twin)

    def _enter(self, kind: str, step: str, says: str, claim, twin) -> None:
        (seen_as, holds, how), (_, twin_holds, twin_how) = _check(claim), _check(twin)
        if isinstance(twin, AtMost):
            twin_holds = not twin.refuted()  # a twin that says nothing is not refused
        if seen_as != kind:
            raise Refused(f"{step}: a {seen_as} check was entered as {kind}.")
        if not holds and not self._spares(claim):
            raise Refused(f"{step}: {says} - does not hold ({how}).")
        if holds and twin_holds and not self.defaults.changed:
            raise Refused(f"{step}: {says} - the wrong twin holds too ({twin_how}).")
        if twin_holds or not holds:
            kind, how = OPEN, f"no verdict with {self.defaults}; the claim: {how}"
        row = dict(zip(self.COLUMNS, (step, kind, says, how, twin_how), strict=True))
        self.rows.append(row | {"anchor": self._anchor(step)})
        _display(Verdict(self.rows[-1]))

    def _spares(self, claim) -> bool:
        """Whether a failed claim stays open: asserted for the defaults only, or not refuted."""
        unsettled = isinstance(claim, Mean | AtMost) and not claim.refuted()
        return bool(self.defaults.changed) and (self.defaults.asserting or unsettled)

    def _anchor(self, step: str) -> str:
        """The name of this verdict in the book: page and step, numbered from the second on."""
        earlier = sum(row["step"] == step for row in self.rows)
        name = re.sub(r"[^a-z0-9]+", "-", f"w {self.page} {step}".lower()).strip("-")
        return f"{name}-{earlier + 1}" if earlier else name

    def show(self) -> "Ledger":
        """This ledger, for display; it is also written to the results for the page of ledgers."""
        tables.write_text(f"ledgers/{self.page}.json", json.dumps(self.rows, indent=1))
        return self

    def _repr_html_(self) -> str:
        names = ("step", "kind", "claim", "seen by", "wrong variant")
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(self._line(row) for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return (
            f'<details class="ledger"><summary>{self._counts()}</summary><div class="ledger">'
            f"<p>Every wrong variant was refused.{self._count()[1]}</p>{table}</div></details>"
        )

    def _counts(self) -> str:
        """How many checks there are of each kind."""
        kinds = [row["kind"] for row in self.rows]
        each = [f"{kinds.count(kind)} {kind}" for kind in (*KINDS, OPEN) if kind in kinds]
        return f"{len(kinds)} checks: {', '.join(each)}"

    def _line(self, row: dict) -> str:
        claim, wrong = texts(row["says"])
        last = f"{wrong}: {row['twin']}" if wrong else row["twin"]
        rest = (escape(text) for text in (row["kind"], claim, row["how"], last))
        cells = (f'<a href="#{row["anchor"]}">{escape(row["step"])}</a>', *rest)
        return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"

    def __repr__(self) -> str:
        held, more = self._count()
        return f"{self.page}: {held} witnesses hold, every wrong twin was refused{more}"

    def _count(self) -> tuple[int, str]:
        """How many witnesses hold, and a sentence about those that are open."""
        unsettled = sum(row["kind"] == OPEN for row in self.rows)
        more = f" Open with {self.defaults}: {unsettled} more." if unsettled else ""
        return len(self.rows) - unsettled, more


def _display(thing) -> None:
    from IPython.display import display

    display(thing)


def _check(claim) -> tuple[str, bool, str]:
    """The kind of a claim, whether it holds, and how that was seen."""
    if isinstance(claim, Mean):
        return "measured", *claim.check()
    if isinstance(claim, Positive):
        return "proved", *claim.check()
    if isinstance(claim, Checked):
        return "checked", *claim.check()
    if isinstance(claim, AtMost):
        return "exact", *claim.check()
    if type(claim).__module__.startswith("z3"):
        return "proved", *_solve(claim)
    if type(claim).__module__.startswith("sympy"):
        return "proved", *_simplify(claim)
    truths = np.asarray(claim)
    if truths.dtype != bool or truths.size == 0:
        raise TypeError(
            f"a claim is {claim!r}; it must be truths, a formula, AtMost, Positive or Mean."
        )
    good, all_ = int(truths.sum()), truths.size
    return "exact", good == all_, f"{good} of {all_} instance{'s' if all_ > 1 else ''}"


def _solve(formula) -> tuple[bool, str]:
    import z3

    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(z3.Not(formula))
    answer = solver.check()
    if answer == z3.unsat:
        return True, "z3: no counterexample over the reals"
    if answer == z3.unknown:
        return False, "z3 cannot decide it"
    model = solver.model()
    values = sorted(f"{v} = {model[v]}" for v in model.decls() if v.arity() == 0)
    return False, "counterexample " + ", ".join(values)


def _simplify(claim) -> tuple[bool, str]:
    import sympy

    if isinstance(claim, sympy.logic.boolalg.BooleanAtom | bool):
        return bool(claim), "sympy"
    if isinstance(claim, sympy.Equality):
        claim = claim.lhs - claim.rhs
    rest = sympy.simplify(claim)
    return rest == 0, "sympy: the difference is 0" if rest == 0 else f"sympy: {rest} remains"
