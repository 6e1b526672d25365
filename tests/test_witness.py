"""A witness holds when its claim holds and its wrong twin is refused; all else stops the page."""

import json
from fractions import Fraction as F

import numpy as np
import pytest
import sympy as sp
import z3
from mpmath import iv

from edition import tables
from edition.notebook import Defaults
from edition.witness import AtMost, Ledger, Mean, Positive, Refused, Verdict

a, b, c, g = z3.Reals("a b c g")
x, y = sp.symbols("x y")
COINS = np.repeat([0.0, 1.0], [400, 600])
GOOD_BAD = {
    "z3": (
        z3.Implies(z3.And(a + c >= b + g, g >= 2 * c), a >= b + c),
        z3.Implies(z3.And(a + c >= b + g, g >= c), a >= b + c),
    ),
    "sympy": ((x + y) ** 2 - x**2 - 2 * x * y - y**2, (x + y) ** 2 - x**2 - y**2),
    "sympy equation": (sp.Eq((x + y) * (x - y), x**2 - y**2), sp.Eq((x + y) ** 2, x**2 + y**2)),
    "sympy truth": (sp.true, sp.false),
    "intervals": (
        Positive(lambda t: t - iv.log(t) - iv.mpf("0.99"), (0.1, 5)),
        Positive(lambda t: t - iv.log(t) - iv.mpf("1.01"), (0.1, 5)),
    ),
    "truths": (np.ones((2, 3), bool), np.array([True, False])),
    "bounds": (
        AtMost([0.2, 0.9], [0.5, 1.5], trivial=1),
        AtMost([0.2, 0.9], [0.1, 1.5], trivial=1),
    ),
    "at most": (Mean(COINS, at_most=0.7), Mean(COINS, at_most=0.62)),
    "at least": (Mean(COINS, at_least=0.5), Mean(COINS, at_least=0.58)),
    "equals": (Mean(COINS + 0.5, equals=1.1), Mean(COINS + 0.5, equals=1.2)),
}
KIND = {
    "truths": "exact",
    "bounds": "exact",
    "at most": "measured",
    "at least": "measured",
    "equals": "measured",
}


def enter(name, claim, twin):
    ledger = Ledger("page")
    getattr(ledger, KIND.get(name, "proved"))("step", "a claim", claim, twin)
    return ledger


@pytest.mark.parametrize("name", GOOD_BAD)
def test_a_true_claim_with_a_false_twin_holds(name):
    ledger = enter(name, *GOOD_BAD[name])
    assert ledger.rows[0]["kind"] == KIND.get(name, "proved")


@pytest.mark.parametrize("name", GOOD_BAD)
def test_a_false_claim_is_refused(name):
    _, bad = GOOD_BAD[name]
    with pytest.raises(Refused, match="does not hold"):
        enter(name, bad, bad)


@pytest.mark.parametrize("name", GOOD_BAD)
def test_a_true_twin_is_refused(name):
    good, _ = GOOD_BAD[name]
    with pytest.raises(Refused, match="twin holds too"):
        enter(name, good, good)


def test_a_check_of_another_kind_is_refused():
    with pytest.raises(Refused, match="exact check was entered as proved"):
        Ledger("page").proved("step", "a claim", np.True_, np.False_)


def test_what_is_no_claim_is_refused():
    for nothing in (np.array([]), 3, "yes"):
        with pytest.raises(TypeError, match="a claim is"):
            Ledger("page").exact("step", "a claim", nothing, np.False_)


def test_an_open_question_is_not_a_proof():
    never = Positive(lambda t: t * t, (-1, 1), pieces=50)
    assert never.check() == (False, "fails at 0")
    slow = Positive(lambda t: t * t - 2 * t * iv.sqrt(2) + 2, (1, 2), pieces=50)
    assert slow.check() == (False, "not settled on 50 pieces")


def test_a_counterexample_is_shown():
    row = enter("z3", *GOOD_BAD["z3"]).rows[0]
    assert row["how"] == "z3: no counterexample over the reals"
    assert row["twin"].startswith("counterexample a = ")


def test_a_verdict_is_shown_where_it_was_found_and_can_be_linked_to(capsys):
    ledger = Ledger("page")
    for step in ("Lemma A, step 1", "Lemma A, step 2", "Lemma A, step 1"):
        ledger.exact(step, "a claim", np.True_, np.False_)
    first = "w-page-lemma-a-step-1"
    assert [row["anchor"] for row in ledger.rows][::2] == [first, f"{first}-2"]
    assert (
        capsys.readouterr().out.count("exact: 1 of 1 instance. Wrong variant refused: 0 of 1") == 3
    )
    says = {"says": "a < b. Twin: b < a.", "how": "z3", "twin": "a = 1 & b = 2"}
    shown = Verdict(says | {"kind": "proved", "step": "Order", "anchor": first})._repr_html_()
    assert f'<details class="witness proved" id="{first}"><summary>' in shown
    assert "<b>✓ proved</b> <i>Order</i>: a &lt; b</summary>" in shown
    assert "Seen by</b> z3." in shown
    assert "Wrong variant</b>: b &lt; a: refused, a = 1 &amp; b = 2." in shown
    assert ledger._repr_html_().count(f'<a href="#{first}') == 2


