"""Theorems checked by Coq: the record is of the file, and what Coq refuses is no theorem."""

import shutil
from pathlib import Path

import pytest

from edition import formal
from edition.formal import Checked
from edition.place import Refusal
from edition.witness import Ledger, Refused

ROOT = Path(__file__).parents[1]
coq = pytest.mark.skipif(not shutil.which("coqc"), reason="coqc is not installed")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "formal", tmp_path / "formal")
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_record_is_of_this_file_and_every_theorem_has_a_refuted_twin():
    names = formal.theorems(formal.source(ROOT))
    assert list(formal.recorded(ROOT)["theorems"]) == names
    proved = [name for name in names if not name.endswith("_twin")]
    assert proved and {*names} == {*proved} | {f"{name}_twin" for name in proved}


def test_a_twin_is_stated_as_a_negation():
    for name in formal.theorems(formal.source(ROOT)):
        assert Checked(name).statement(ROOT).startswith("~") == name.endswith("_twin")


def test_a_witness_of_the_kind_checked(checkout, capsys):
    ledger = Ledger("page")
    ledger.checked("Observation C.1", "half a gap, for every T", "observation_C_1")
    (row,) = ledger.rows
    assert row["kind"] == "checked" and row["how"].startswith("Coq 8.")
    assert row["twin"].startswith("forall x y") and row["twin"].endswith("<= 1/4")
    with pytest.raises(Refused, match="does not hold"):
        ledger.checked("Conjecture", "what nobody has proved", "conjecture")


def test_a_changed_file_is_not_checked(checkout):
    path = checkout / "formal" / "duel.v"
    path.write_text(path.read_text().replace("<= 1/2", "<= 1/3"))
    with pytest.raises(Refusal, match="changed since it was checked"):
        Checked("observation_C_1").check()


@coq
def test_coq_finds_what_is_recorded():
    fresh, record = formal.examined(formal.source(ROOT)), formal.recorded(ROOT)
    assert fresh["theorems"] == record["theorems"] and fresh["sha256"] == record["sha256"]


@coq
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Theorem t : 1 = 2.\nProof. reflexivity. Qed.", "Coq refuses"),
        ("Theorem t : 1 = 2.\nProof. Admitted.", "t rests on t; it must be proved"),
        ("Axiom a : 1 = 2.\nTheorem t : 1 = 2.\nProof. exact a. Qed.", "t rests on a; it must be"),
    ],
)
def test_what_is_not_proved_is_refused(text, sentence):
    with pytest.raises(Refusal, match=sentence):
        formal.examined(text)


def test_without_coq_there_is_a_sentence(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Refusal, match="coqc is not installed"):
        formal.examined("")
    kept = (checkout / "formal" / "checked.json").read_bytes()
    with pytest.raises(SystemExit, match="coqc is not installed"):
        formal.main()
    assert (checkout / "formal" / "checked.json").read_bytes() == kept


#: Answers as Coq gives them: the file's own messages, then one about each theorem.
FAKE = """#!/bin/sh
if test "$1" = --print-version; then echo 8.16.1 4.14.1; exit; fi
cp "$1" "$ASKED"
echo Some message of the file
echo Axioms:
echo "Coq.Reals.sig : Type"
echo Closed under the global context
"""


@pytest.mark.parametrize("axioms", [{"Coq.Reals.sig"}, set()])
def test_what_coq_finds_is_kept_with_the_axioms_below_each_theorem(
    checkout, monkeypatch, capsys, axioms
):
    (checkout / "coqc").write_text(FAKE)
    (checkout / "coqc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{checkout}:/usr/bin:/bin")
    monkeypatch.setenv("ASKED", str(checkout / "asked.v"))
    monkeypatch.setattr(formal, "REALS", axioms)
    text = "Theorem one : 1 = 1.\nTheorem one_twin : ~ 1 = 2.\n"
    (checkout / "formal" / "duel.v").write_text(text)
    if not axioms:
        with pytest.raises(SystemExit, match=r"one rests on Coq\.Reals\.sig; it must be proved"):
            formal.main()
        return
    formal.main()
    asked = (checkout / "asked.v").read_text()
    assert asked == f"{text}\nPrint Assumptions one.\nPrint Assumptions one_twin.\n"
    assert capsys.readouterr().out == "Coq 8.16.1: 1 theorems, and 1 false variants refuted.\n"
    record = formal.recorded(checkout)
    assert record["theorems"] == {"one": ["Coq.Reals.sig"], "one_twin": []}
