"""The notebooks of the book: which there are, their parameters, and whether one must run again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

from . import kernel, place
from .place import read, results
from .sources import imported
from .sums import digest, sum_of

Parameters = Mapping[str, Mapping[str, Any]]  # notebook -> parameter -> value

RUN_TAGS = {"parameters", "raises-exception", "skip-execution"}  # tags that change a run


class Refusal(Exception):
    """A reason not to run, in one sentence for the reader."""


def notebooks(root: Path) -> list[str]:
    """The notebooks of _toc.yml in reading order, as paths without suffix."""
    return [page for _, page in place.pages(root) if source(root, page).exists()]


def source(root: Path, name: str) -> Path:
    """The path of a notebook as committed."""
    return root / f"{name}.ipynb"


def executed(root: Path, profile: str, name: str) -> Path:
    """The path of a notebook as executed under a profile."""
    return root / "_build" / "executed" / profile / f"{name}.ipynb"


def load(path: Path) -> dict[str, Any]:
    """A notebook as a dict, each cell's source one string."""
    notebook = json.loads(read(path))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
        if "id" not in cell:
            raise Refusal(f"{path.name} has cells without an id: save it as nbformat 4.5.")
    return notebook


def code(notebook: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The code cells of a notebook."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def needs(root: Path, name: str) -> list[str]:
    """The notebooks whose results this one reads: its metadata key "needs"."""
    return load(source(root, name))["metadata"].get("needs", [])


def reads(root: Path, name: str) -> list[Path]:
    """The data files of the repository that this notebook reads: its metadata key "reads"."""
    return [root / file for file in load(source(root, name))["metadata"].get("reads", [])]


def in_order(root: Path, names: Iterable[str]) -> list[str]:
    """The names and all they need, each after what it needs."""
    graph: dict[str, list[str]] = {}
    todo = list(names)
    known = notebooks(root)
    while todo:
        name = todo.pop(0)
        if name not in known:
            raise Refusal(f"{name} is not a notebook of _toc.yml: {', '.join(known)}.")
        if name not in graph:
            graph[name] = needs(root, name)
            todo += graph[name]
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise Refusal(f"Notebooks need each other in a circle: {error.args[1]}.") from error


def profile_parameters(root: Path, profile: str) -> dict[str, dict[str, Any]]:
    """The parameters that book/profiles.yml gives to each notebook under a profile."""
    profiles = yaml.safe_load(read(root / "book" / "profiles.yml"))
    if profile not in profiles:
        raise Refusal(f"There is no profile {profile} in book/profiles.yml: {', '.join(profiles)}.")
    return profiles[profile] or {}


def chosen_parameters(root: Path, profile: str, given: Iterable[list[str]]) -> Parameters:
    """The profile's parameters, overridden by those given as (notebook, name, value)."""
    chosen = {name: dict(values) for name, values in profile_parameters(root, profile).items()}
    for name, parameter, value in given:
        chosen.setdefault(name.removesuffix(".ipynb"), {})[parameter] = yaml.safe_load(value)
    for name, values in chosen.items():
        refuse_unknown(root, name, values)
    return chosen


def refuse_unknown(root: Path, name: str, values: Mapping[str, Any]) -> None:
    """Nothing, or a refusal: papermill itself only warns about a name it does not know."""
    import papermill

    if name not in notebooks(root):
        raise Refusal(f"Parameters are given for {name}, which is not a notebook of _toc.yml.")
    known = papermill.inspect_notebook(str(source(root, name)))
    for parameter in values:
        if parameter not in known:
            raise Refusal(
                f"{name} has no parameter {parameter}; its parameters are: "
                f"{', '.join(known) or 'none'}."
            )


def fingerprint(root: Path, name: str, parameters: Parameters) -> str:
    """The hash of all that decides a notebook's outputs; its prose does not."""
    cells = [
        [cell["id"], cell["source"], sorted(RUN_TAGS & set(cell["metadata"].get("tags", [])))]
        for cell in code(load(source(root, name)))
    ]
    modules = imported(root, "\n".join(text for _, text, _ in cells))
    files = [*sorted(modules), root / "requirements.txt", *reads(root, name)]
    inputs = {
        "cells": cells,
        "parameters": dict(parameters.get(name, {})),
        "needs": {other: fingerprint(root, other, parameters) for other in needs(root, name)},
        "kernel": [*kernel.OPTIONS, kernel.COMMON],
        "style": read(kernel.STYLE),
        "files": {file.relative_to(root).as_posix(): digest(file.read_bytes()) for file in files},
    }
    return digest(json.dumps(inputs, sort_keys=True).encode())


def record(root: Path, profile: str, name: str) -> dict[str, Any]:
    """Fingerprint, parameters and results of the last good execution; empty if there is none."""
    path = executed(root, profile, name)
    return load(path)["metadata"]["executed"] if path.exists() else {}


def fresh(root: Path, profile: str, name: str, parameters: Parameters) -> bool:
    """Whether the last good execution still stands: same inputs, and its results are in place."""
    about = record(root, profile, name)
    if about.get("fingerprint") != fingerprint(root, name, parameters):
        return False
    folder = results(root, profile)
    wrote = {folder / file: made["sha256"] for file, made in about.get("wrote", {}).items()}
    return all(path.exists() and sum_of(path) == known for path, known in wrote.items())
