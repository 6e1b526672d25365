"""What the notebooks share: parameters, colours, figure style, tables for display."""

from collections.abc import Iterable, Sequence
from typing import Any

from dueling.engine import checks

#: One colour for each algorithm in the whole book (Okabe and Ito's palette), and one line style.
COLOURS = {
    "Sparring": "#0072B2",
    "MultiSBM": "#D55E00",
    "Doubler": "#009E73",
    "IF": "#CC79A7",
    "BTMB": "#8A8A8A",
    "UCB": "#000000",
    "bound": "#56B4E9",
    "printed": "#E69F00",
}
STYLES = {"Sparring": "-", "MultiSBM": "--", "Doubler": "-.", "IF": ":", "BTMB": (0, (5, 1, 1, 1))}


def parameters(given: dict, *others: str, **least: int) -> None:
    """Make the named parameters whole numbers of at least ``least``; refuse bad or unknown ones.

    ``given`` is ``globals()`` right after the cell of parameters: papermill sets a name that the
    notebook does not know without a word, and it would change nothing. ``others`` are parameters
    of another kind, which the notebook checks itself.
    """
    plain = {k for k, v in given.items() if k[0] != "_" and isinstance(v, int | float | str)}
    for name in sorted(plain - {*least, *others}):
        known = ", ".join((*least, *others))
        raise ValueError(f"{name} is not a parameter of this notebook: {known}.")
    for name, floor in least.items():
        given[name] = checks.whole(name, given[name], floor)


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
            "svg.hashsalt": "dueling",
        }
    )


def table(head: Sequence[str], rows: Iterable[Iterable]) -> Any:
    """A Markdown table for display: its first column and columns of words to the left.

    Cells are MyST text: formulas, references.
    """
    from IPython.display import Markdown

    rows = [[str(value).replace("|", "\\|") for value in row] for row in rows]
    columns = zip(*rows, strict=True)
    words = [any(cell[:1].isalpha() or cell[:1] in "`{[*$" for cell in cells) for cells in columns]
    rule = ["---", *("---" if word else "---:" for word in words[1:])]
    lines = [" | ".join(row) for row in (head, rule, *rows)]
    return Markdown("\n".join(f"| {line} |" for line in lines))
