"""The head of a statement: its one name, what it is about, and marks that say whose it is.

The line in the notebook reads as it stands, ``Theorem D: the epoch bound (the paper's Theorem 3.1,
corrected)`` or ``Many arms (ours)``. A name of a kind and a letter is the statement's only one; the
others are numbered. A number in a name would be the paper's, and those are marks.
"""

import re
from typing import NamedTuple

_NAME = re.compile(r"((?:Theorem|Lemma|Corollary|Proposition|Observation) [A-Z]\+?)(?:: |$)")
_MARK = re.compile(r" ?\((ours|the paper's [^()]+)\)$")


class Head(NamedTuple):
    """The parts of a head; ``name`` and ``about`` may be empty."""

    name: str
    about: str
    marks: tuple[str, ...]


def head(line: str) -> Head:
    """The parts of a statement's first line."""
    marks: list[str] = []
    line = line.strip()
    while mark := _MARK.search(line):
        marks.insert(0, mark[1].replace("the paper's ", "paper: "))
        line = line[: mark.start()]
    name = _NAME.match(line)
    return Head(name[1] if name else "", line[name.end() :] if name else line, tuple(marks))
