"""What the book's notebooks share: where results go, colours, figure style."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from . import checks
from .results import Result, provenance
from .scenarios import digest
from .simulate import simulate

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


def root() -> Path:
    """The checkout that holds the book: the nearest folder above with a ``_toc.yml``."""
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "_toc.yml").is_file():
            return folder
    return here


def profile() -> str:
    """The profile of this build: ``full``, or the name in the variable BOOK_PROFILE."""
    return os.environ.get("BOOK_PROFILE", "full")


def results() -> Path:
    """The folder of results: ``_build/results``, or ``_build/results-<profile>``."""
    name = "results" if profile() == "full" else f"results-{profile()}"
    return root() / "_build" / name


def write_result(name: str, text: str) -> Path:
    """A file of results, written whole or not at all."""
    return _write(results() / name, text)


def write_volatile(name: str, text: str) -> Path:
    """A file of what differs from run to run (times): kept apart from the results."""
    return _write(results().with_name(results().name + "-volatile") / name, text)


def write_table(name: str, rows: dict, about: dict) -> Path:
    """Columns as ``name.csv``, with their meaning and provenance in ``name.json``."""
    columns = {key: np.asarray(values) for key, values in rows.items()}
    lines = [",".join(columns)]
    lines += [",".join(_cell(v) for v in row) for row in zip(*columns.values(), strict=True)]
    write_result(f"{name}.json", json.dumps(provenance(about), indent=1, sort_keys=True))
    return write_result(f"{name}.csv", "\n".join(lines) + "\n")


def table(head: Sequence[str], rows: Iterable[Iterable]) -> Any:
    """A Markdown table for display: its first column and columns of words to the left."""
    from IPython.display import Markdown

    line, rows = "| {} |".format, [[str(value) for value in row] for row in rows]
    words = [
        any(row[i][:1].isalpha() or row[i][:1] == "`" for row in rows) for i in range(len(head))
    ]
    rule = ["---", *("---" if word else "---:" for word in words[1:])]
    return Markdown("\n".join(line(" | ".join(row)) for row in (head, rule, *rows)))


def read_table(name: str) -> dict:
    """The columns that :func:`write_table` wrote: numbers as arrays of floats, the rest as text."""
    lines = (results() / f"{name}.csv").read_text().splitlines()
    head, *rows = (line.split(",") for line in lines)
    columns = {key: [row[i] for row in rows] for i, key in enumerate(head)}
    return {key: _numbers(values) for key, values in columns.items()}


#: The modules that decide what a simulation gives.
SIMULATION = (
    "algorithm baselines checks compiled game links machines reductions scenarios structured"
)


@cache
def source() -> str:
    """The SHA-256 of the simulation's own text: results of another text are not reused."""
    here = Path(__file__).parent
    files = [here / f"{name}.py" for name in (*SIMULATION.split(), "simulate", "results")]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files if f.exists())).hexdigest()


def stored(
    folder: str, scenario: Any, algorithm: Any, keep: Sequence[str] = ("regret",), **settings
) -> Result:
    """``simulate(scenario, algorithm, **settings)``, read from its file where that is still good.

    So an interrupted notebook continues where it stopped, and a figure is redrawn without any
    simulation. A file is good when scenario, algorithm, what is kept, settings, versions and the
    package's text are the same. The algorithm is known by its name, which says nothing of the text
    of a reader's own machine: :func:`dueling.simulate` runs those.
    """
    kind = algorithm if isinstance(algorithm, str) else type(algorithm)
    for part in (kind, *(getattr(algorithm, name, None) for name in ("machine", "right"))):
        if _foreign(part):
            own = "stored keeps the package's own algorithms and machines only"
            raise ValueError(f"algorithm is {algorithm}; {own}.")
    given = [_known(thing) for thing in (scenario, algorithm)]
    free = ("workers", "chunk", "progress")  # these do not change a result
    asked = {k: np.asarray(v).tolist() for k, v in settings.items() if k not in free}
    short = crc32(json.dumps(asked, sort_keys=True).encode())
    versions = provenance({})["versions"]
    key = json.dumps([*given, sorted(keep), asked, source(), versions], sort_keys=True)
    slug = re.sub(r"[^A-Za-z0-9.=]+", "-", "-".join(name for name, *_ in given)).strip("-")
    path = results() / folder / f"{slug}-{short:08x}.npz"
    if path.exists():
        try:
            found = Result.load(path)
            if found.about.get("key") == key:
                return found
        except ValueError:
            pass  # not whole: simulate again
    fresh = simulate(scenario, algorithm, **settings)
    kept = {name: array for name, array in fresh.arrays.items() if name in keep}
    result = Result(fresh.checkpoints, kept, {**fresh.about, "key": key})
    result.save(path)
    return result


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


def _foreign(part) -> bool:
    """Whether an algorithm or a machine comes from outside of the package."""
    made = getattr(part, "func", part)  # what functools.partial holds
    named = made is None or isinstance(made, str)
    return not named and made.__module__.partition(".")[0] != __package__


def _known(thing) -> list:
    """A name; else also the digests of a game and its utilities: games of one name may differ."""
    if isinstance(thing, str):
        return [thing]
    laws = [part for pair in getattr(thing, "atoms", ()) for part in pair]
    return [thing.name, getattr(thing, "digest", None), digest(*laws)]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}.part")
    half.write_text(text, encoding="utf-8")
    os.replace(half, path)
    return path


def _cell(value) -> str:
    text = repr(float(value)) if isinstance(value, float | np.floating) else str(value)
    return text if "," not in text else text.replace(",", ";")


def _numbers(values: list):
    try:
        return np.array([float(v) for v in values])
    except ValueError:
        return np.array(values)
