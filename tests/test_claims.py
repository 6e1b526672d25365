"""Verdicts follow the evidence: other data, another verdict; missing evidence, no page."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from dueling import Result
from dueling.section7 import NAMES
from edition import place, verdicts
from edition.verdicts import CHOICES, FALSE, NOT, OPEN, REPRODUCED, VERDICTS

ROOT = Path(__file__).parents[1]
PARTS = yaml.safe_load((ROOT / "book" / "experiments" / "claims.yml").read_text())
ALL = [claim for part in PARTS.values() for claim in part]
ROW = {"step": "Lemma, step 1", "kind": "exact", "says": "...", "anchor": "w-ucb-lemma"}
LEDGERS = {"ucb": [ROW, ROW | {"step": "Lemma, step 2"}]}
STEP = {"ucb": "Lemma, step 1"}


def source(name):
    """The code cells of a notebook, by id."""
    cells = json.loads((ROOT / f"{name}.ipynb").read_text())["cells"]
    return {c["id"]: "".join(c["source"]) for c in cells if c["cell_type"] == "code"}


# The data


def test_claims_are_named_once_and_say_where():
    assert len({claim["id"] for claim in ALL}) == len(ALL) >= 40
    assert all(claim["place"] and claim["says"].endswith((".", ".)")) for claim in ALL)
    known = {"id", "place", "says", "note", "rule", "linear", *verdicts.ROLES}
    assert all(set(claim) <= known for claim in ALL)
    assert {claim["rule"] for claim in ALL if "rule" in claim} == set(verdicts.RULES)
    assert set(verdicts.PAGES) == set(verdicts.RULES)


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim["id"])
def test_the_witnesses_that_a_claim_names_are_in_the_chapters(claim):
    for role in verdicts.ROLES:
        for page, steps in claim.get(role, {}).items():
            text = "\n".join(source(place.proofs(ROOT)[page]).values())
            for step in [steps] if isinstance(steps, str) else steps:
                assert f'"{step}"' in text


def test_the_page_needs_what_its_claims_name():
    page = json.loads((ROOT / "book/experiments/claims.ipynb").read_text())
    needed = set(page["metadata"]["needs"])
    named = {page for c in ALL for role in verdicts.ROLES for page in c.get(role, {})}
    assert {place.proofs(ROOT)[page] for page in named} <= needed
    assert {f"book/experiments/{p}" for pages in verdicts.PAGES.values() for p in pages} <= needed


# Witnesses


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ({}, OPEN),
        ({"proved": STEP}, REPRODUCED),
        ({"proved": {"ucb": ["Lemma, step 1", "Lemma, step 2"]}}, REPRODUCED),
        ({"proved": STEP, "under": STEP}, CHOICES),
        ({"short": STEP}, NOT),
        ({"refuted": STEP}, FALSE),
        ({"refuted": STEP, "proved": STEP}, FALSE),
    ],
)
def test_witnesses_decide(evidence, verdict):
    assert verdicts.from_witnesses({"id": "x"} | evidence, LEDGERS) == verdict


def test_open_witnesses_show_nothing():
    ledgers = {"ucb": [row | {"kind": "open"} for row in LEDGERS["ucb"]]}
    assert verdicts.from_witnesses({"id": "x", "refuted": STEP}, ledgers) == OPEN


@pytest.mark.parametrize("role", verdicts.ROLES)
def test_a_witness_that_is_gone_stops_the_page(role):
    claim = {"id": "x", role: {"ucb": "Lemma, step 3"}}
    with pytest.raises(LookupError, match="claim x names the step 'Lemma, step 3', which page ucb"):
        verdicts.from_witnesses(claim, LEDGERS)


# Results


def columns(names, *rows):
    return {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True))}


def table_of_verdicts(R1=16, R2=16, R3=16):
    held = {"R1": R1, "R2": R2, "R3": R3}
    return {R: np.array(["holds"] * n + ["fails"] * (16 - n)) for R, n in held.items()}


def grid(*settings):
    found = columns(("alpha", "c", "R1", "R2", "R3"), *settings)
    return found | {f"{R} fails": 16 - found[R] for R in ("R1", "R2", "R3")}


ALL_HOLD, R1_FAILS = (-1.0, 1.0, 16, 16, 16), (3.0, 1.0, 5, 16, 0)


@pytest.mark.parametrize(
    ("rule", "figure", "settings", "verdict"),
    [
        ("R1", table_of_verdicts(), [ALL_HOLD, ALL_HOLD], REPRODUCED),
        ("R1", table_of_verdicts(), [ALL_HOLD, R1_FAILS], CHOICES),
        ("R1", table_of_verdicts(R1=15), [R1_FAILS, ALL_HOLD], CHOICES),
        ("R1", table_of_verdicts(R1=15), [R1_FAILS, R1_FAILS], NOT),
        ("R2", table_of_verdicts(R2=6), [ALL_HOLD], CHOICES),
        ("R3", table_of_verdicts(R3=9), [ALL_HOLD], REPRODUCED),
        ("R3", table_of_verdicts(R3=8), [R1_FAILS], NOT),
        ("together", table_of_verdicts(), [ALL_HOLD, ALL_HOLD], REPRODUCED),
        ("together", table_of_verdicts(), [ALL_HOLD, R1_FAILS], CHOICES),
        ("together", table_of_verdicts(), [R1_FAILS], NOT),
    ],
)
def test_the_sentences_of_the_experiments(rule, figure, settings, verdict):
    tables = {"figure-verdicts": figure, "choices-map": grid(*settings)}
    found, said = verdicts.RULES[rule](tables.get)
    assert found == verdict and "setting" in said


def curves(multisbm):
    names = ("scenario", "algorithm", "t", "mean")
    early = [("YJ", a, 1, 1.0) for a in ("MultiSBM", "IF")]
    return columns(names, *early, ("YJ", "MultiSBM", 2, multisbm), ("YJ", "IF", 2, 10.0))


def exponents(value):
    rows = [("MultiSBM", "K-1", value), ("MultiSBM", "1/gap", 9.0), ("Doubler", "K-1", 9.0)]
    return columns(("algorithm", "exponent of", "simulated"), *rows)


def shares(early, late):
    return columns(("scenario", "share"), ("1good/linear", early), ("1good/linear long", late))


def two(sparring):
    rate = {"Sparring": sparring, "MultiSBM": 0.3, "Doubler": 0.3}
    rows = [("another best arm", a, v) for a, v in rate.items()]
    return columns(
        ("valuations", "algorithm", "regret per round"), *rows, ("the same best arm", "IF", 0.0)
    )


def ties(worst):
    return columns(("algorithm", "regret per round"), ("Sparring", worst), ("MultiSBM", 0.2))


@pytest.mark.parametrize(
    ("rule", "tables", "verdict"),
    [
        ("tournaments", {"growth-curves": curves(20.0)}, CHOICES),
        ("tournaments", {"growth-curves": curves(50.0)}, NOT),
        ("tournaments", {"growth-curves": curves(2.0)}, NOT),
        ("arms", {"growth-exponents": exponents(1.05)}, REPRODUCED),
        ("arms", {"growth-exponents": exponents(1.4)}, CHOICES),
        ("arms", {"growth-exponents": exponents(2.1)}, NOT),
        ("dominated", {"growth-share": shares(0.9, 0.85)}, REPRODUCED),
        ("dominated", {"growth-share": shares(0.3, 0.4)}, CHOICES),
        ("dominated", {"growth-share": shares(0.4, 0.3)}, NOT),
        ("conjecture", {"growth-predicted": {"Sparring; median": np.array([1.2])}}, OPEN),
        ("conjecture", {"growth-predicted": {"Sparring; median": np.array([2.2])}}, NOT),
        ("stuck", {"tails-sparring": columns(("s", "above"), (250, 0.1), (500, 0.01))}, REPRODUCED),
        ("stuck", {"tails-sparring": columns(("s", "above"), (250, 0.1), (500, 0.0))}, NOT),
        ("sides", {"beyond-two": two(0.001), "beyond-ties": ties(0.2)}, CHOICES),
        ("sides", {"beyond-two": two(0.001), "beyond-ties": ties(0.001)}, REPRODUCED),
        ("sides", {"beyond-two": two(0.2), "beyond-ties": ties(0.2)}, NOT),
    ],
)
def test_other_results_give_another_verdict(rule, tables, verdict):
    assert verdicts.RULES[rule](tables.get)[0] == verdict


def test_the_progressions_are_checked(monkeypatch):
    assert verdicts.progressions({}.get)[0] == REPRODUCED
    bent = {"arith": (0.8, 0.7, 0.6, 0.45, 0.325, 0.2), "geom": verdicts.UTILITIES["geom"]}
    monkeypatch.setattr(verdicts, "UTILITIES", bent)
    assert verdicts.progressions({}.get)[0] == NOT


# The ledger


def test_a_judged_claim_names_its_evidence():
    claim = {"id": "x", "place": "p", "says": "s", "proved": STEP, "under": STEP}
    found = verdicts.judge(claim, LEDGERS, {}, {}.get)
    assert found["verdict"] == CHOICES and found["pages"] == ["book/theory/ucb"]
    assert [row["step"] for row in found["witnesses"]] == ["Lemma, step 1"]


def test_a_claim_with_a_rule_is_judged_by_its_results():
    claim = {"id": "x", "place": "p", "says": "s", "rule": "arms", "proved": STEP}
    found = verdicts.judge(claim, LEDGERS, {}, {"growth-exponents": exponents(1.4)}.get)
    assert found["verdict"] == CHOICES and "local exponents 1.40 to 1.40" in found["numbers"]
    assert found["pages"] == ["book/theory/ucb", "book/experiments/growth"]
    other = verdicts.judge(claim, LEDGERS, {}, {"growth-exponents": exponents(2.1)}.get)
    assert other["verdict"] == NOT


def test_a_verdict_of_the_linear_page_is_taken_over():
    linear = {"y": {"verdict": FALSE, "evidence": "e"}}
    claim = {"id": "x", "place": "p", "says": "s", "linear": "y"}
    assert verdicts.judge(claim, LEDGERS, linear, {}.get)["verdict"] == FALSE
    with pytest.raises(ValueError, match="claim x: reproduced by witnesses, false as stated"):
        verdicts.judge(claim | {"proved": STEP}, LEDGERS, linear, {}.get)
    with pytest.raises(ValueError, match="'perhaps' is not a verdict"):
        verdicts.judge(claim, LEDGERS, {"y": {"verdict": "perhaps", "evidence": ""}}, {}.get)


def test_the_tally_counts_all():
    found = verdicts.tally([{"verdict": OPEN}, {"verdict": FALSE}, {"verdict": OPEN}])
    assert found == dict.fromkeys(VERDICTS, 0) | {OPEN: 2, FALSE: 1}


# A sentence whose data do not bear it stops the build


def panel(level):
    """Results in which the algorithms rank as given, in every scenario."""
    rng = np.random.default_rng(1)
    end = np.array([32000])
    noisy = {a: v + 0.1 * rng.normal(size=(400, 1)) for a, v in level.items()}
    return {a: Result(end, {"regret": regret}, {}) for a, regret in noisy.items()}


RANKS = {"Sparring": 1.0, "MultiSBM": 2.0, "Doubler": 3.0, "IF": 4.0, "BTMB": 5.0}


def conclude(results, tmp_path, monkeypatch):
    """Run the figure's cells of verdicts and assertions on these results."""
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    cells = source("book/experiments/figure")
    given = {"runs": 400, "horizon": 32000, "seed": 2014, "workers": 1, "about": {}}
    exec(cells["imports"], given)
    given |= {"results": results}
    exec(cells["verdicts"], given)
    exec(cells["assertions"], given)


def test_a_sentence_that_its_data_do_not_bear_stops_the_build(tmp_path, monkeypatch):
    same = {n: panel(RANKS) for n in NAMES}
    conclude(same, tmp_path, monkeypatch)
    worse = same | {"YJ": panel(RANKS | {"Sparring": 2.5})}
    with pytest.raises(AssertionError, match="Sparring is best everywhere"):
        conclude(worse, tmp_path, monkeypatch)
    other = {n: panel(RANKS | {"IF": 2.5}) for n in NAMES}
    with pytest.raises(AssertionError, match="not among the top two"):
        conclude(other, tmp_path, monkeypatch)
