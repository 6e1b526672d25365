"""The back matter: tables made from the data files in ``book/back`` and the chapters' ledgers."""

import json
import re
from typing import Any

import yaml

from . import place, tables

#: Each verdict on a printed statement, and the section of the page of errata that it belongs to.
SEVERITY = {
    "false": "false",
    "false step": "gap",
    "gap": "gap",
    "inconsistent": "gap",
    "unspecified": "gap",
    "typo with consequences": "typo",
    "typo": "typo",
}

#: Macros that are no symbols, such as layout, relations, arrows, named functions.
PLAIN = (
    "frac tfrac dfrac sqrt big Big bigg Bigg left right quad qquad displaystyle rm text begin end "
    "le ge ne gg ll in notin subset setminus cap cup to mapsto leftarrow mid approx sim propto "
    "infty pm cdot times dots ldots exists langle rangle lceil rceil lfloor rfloor square top "
    "ln log exp max min sup inf limsup liminf sum int prod det tanh cosh cos sec asymp lim"
)
_PIECE = re.compile(
    r"\\(?:text|begin|end)\s*\{[^}]*\}"
    r"|(?:\\(?:operatorname\*?|mathrm)\s*\{|\\rm\s+)(?P<word>[A-Za-z]+)"
    r"|\\(?P<mark>hat|bar|tilde|mathbb|mathcal|mathbf)\s*"
    r"(?:\{(?P<group>[^}]*)\}|(?P<one>\\[A-Za-z]+|\w))"
    r"|\\(?P<macro>[A-Za-z]+)"
    r"|(?P<letter>[A-Za-z])"
)


def data(name: str) -> Any:
    """The content of ``book/back/<name>.yml``."""
    return yaml.safe_load(place.read(place.root() / "book" / "back" / f"{name}.yml"))


def chapters() -> list[str]:
    """The theory chapters and appendices in reading order (:func:`edition.place.proofs`)."""
    return list(place.proofs(place.root()))


def ledgers() -> dict[str, list[dict]]:
    """The rows of every chapter's ledger, as the chapter's last run wrote them."""
    return {
        page: json.loads(place.read(tables.written(f"ledgers/{page}.json"))) for page in chapters()
    }


def evidence(entry: dict, ledgers: dict[str, list[dict]]) -> list[tuple[str, dict]]:
    """The pages and rows that an erratum names; ValueError if one is not in its ledger."""
    pairs = []
    for page, steps in entry.get("evidence", {}).items():
        rows = {row["step"]: row for row in reversed(ledgers.get(page, []))}
        missing = [step for step in steps if step not in rows]
        if missing:
            raise ValueError(f"{entry['id']}: the ledger of {page} has no step {missing[0]!r}.")
        pairs += [(page, rows[step]) for step in steps]
    if not pairs and "see" not in entry:
        raise ValueError(f"{entry['id']} has no evidence.")
    return pairs


def errata(ledgers: dict[str, list[dict]]) -> list[dict]:
    """The errata, the most severe first, each with its severity and with the rows it rests on."""
    order = list(SEVERITY)
    entries = sorted(data("errata"), key=lambda entry: order.index(entry["verdict"]))
    return [
        {**entry, "severity": SEVERITY[entry["verdict"]], "rows": evidence(entry, ledgers)}
        for entry in entries
    ]


def links(entry: dict) -> str:
    """The evidence of an erratum as references: its witnesses, and where else to look."""
    pages: dict[str, list[str]] = {}
    for page, row in entry["rows"]:
        pages.setdefault(page, []).append(f"{{ref}}`{row['step']} <{row['anchor']}>`")
    parts = [f"*{page}*: {'; '.join(steps)}" for page, steps in pages.items()]
    return ". ".join([*parts, *([entry["see"]] if "see" in entry else [])])


def formulas(text: str) -> list[str]:
    """The formulas of some Markdown text: what stands between dollar signs, outside of code."""
    text = re.sub(r"\{[\w:]+\}`[^`]*`|(?<!`)`[^`\n]+`(?!`)", "", text)
    return [long or short for long, short in re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, re.S)]


def symbols(formula: str) -> set[str]:
    """The letters of a formula, with accent or alphabet, and its words; primes are left out."""
    letters = set()
    for piece in _PIECE.finditer(formula):
        word, mark, group, one, macro, letter = piece.groups()
        marked = mark and f"\\{mark} {group or one}"
        macro = f"\\{macro}" if macro and macro not in PLAIN.split() else None
        letters.add(word or marked or macro or letter)
    return letters - {None}


def heads(symbol: str) -> set[str]:
    """The letters that a symbol introduces: not its indices and arguments, but their words."""
    words = {word for word in symbols(symbol) if re.fullmatch("[A-Za-z]{2,}", word)}
    bare = re.sub(r"[_^](\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|.)", " ", symbol)
    return symbols(re.sub(r"\([^()]*(\([^()]*\))?[^()]*\)|\[[^]]*\]", " ", bare)) | words


def plain(text: str) -> str:
    """Text whose signs Markdown leaves alone."""
    return re.sub(r"([\\`*_{}\[\]<>$#~^])", r"\\\1", text)


def reference(label: str) -> str:
    """The reference to a page (its path), to a section (``sec-...``) or to a statement."""
    role = "doc" if "/" in label else "ref" if label.startswith("sec-") else "prf:ref"
    return f"{{{role}}}`{label}`"