def test_a_mean_that_claims_nothing_is_no_witness():
    with pytest.raises(TypeError, match="claims nothing"):
        Mean(np.zeros(50)).check()


def test_no_event_at_all_is_no_sign_of_a_rise():
    assert not Mean(np.zeros(50), at_least=0).check()[0]


def test_bounds_say_how_much_they_say():
    for truth, bound, trivial, how in [
        ([F(1, 3), F(1, 2)], [F(1, 2), 1], 1, "2 cases, 1 not trivial, truth/bound at most 0.667"),
        (0, [0, 2], np.inf, "2 cases, 2 not trivial, truth/bound at most 0"),
        (3, [[4, 3]], [[4, 9]], "2 cases, 1 not trivial, truth/bound at most 1"),
    ]:
        assert AtMost(truth, bound, trivial).check() == (True, how)
    assert AtMost(2.0, [1.0, 4.0]).check() == (
        False,
        "2 cases, 2 not trivial, truth/bound at most 2",
    )
    assert AtMost(1.0, [0.0, 4.0]).check()[1].endswith("at most inf")


def test_bounds_that_say_nothing_are_refused_and_are_no_twin():
    silent, good, bad = AtMost(0.3, [1, 2], trivial=1), AtMost(0.3, 0.5), AtMost(0.6, [0.5, 2])
    assert silent.check() == (False, "2 cases, every one trivial") and not silent.refuted()
    with pytest.raises(Refused, match=r"does not hold \(2 cases, every one trivial"):
        enter("bounds", silent, bad)
    with pytest.raises(Refused, match="twin holds too"):
        enter("bounds", good, silent)
    assert AtMost(np.nan, 1).refuted() and AtMost(0, np.nan).refuted()
    assert opened(silent, bad, "exact").rows[0]["kind"] == "open"


def test_proportions_have_exact_limits():
    none, all_ = Mean(np.zeros(50)), Mean(np.ones(50))
    assert none.limits()[0] == 0 and all_.limits()[1] == 1
    assert none.limits()[1] == pytest.approx(1 - 0.00005 ** (1 / 50))


def test_a_ledger_is_shown_and_kept(tmp_path, monkeypatch):
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    ledger = enter("truths", *GOOD_BAD["truths"]).show()
    assert json.loads((tables.folder() / "ledgers/page.json").read_text()) == ledger.rows
    assert "<td>a claim</td>" in ledger._repr_html_() and "1 witnesses hold" in repr(ledger)


# Changed parameters


CHANGED = Defaults({"T": 60}, {"T": 8})
MANY = Mean(COINS, at_most=0.62)  # 600 of 1000: the limits are .539 and .659


def opened(claim, twin, kind="measured", defaults=CHANGED):
    ledger = Ledger("page", defaults)
    getattr(ledger, kind)("step", "a claim", claim, twin)
    return ledger


def test_with_changed_parameters_a_check_without_power_is_open(capsys):
    for claim, twin, kind in [
        (MANY, MANY, "measured"),  # not settled
        (Mean(COINS, at_most=0.7), Mean(COINS, at_most=0.7), "measured"),  # the twin holds too
        (np.True_, np.True_, "exact"),
    ]:
        ledger = opened(claim, twin, kind)
        assert ledger.rows[0]["kind"] == "open"
        assert "0 witnesses hold" in repr(ledger) and "Open with T = 8" in ledger._repr_html_()
    assert capsys.readouterr().out.count("open: no verdict with T = 8 (default 60)") == 3


@pytest.mark.parametrize("claim", [np.False_, Mean(COINS, at_most=0.5), Mean(COINS, equals=0.5)])
def test_with_changed_parameters_a_false_claim_stops_the_page(claim):
    kind = "measured" if isinstance(claim, Mean) else "exact"
    with pytest.raises(Refused, match="does not hold"):
        opened(claim, claim, kind)
    with CHANGED:  # asserted for the defaults only
        assert opened(claim, claim, kind).rows[0]["kind"] == "open"


def test_with_the_defaults_nothing_stays_open():
    for claim in (MANY, Mean(COINS, at_most=0.7)):
        usual = Defaults({"T": 60}, {"T": 60})
        with pytest.raises(Refused), usual:
            opened(claim, claim, defaults=usual)
