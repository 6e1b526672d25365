"""The back matter: what it refuses, how it reads formulas, what its tables look like."""

import csv
import json

import pytest

from edition import backmatter, notebook, place, tables

LEDGERS = {"ucb": [{"step": "Lemma A", "anchor": "w-a"}, {"step": "Lemma A", "anchor": "w-a-2"}]}


def entry(**changes):
    return {"id": "E1", "verdict": "gap", "evidence": {"ucb": ["Lemma A"]}, **changes}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A book of two theory chapters, with their ledgers and errata."""
    (tmp_path / "_toc.yml").write_text(
        "chapters:\n- file: book/theory/game\n- file: book/theory/ucb\n"
    )
    (tmp_path / "book" / "back").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for page in ("ucb", "game"):
        tables.write_text(f"ledgers/{page}.json", json.dumps(LEDGERS.get(page, [])))
    return tmp_path


def test_ledgers_are_those_of_the_theory_chapters_in_their_order(root):
    assert list(backmatter.ledgers()) == ["game", "ucb"]
    assert backmatter.ledgers()["ucb"] == LEDGERS["ucb"]


def test_evidence_is_the_first_row_of_its_step():
    assert backmatter.evidence(entry(), LEDGERS) == [("ucb", LEDGERS["ucb"][0])]


@pytest.mark.parametrize("evidence", [{"ucb": ["Lemma C"]}, {"ubc": ["Lemma A"]}])
def test_a_step_that_is_in_no_ledger_is_refused(evidence):
    with pytest.raises(ValueError, match=r"E1: the ledger of .* has no step"):
        backmatter.evidence(entry(evidence=evidence), LEDGERS)


def test_an_erratum_without_evidence_is_refused():
    with pytest.raises(ValueError, match="E1 has no evidence"):
        backmatter.evidence({"id": "E1", "verdict": "gap"}, LEDGERS)
    assert backmatter.evidence({"id": "E1", "see": "there"}, LEDGERS) == []


def test_errata_are_sorted_by_severity(root):
    verdicts = {"E1": "typo", "E2": "gap", "E3": "false"}
    known = [entry(id=name, verdict=verdict) for name, verdict in verdicts.items()]
    (root / "book" / "back" / "errata.yml").write_text(json.dumps(known))
    found = backmatter.errata(backmatter.ledgers())
    assert [(e["id"], e["severity"]) for e in found] == [
        ("E3", "false"),
        ("E2", "gap"),
        ("E1", "typo"),
    ]
    assert backmatter.links({**found[0], "see": "there"}) == "*ucb*: {ref}`Lemma A <w-a>`. there"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\hat\mu_{x,n}\le\frac{\alpha+2}2", {r"\hat \mu", "x", "n", r"\alpha"}),
        (r"\mathbb E[R^{\rm av}(T)]", {r"\mathbb E", "R", "av", "T"}),
        (r"\operatorname{Var} u + \mathrm{kl}(p',q)", {"Var", "u", "kl", "p", "q"}),
        (r"\tilde{\Pr}[E]\text{ as before}", {r"\tilde \Pr", "E"}),
        (r"\sum_{t\le T}\ln t\,\mathbf 1\{x\}", {"t", "T", r"\mathbf 1", "x"}),
    ],
)
def test_symbols_of_a_formula(formula, expected):
    assert backmatter.symbols(formula) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (r"\Delta_x", {r"\Delta"}),
        (r"R_{xy}(n),\ R^s", {"R"}),
        (r"B(n(T)),\ c_{n,t}", {"B", "c"}),
        (r"U^{\rm av}_t", {"U", "av"}),
        (r"P[x,y]", {"P"}),
    ],
)
def test_indices_and_arguments_introduce_nothing(symbol, expected):
    assert backmatter.heads(symbol) == expected


def test_formulas_of_a_text():
    text = "Let $a$ and `$b$` be {glue:text}`x$y$`.\n\n$$\nc\n$$ (eq)\n\nThen $d_{e}$."
    assert backmatter.formulas(text) == ["a", "\nc\n", "d_{e}"]


def test_a_table_keeps_its_bars_and_escapes_its_text():
    shown = notebook.table(("a", "b"), [("$|x|$", backmatter.plain("x* <= D_y"))]).data
    assert shown.splitlines()[1:] == ["| --- | --- |", r"| $\|x\|$ | x\* \<= D\_y |"]


def test_places_know_their_role():
    found = [backmatter.reference(label) for label in ("../experiments/figure", "sec-a", "thm-b")]
    assert found == ["{doc}`../experiments/figure`", "{ref}`sec-a`", "{prf:ref}`thm-b`"]


def test_a_file_keeps_commas_and_quotes(root):
    rows = [["a, b", 'say "c"'], ["$d$", "e\nf"]]
    tables.write_csv("errata", ("x", "y"), rows)
    with (tables.folder() / "errata.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["x", "y"], *rows]


def test_pages_of_proofs_have_names_of_their_own(root):
    """A chapter and an appendix may stand side by side, their ledgers may not be one file."""
    assert place.proofs(root) == {"game": "book/theory/game", "ucb": "book/theory/ucb"}
    with (root / "_toc.yml").open("a") as toc:
        toc.write("- file: book/appendix/ucb\n")
    with pytest.raises(place.Refusal, match="two pages of proofs of one name"):
        place.proofs(root)
