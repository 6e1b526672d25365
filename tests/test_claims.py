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
    known = {"id", "place", "says", "note", "rule", "linear", "by", "errata", *verdicts.ROLES}
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


@pytest.mark.parametrize(
    ("role", "verdict"), [("under", CHOICES), ("short", OPEN), ("refuted", OPEN)]
)
def test_an_open_witness_improves_no_verdict(role, verdict):
    unsettled = {"ucb": [ROW, ROW | {"step": "Lemma, step 2", "kind": "open"}]}
    claim = {"id": "x", "proved": STEP, role: {"ucb": "Lemma, step 2"}}
    assert verdicts.from_witnesses(claim, unsettled) == verdict


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
        ("R1", table_of_verdicts(R1=15), [R1_FAILS, R1_FAILS, ALL_HOLD], NOT),
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
    found, said = verdicts.RULES[rule](mapped(figure, settings).get)
    assert found == verdict and "setting" in said


def mapped(figure, settings, fresh=None):
    confirmed = grid(*(fresh or [max(settings, key=lambda row: row[4])]))
    return {
        "figure-verdicts": figure,
        "choices-map": grid(*settings),
        "choices-confirmed": confirmed,
    }


def test_what_fresh_seeds_do_not_confirm_is_not_reproduced():
    tables = mapped(table_of_verdicts(), [ALL_HOLD, R1_FAILS], fresh=[R1_FAILS])
    found, said = verdicts.together(tables.get)
    assert found == NOT and "at 0 of them again with fresh seeds" in said and "R1 in 5" in said


def curves(multisbm, start=1.0):
    names = ("scenario", "algorithm", "t", "mean")
    early = [("YJ", "MultiSBM", 1, start), ("YJ", "IF", 1, 1.0)]
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


def tail(above, largest):
    shape = columns(
        ("algorithm", "largest", "median"), ("Sparring", largest, 1), ("MultiSBM", 1.2, 1)
    )
    return {
        "tails-sparring": columns(("s", "above"), (250, 0.1), (500, above)),
        "tails-shape": shape,
    }


def ties(worst):
    return columns(("algorithm", "regret per round"), ("Sparring", worst), ("MultiSBM", 0.2))


@pytest.mark.parametrize(
    ("rule", "tables", "verdict"),
    [
        ("tournaments", {"growth-curves": curves(15.0)}, REPRODUCED),
        ("tournaments", {"growth-curves": curves(15.0, start=3.0)}, CHOICES),
        ("tournaments", {"growth-curves": curves(20.0)}, CHOICES),
        ("tournaments", {"growth-curves": curves(50.0)}, NOT),
        ("tournaments", {"growth-curves": curves(2.0)}, NOT),
        ("arms", {"growth-exponents": exponents(1.05)}, REPRODUCED),
        ("arms", {"growth-exponents": exponents(1.4)}, CHOICES),
        ("arms", {"growth-exponents": exponents(2.1)}, NOT),
        ("dominated", {"growth-share": shares(0.9, 0.85)}, REPRODUCED),
        ("dominated", {"growth-share": shares(0.3, 0.4)}, CHOICES),
        ("dominated", {"growth-share": shares(0.4, 0.3)}, NOT),
        ("stuck", tail(0.01, largest=9.0), REPRODUCED),
        ("stuck", tail(0.001, largest=9.0), CHOICES),
        ("stuck", tail(0.01, largest=1.5), NOT),
        ("stuck", tail(0.0, largest=9.0), NOT),
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
    claim = {"id": "x", "place": "p", "says": "s", "proved": STEP, "under": STEP, "by": ["lem-x"]}
    found = verdicts.judge(claim, LEDGERS, {}, {}.get)
    assert found["verdict"] == CHOICES and found["pages"] == ["book/theory/ucb"]
    assert [row["step"] for row in found["witnesses"]] == ["Lemma, step 1"]
    assert found["by"] == "proof" and found["theorems"] == ["lem-x"]
    del claim["by"]
    with pytest.raises(ValueError, match="claim x is judged by proof; `by` must name the statem"):
        verdicts.judge(claim, LEDGERS, {}, {}.get)


def test_a_proof_of_less_decides_no_claim():
    claim = {"id": "x", "place": "p", "says": "s", "short": STEP, "by": ["lem-x"]}
    found = verdicts.judge(claim, LEDGERS, {}, {}.get)
    assert found["verdict"] == NOT and found["by"] == "less"


def test_a_claim_without_evidence_is_open_and_nobody_decided_it():
    found = verdicts.judge({"id": "x", "place": "p", "says": "s"}, LEDGERS, {}, {}.get)
    assert found["verdict"] == OPEN and found["by"] == ""


def test_what_is_false_has_the_worst_grade_of_its_errata():
    errata = [
        {"id": "E1", "verdict": "false", "grade": "constant"},
        {"id": "E2", "verdict": "false", "grade": "slip"},
        {"id": "E3", "verdict": "gap"},
    ]
    claim = {"id": "x", "verdict": FALSE, "errata": ["E2", "E1"]}
    assert verdicts.grade(claim, errata) == "constant"
    assert verdicts.grade(claim | {"verdict": NOT}, errata) == ""
    with pytest.raises(ValueError, match="claim x is false; E3 is no false erratum"):
        verdicts.grade(claim | {"errata": ["E1", "E3"]}, errata)


def test_every_false_erratum_is_a_false_claim():
    named = {e for c in ALL if "refuted" in c or "linear" in c for e in c.get("errata", [])}
    errata = yaml.safe_load((ROOT / "book" / "back" / "errata.yml").read_text())
    false = {e["id"] for e in errata if e["verdict"] == "false"}
    assert named == false
    assert all(("grade" in e) == (e["verdict"] == "false") for e in errata)


def test_a_claim_with_a_rule_is_judged_by_its_results():
    claim = {"id": "x", "place": "p", "says": "s", "rule": "arms", "proved": STEP}
    found = verdicts.judge(claim, LEDGERS, {}, {"growth-exponents": exponents(1.4)}.get)
    assert found["verdict"] == CHOICES and "local exponents 1.40 to 1.40" in found["numbers"]
    assert found["pages"] == ["book/theory/ucb", "book/experiments/growth"]
    other = verdicts.judge(claim, LEDGERS, {}, {"growth-exponents": exponents(2.1)}.get)
    assert other["verdict"] == NOT


def test_a_verdict_of_the_linear_page_is_taken_over():
    linear = {"y": {"verdict": FALSE, "evidence": "e"}}
    claim = {"id": "x", "place": "p", "says": "s", "linear": "y", "errata": ["E1"]}
    assert verdicts.judge(claim, LEDGERS, linear, {}.get)["verdict"] == FALSE
    with pytest.raises(ValueError, match="claim x is false; it must name its errata"):
        verdicts.judge(claim | {"errata": []}, LEDGERS, linear, {}.get)
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
