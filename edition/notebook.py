"""What the notebooks share: parameters, numbers for prose, colours, figure style, tables."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from math import inf
from traceback import extract_tb
from typing import Any, Literal

import numpy as np

from dueling.engine import checks

#: One colour for each algorithm in the whole book (Okabe and Ito's palette), and one line style.
COLOURS = {
    "Sparring": "#0072B2",
    "MultiSBM": "#D55E00",
    "Doubler": "#009E73",
    "IF": "#CC79A7",
    "BTMB": "#8A8A8A",
    "Champion": "#B8860B",
    "UCB": "#000000",
    "bound": "#56B4E9",
    "printed": "#E69F00",
}
STYLES = {"Sparring": "-", "MultiSBM": "--", "Doubler": "-.", "IF": ":", "BTMB": (0, (5, 1, 1, 1))}
STYLES |= {"Champion": (0, (3, 1, 1, 1, 1, 1))}


class Defaults:
    """The parameters for which a page asserts its sentences, and those that are ``changed``.

    In ``with defaults:`` stand assertions about the page's own numbers. A false one stops the page;
    with changed parameters a line names it, and the page goes on.
    """

    def __init__(self, usual: Mapping[str, Any], values: Mapping[str, Any]):
        self.changed = {name: values[name] for name in usual if values[name] != usual[name]}
        self.usual, self.asserting = usual, False

    def __str__(self) -> str:
        return ", ".join(f"{k} = {v} (default {self.usual[k]})" for k, v in self.changed.items())

    def __enter__(self) -> None:
        self.asserting = True

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> bool:
        self.asserting = False
        if not (self.changed and isinstance(error, AssertionError)):
            return False
        claim = str(error) or extract_tb(trace)[-1].line
        print(f"Asserted for the defaults only; with {self} it fails: {claim}")
        return True


def parameters(scope: dict[str, Any], **rules: Sequence) -> Defaults:
    """Check the parameters, each ``name=(default, least)`` or ``(default, least, most)``.

    ``scope`` is ``globals()`` after the cell of parameters. By its default a parameter is a whole
    number, or a real one strictly between its limits, or a list of increasing whole numbers.
    """
    for name, (default, *limits) in rules.items():
        scope[name] = _checked(name, scope[name], default, *limits)
    decisive = {name: default for name, (default, *_) in rules.items() if name != "workers"}
    return Defaults(decisive, scope)


def _checked(name: str, value: Any, default: Any, least: float, most: float = inf) -> Any:
    if isinstance(default, float):
        return checks.real(name, value, f"between {least} and {most}", lambda x: least < x < most)
    if not isinstance(default, list):
        return checks.whole(name, value, least, min(most, 2**62))
    entries = value if isinstance(value, list) else [value]
    whole = [_checked(f"an entry of {name}", entry, 0, least, most) for entry in entries]
    if len(whole) < 2 or whole != sorted(set(whole)):
        raise ValueError(f"{name} is {value!r}; it must be a list of two or more, increasing.")
    return whole


def say(page: str, **numbers: Any) -> None:
    """Let prose quote numbers: ``say("ucb", low_end=3)`` is ``{glue:text}`ucb-low-end```."""
    from myst_nb import glue

    for name, value in numbers.items():
        plain = value.item() if isinstance(value, np.generic) else value
        glue(f"{page}-{re.sub('[_ ]', '-', name)}", plain, display=False)


def style() -> None:
    """Set matplotlib to the book's style: white ground, thin frame, colour-blind-safe cycle."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "figure.figsize": (7, 3.4),
            "figure.dpi": 110,
            "savefig.dpi": 160,
            "figure.constrained_layout.use": True,
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "legend.frameon": False,
            "axes.prop_cycle": mpl.cycler(color=list(COLOURS.values())),
        }
    )


def table(
    head: Sequence[str],
    rows: Iterable[Iterable],
    best: Literal["row"] | Iterable[Container[str]] | None = None,
) -> Any:
    """A Markdown table for display: its first column and columns of words to the left.

    Cells are MyST text: formulas, references. ``best`` names for each row the columns whose cells
    are bold; ``best="row"`` takes the :func:`least` of each row. Bold is then the least mean and no
    verdict: the error bars of others may reach below it. A page that goes by tests says so.
    """
    from IPython.display import Markdown

    rows = [[str(value).replace("|", "\\|") for value in row] for row in rows]
    columns = zip(*rows, strict=True)
    words = [any(cell[:1].isalpha() or cell[:1] in "`{[*$" for cell in cells) for cells in columns]
    rule = ["---", *("---" if word else "---:" for word in words[1:])]
    if best is not None:
        named = [dict(zip(head[1:], row[1:], strict=True)) for row in rows]
        chosen = map(least, named) if best == "row" else best
        for row, cells, bold in zip(rows, named, chosen, strict=True):
            row[1:] = [f"**{cell}**" if name in bold else cell for name, cell in cells.items()]
    lines = [" | ".join(row) for row in (head, rule, *rows)]
    return Markdown("\n".join(f"| {line} |" for line in lines))


def least(cells: Mapping[Any, Any]) -> set:
    """The names of the least cells, by the number that each begins with; none if all are equal.

    >>> sorted(least({"IF": "31 ± 2", "Sparring": "9 ± 1", "MultiSBM": "9 ± 3"}))
    ['MultiSBM', 'Sparring']
    """
    values = {name: float(str(cell).split()[0]) for name, cell in cells.items()}
    low = min(values.values())
    return {name for name, value in values.items() if low == value < max(values.values())}
