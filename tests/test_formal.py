"""Theorems checked by Coq: the record is of the file, and what Coq refuses is no theorem."""

import shutil
import sys
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


def test_without_coq_there_is_a_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Refusal, match="coqc is not installed"):
        formal.examined("")


@pytest.fixture
def stand_in(checkout, monkeypatch):
    """A program named coqc that gives the same answer to every question, or fails."""

    def answers(text, status=0):
        lines = [
            f"#!{sys.executable} -I",
            "import sys",
            "if sys.argv[1] == '--print-version':",
            "    sys.exit(print('8.99 4.14'))",
            "asked = open('duel.v').read().count('Print Assumptions')",
            f"print({text!r} * asked)",
            f"sys.exit({status} and 'line 1:\\n  Error')",
        ]
        path = checkout / "bin" / "coqc"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines))
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent))

    return answers


def test_the_record_says_what_coq_answered(checkout, stand_in, capsys):
    stand_in("Axioms:\nClassicalDedekindReals.sig_not_dec : forall P\n  : Prop, P\n")
    formal.main()
    record, names = formal.recorded(checkout), formal.theorems(formal.source(checkout))
    assert record["coq"] == "8.99" and list(record["theorems"]) == names
    assert all(r == ["ClassicalDedekindReals.sig_not_dec"] for r in record["theorems"].values())
    stand_in("Closed under the global context\n")
    formal.main()
    assert not any(formal.recorded(checkout)["theorems"].values())
    half = len(names) // 2  # each has a twin
    words = f"Coq 8.99: {half} theorems, and {half} false variants refuted."
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        ("Axioms:\nluck : False\n", 0, "rests on luck; it must be proved"),
        ("", 1, "Coq refuses formal/duel.v: line 1: Error"),
    ],
)
def test_a_refusal_of_coq_leaves_the_record_as_it_was(checkout, stand_in, answer, status, sentence):
    before = formal.recorded(checkout)
    stand_in(answer, status)
    with pytest.raises(SystemExit, match=sentence):
        formal.main()
    assert formal.recorded(checkout) == before
