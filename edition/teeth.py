"""Teeth: a term of a witness is dropped, halved or doubled, and the witness must refuse it.

``book/back/teeth.yml`` lists the changes. Each names a page, the cells that the witness needs, a
text ``old`` that they have once, and the text ``new`` that takes its place.
"""

import json
from functools import cache

from . import place
from .witness import Refused

SETUP = ("parameters", "imports")  # the cells with which every page of proofs begins


@cache
def _cells(page: str) -> dict[str, str]:
    """The text of each cell of a page of proofs, by its name."""
    root = place.root()
    notebook = json.loads(place.read(root / f"{place.proofs(root)[page]}.ipynb"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


@cache
def _names(page: str, cells: tuple[str, ...]) -> dict:
    """What the set-up of a page and some of its cells define."""
    names: dict = {"__name__": "teeth"}
    return _after(names, *(_cells(page)[name] for name in (*SETUP, *cells)))


def _after(names: dict, *texts: str) -> dict:
    """The names after some texts were run, without a display."""
    from IPython.utils.capture import capture_output

    with capture_output():
        for text in texts:
            exec(text, names)
    return names


def run(page: str, cells: list[str], old: str = "", new: str = "") -> list[dict]:
    """The rows that some cells of a page enter, ``old`` replaced in the one that has it.

    The cells before that one are run once and kept.
    """
    texts = [_cells(page)[name] for name in cells]
    count = sum(text.count(old) for text in texts)
    if old and count != 1:
        raise ValueError(f"{page}: {old!r} occurs {count} times in {', '.join(cells)}.")
    first = next((i for i, text in enumerate(texts) if old and old in text), len(texts) - 1)
    names = dict(_names(page, tuple(cells[:first])))
    names["w"].rows.clear()
    return _after(names, *(text.replace(old, new) for text in texts[first:]))["w"].rows


def bite(tooth: dict) -> tuple[dict, str]:
    """The row of the witness as it stands, and the sentence with which it refuses the change."""
    row = run(tooth["page"], tooth["cells"])[-1]
    try:
        run(tooth["page"], tooth["cells"], tooth["old"], tooth["new"])
    except Refused as refusal:
        return row, str(refusal)
    raise Refused(f"{row['step']}: it holds as well with {tooth['change']}.")
