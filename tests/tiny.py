"""A book of two notebooks that goes through the real pipeline: our own tools and config."""

import gc
import json
import shutil
import subprocess
import sys
import weakref
from functools import partial
from pathlib import Path

import joblib
import pytest

from edition import run

ROOT = Path(__file__).parents[1]
RENDER = ("--all", "-q", "-W", "-n", "--keep-going")
KEPT = ("_config.yml", "pyproject.toml", "requirements.txt", "book/_static")

DRAW = """import matplotlib.pyplot as plt
from myst_nb import glue
from edition import tables
tables.write_csv("line", ["x", "y"], [[0, 0], [1, runs]])
tables.write_text("line.json", '{"seed": 1}')
plt.plot([0, runs])
plt.show()
glue("n", runs, display=False)"""
FIGURE = {
    "mystnb": {
        "figure": {"name": "fig-line", "caption": "A line."},
        "image": {"alt": "A line that rises.", "classes": "invert"},
    }
}
FIRST = """# First

```{prf:theorem} Theorem D: the short one (the paper's Theorem 3.1, corrected)
:label: thm-short
A number is a number.
```

```{prf:theorem} The long theorem (ours)
:label: thm-long
Every number is a number: $x = x$.
```

```{math}
:label: eq-one
1 + 1 = 2
```
"""
SECOND = """# Second

By {prf:ref}`thm-long` and {eq}`eq-one`, {cite:t}`knuth` drew {numref}`fig-line`.
Also {prf:ref}`thm-short`, or {prf:ref}`its twin <thm-long>`.

```{drawing} sparring
Two machines, *drawn*.
```
"""
BIB = """@book{knuth,
  author = {Knuth, Donald}, title = {Fundamental Algorithms},
  publisher = {Addison-Wesley}, year = {1968},
}
"""
INDEX = """# Tiny

Two pages.

```{bibliography}
```
"""
TOC = "format: jb-book\nroot: book/index\nchapters:\n  - file: book/a\n  - file: book/b\n"


def cell(kind, name, source, **metadata):
    """A cell of a notebook without outputs."""
    made = {"cell_type": kind, "id": name, "metadata": metadata, "source": source}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def notebook(*cells):
    """A notebook of these cells."""
    spec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    made = {"cells": list(cells), "metadata": {"kernelspec": spec}}
    return json.dumps(made | {"nbformat": 4, "nbformat_minor": 5})


def make(root):
    """The sources of the tiny book, at ``root``."""
    for name in KEPT:
        source, target = ROOT / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target, ignore=ignored) if source.is_dir() else shutil.copy(
            source, target
        )
    (root / "dueling").mkdir()
    files = {
        "_toc.yml": TOC,
        "book/profiles.yml": "full: {}\nsmoke: {}\n",
        "book/references.bib": BIB,
        "book/index.md": INDEX,
        "book/a.ipynb": notebook(
            cell("markdown", "words", FIRST),
            cell("code", "set", "runs = 3\nseed = 1", tags=["parameters"]),
            cell("code", "draw", DRAW, **FIGURE),
        ),
        "book/b.ipynb": notebook(
            cell("markdown", "words", SECOND), cell("code", "say", "print(2 + 2)")
        ),
    }
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


def living(objects):
    """All objects but proxies: sphinx-external-toc asks each for its class, and one may be dead."""
    return [o for o in objects() if type(o) not in weakref.ProxyTypes]


def build_here(root):
    """Build in this process, where coverage sees it: notebooks, then pages, on one core."""
    from jupyter_book.cli.main import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(joblib, "cpu_count", lambda: 1)
        patch.setattr(gc, "get_objects", partial(living, gc.get_objects))
        assert run.main(["--profile", "full"]) == 0
        main(["build", ".", *RENDER], standalone_mode=False)


def build(root, **options):
    """A running build: notebooks, then pages, as `make book` does it."""
    book = str(Path(sys.executable).parent / "jupyter-book")
    render = f"rm -rf _build/html && exec {book} build . {' '.join(RENDER)}"
    command = [sys.executable, "-m", "edition.run", "--profile", "full", "--", "sh", "-c", render]
    return subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
