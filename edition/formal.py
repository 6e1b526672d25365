"""Statements over all rounds, epochs or arms that Coq has checked: formal/duel.v.

``python -m edition.formal`` (make formal) checks that file with ``coqc``; what was found is kept in
formal/checked.json, by the checksum of the file. Pages read that record, so they need no Coq; a
file that has changed since counts as not checked.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import place
from .place import Refusal, read, write

#: What the theorems may rest on: the axioms by which Coq's own library makes the real numbers.
REALS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}


class Checked:
    """The claim that Coq has checked a theorem, or of a ``twin`` that Coq has refuted it."""

    def __init__(self, name: str, twin: bool = False):
        self.name, self.twin = f"{name}_twin" if twin else name, twin

    def check(self) -> tuple[bool, str]:
        """Whether it holds, and how that was seen: by which Coq, or what is false."""
        root = place.root()
        record = recorded(root)
        listed = self.name in record["theorems"]
        if self.twin:
            return not listed, self.statement(root).removeprefix("~ ") if listed else "not refuted"
        rests = (
            "the axioms of its real numbers" if record["theorems"].get(self.name) else "no axiom"
        )
        return listed, f"Coq {record['coq']}, {self.name}, which rests on {rests}"

    def statement(self, root: Path) -> str:
        """The theorem as the file states it, in one line."""
        (text,) = re.findall(
            rf"^ *Theorem {self.name} : (.*?)\.\s+Proof\.", source(root), re.M | re.S
        )
        return " ".join(text.split())


def source(root: Path) -> str:
    """The text of all theorems."""
    return read(root / "formal" / "duel.v")


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def theorems(text: str) -> list[str]:
    """The names of the theorems of a file."""
    return re.findall(r"^\s*Theorem (\w+)", text, re.M)


def recorded(root: Path) -> dict[str, Any]:
    """What Coq found, if the file is still the one that it was given."""
    record = json.loads(read(root / "formal" / "checked.json"))
    if record["sha256"] != digest(source(root)):
        raise Refusal("formal/duel.v has changed since it was checked; run make formal.")
    return record


def examined(text: str) -> dict[str, Any]:
    """What Coq finds in a file: its version, and the axioms below each theorem."""
    if not shutil.which("coqc"):
        raise Refusal("coqc is not installed (on Debian: apt install coq).")
    names = theorems(text)
    questions = "".join(f"Print Assumptions {name}.\n" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "duel.v").write_text(f"{text}\n{questions}", encoding="utf-8")
        done = subprocess.run(["coqc", "duel.v"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Refusal(f"Coq refuses formal/duel.v: {' '.join(done.stderr.split())}")
    answers = re.split(r"^(?=Closed under|Axioms:)", done.stdout, flags=re.M)[1:]
    axioms = [re.findall(r"^([\w.]+)\s*:", answer, re.M) for answer in answers]
    below = {name: sorted({*rests} - {"Axioms"}) for name, rests in zip(names, axioms, strict=True)}
    for name, rests in below.items():
        if more := {*rests} - REALS:
            raise Refusal(f"{name} rests on {', '.join(sorted(more))}; it must be proved.")
    shown = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True)
    return {"coq": shown.stdout.split()[0], "sha256": digest(text), "theorems": below}


def main() -> None:
    """Check formal/duel.v, and keep what was found."""
    root = place.root()
    try:
        record = examined(source(root))
    except Refusal as refusal:
        sys.exit(str(refusal))
    write(root / "formal" / "checked.json", json.dumps(record, indent=1) + "\n")
    twins = sum(name.endswith("_twin") for name in record["theorems"])
    proved = len(record["theorems"]) - twins
    print(f"Coq {record['coq']}: {proved} theorems, and {twins} false variants refuted.")


if __name__ == "__main__":
    main()
