"""A small book whose notebooks run in a second, or not at all."""

import json

from edition import notebooks, run

PARAMETERS = ("set", "runs = 3", ["parameters"])
SHOW = ("show", "print(runs)\nobject()\nif not runs:\n    from dueling import game", [])


def notebook(*cells, prose="Words.", needs=(), reads=()):
    """A notebook of code cells (id, source, tags) after one cell of prose."""
    made = [{"cell_type": "markdown", "id": "prose", "metadata": {}, "source": prose}]
    for name, text, tags in cells:
        empty = {"outputs": [], "execution_count": None}
        cell = {"cell_type": "code", "id": name, "metadata": {"tags": tags}, "source": text}
        made.append(cell | empty)
    spec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    metadata = {"kernelspec": spec, "needs": list(needs), "reads": list(reads)}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def put(root, name, made):
    (root / f"{name}.ipynb").write_text(json.dumps(made))


def make(root):
    """A book of one notebook, which prints a parameter."""
    for folder in ("book", "dueling"):
        (root / folder).mkdir()
    contents(root, "book/a")
    (root / "book" / "profiles.yml").write_text("full: {}\nsmoke: {book/a: {runs: 1}}\n")
    (root / "dueling" / "game.py").write_text("from .engine import checks\n")
    (root / "dueling" / "engine").mkdir()
    (root / "dueling" / "engine" / "checks.py").write_text("")
    (root / "requirements.txt").write_text("numpy==2.0\n")
    put(root, "book/a", notebook(PARAMETERS, SHOW))
    return root


def contents(root, *names):
    """The table of contents has these notebooks."""
    files = [{"file": name} for name in names]
    (root / "_toc.yml").write_text(json.dumps({"root": "book/index", "chapters": files}))


def built(root, *words):
    return run.main(["--root", str(root), "--profile", "full", *words])


def outputs(root, name="book/a", profile="full"):
    return notebooks.executed(root, profile, name)


def cells(root, name="book/a"):
    """The code cells as executed."""
    return notebooks.code(notebooks.load(outputs(root, name)))
