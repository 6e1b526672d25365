"""The notebooks of the book: which there are, their parameters, and whether one must run again."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from . import kernel, place
from .place import Refusal, read, results
from .sources import imported
from .sums import digest, sum_of

Parameters = Mapping[str, Mapping[str, Any]]  # notebook -> parameter -> value

RUN_TAGS = {"parameters", "raises-exception", "skip-execution"}  # tags that change a run
KEPT = Path(__file__).with_name("scrub.py")  # what of the outputs is kept
COST = {"seconds", "cpu", "peak_mb", "date", "python", "machine", "versions"}  # of an execution


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
    """The notebook of a file."""
    return parsed(read(path), path.name)


def parsed(text: str, name: str) -> dict[str, Any]:
    """A notebook as a dict, each cell's source one string; refuse what is not one, by its name."""
    try:
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
        notebook.setdefault("metadata", {})
    except (ValueError, LookupError, TypeError) as error:
        raise Refusal(f"{name} cannot be read as a notebook: {error!r}.") from error
    if not all("id" in cell for cell in notebook["cells"]):
        raise Refusal(f"{name} has cells without an id: save it as nbformat 4.5.")
    return notebook


def code(notebook: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The code cells of a notebook."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def measured(root: Path, profile: str) -> Path:
    """The folder of what the status page tells of times, apart from the results."""
    return place.volatile(root, profile) / "measured"


def code_of(root: Path, names: Iterable[str]) -> str:
    """The code of some notebooks, in one text."""
    cells = (cell for name in names for cell in code(load(source(root, name))))
    return "\n".join(cell["source"] for cell in cells)


def needs(root: Path, name: str) -> list[str]:
    """The notebooks whose results this one reads: its metadata key "needs"."""
    return load(source(root, name))["metadata"].get("needs", [])


def reads(root: Path, name: str) -> list[Path]:
    """The data files of the repository that this notebook reads: its metadata key "reads"."""
    files = [root / file for file in load(source(root, name))["metadata"].get("reads", [])]
    for file in files:
        if not file.is_file():
            raise Refusal(f"{name} reads {file.relative_to(root)}, which is not there.")
    return files


def in_order(root: Path, names: Iterable[str]) -> list[str]:
    """The names and all they need, each after what it needs."""
    graph: dict[str, list[str]] = {}
    todo = list(names)
    existing = notebooks(root)
    while todo:
        name = todo.pop(0)
        if name not in existing:
            raise Refusal(f"{name} is not a notebook of _toc.yml: {', '.join(existing)}.")
        if name not in graph:
            graph[name] = needs(root, name)
            todo += graph[name]
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise Refusal(f"Notebooks need each other in a circle: {error.args[1]}.") from error


# --- parameters


def profile_parameters(root: Path, profile: str) -> dict[str, dict[str, Any]]:
    """The parameters that book/profiles.yml gives to each notebook under a profile."""
    profiles = yaml.safe_load(read(root / "book" / "profiles.yml"))
    if profile not in profiles:
        raise Refusal(f"There is no profile {profile} in book/profiles.yml: {', '.join(profiles)}.")
    return profiles[profile] or {}


def chosen_parameters(root: Path, profile: str, overrides: Iterable[list[str]]) -> Parameters:
    """The profile's parameters, overridden by those given as (notebook, name, value)."""
    chosen = {name: dict(values) for name, values in profile_parameters(root, profile).items()}
    seen = set()
    for path, parameter, text in overrides:
        name = path.removesuffix(".ipynb")
        if (name, parameter) in seen:
            raise Refusal(f"{parameter} of {name} is given twice; it must be given once.")
        seen.add((name, parameter))
        chosen.setdefault(name, {})[parameter] = value(parameter, text)
    for name, values in chosen.items():
        refuse_unknown(root, name, values)
    return chosen


def value(parameter: str, text: str) -> Any:
    """A value of the command line: what YAML and JSON can both say, such as 9, 1e-3 or [2, 4]."""
    try:
        read_as = yaml.safe_load(text)
        if json.loads(json.dumps(read_as)) == read_as:
            return read_as
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        pass
    raise Refusal(f"{parameter} is {text!r}; it must be a number, a word, or a list like [2, 4].")


def refuse_unknown(root: Path, name: str, values: Mapping[str, Any]) -> None:
    """Refuse a parameter that the notebook does not have: papermill itself only warns."""
    import papermill

    if name not in notebooks(root):
        raise Refusal(f"Parameters are given for {name}, which is not a notebook of _toc.yml.")
    inspected = papermill.inspect_notebook(str(source(root, name)))
    for parameter in values:
        if parameter not in inspected:
            raise Refusal(
                f"{name} has no parameter {parameter}; its parameters are: "
                f"{', '.join(inspected) or 'none'}."
            )


# --- what was executed, and whether it still stands


def fingerprint(root: Path, name: str, parameters: Parameters) -> str:
    """The hash of all that decides a notebook's outputs; its prose does not."""
    cells = [
        [cell["id"], cell["source"], sorted(RUN_TAGS & set(cell["metadata"].get("tags", [])))]
        for cell in code(load(source(root, name)))
    ]
    modules = imported(root, *(text for _, text, _ in cells))
    files = [*sorted(modules), *reads(root, name)]
    inputs = {
        "cells": cells,
        "parameters": dict(parameters.get(name, {})),
        "needs": {other: fingerprint(root, other, parameters) for other in needs(root, name)},
        "kernel": [*kernel.OPTIONS, kernel.COMMON, kernel.ALIKE],
        "style": read(kernel.STYLE),
        "kept": read(KEPT),
        "python": platform.python_version_tuple()[:2],
        "packages": installed(read(root / "requirements.txt")),
        "files": {file.relative_to(root).as_posix(): digest(file.read_bytes()) for file in files},
    }
    return digest(json.dumps(inputs, sort_keys=True).encode())


@cache
def installed(lock: str) -> dict[str, str]:
    """The installed version of each package that a lock names and a notebook can meet."""
    locked = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", lock, re.M)}
    return {name: version(name) for name in sorted(locked & needed("dueling", "book"))}


def needed(package: str, extra: str) -> set[str]:
    """The installed packages that this one needs with its extra, directly or through others."""
    todo, seen = [(package, extra)], set()
    while todo:
        name, extra = at = todo.pop()
        with suppress(PackageNotFoundError):  # one of another platform
            needs = [] if at in seen else map(Requirement, requires(name) or ())
            seen.add(at)
            for need in needs:
                if need.marker is None or need.marker.evaluate({"extra": extra}):
                    todo += [(canonicalize_name(need.name), e) for e in ("", *need.extras)]
    return {name for name, _ in seen}


def outcome(root: Path, profile: str, name: str) -> dict[str, Any]:
    """The notebook as last executed; empty if there is none, or it is not as it was written."""
    try:
        notebook = load(executed(root, profile, name))
        return notebook if notebook["metadata"]["executed"]["sum"] == own_sum(notebook) else {}
    except (OSError, LookupError, TypeError, ValueError):
        return {}


def own_sum(notebook: Mapping[str, Any]) -> str:
    """The checksum of an executed notebook, by which a change by other hands is seen."""
    about = {k: v for k, v in notebook["metadata"]["executed"].items() if k != "sum"}
    return digest(json.dumps([notebook["cells"], about], sort_keys=True).encode())


def record(root: Path, profile: str, name: str) -> dict[str, Any]:
    """Fingerprint, parameters and results of the last good execution; empty if there is none."""
    notebook = outcome(root, profile, name)
    return notebook["metadata"]["executed"] if notebook else {}


def fresh(root: Path, profile: str, name: str, mark: str) -> bool:
    """Whether the last good execution stands: it has this fingerprint, its results are in place."""
    about = record(root, profile, name)
    if about.get("fingerprint") != mark:
        return False
    folder = results(root, profile)
    wrote = {folder / file: origin["sha256"] for file, origin in about.get("wrote", {}).items()}
    return all(path.exists() and sum_of(path) == wanted for path, wanted in wrote.items())


def status(root: Path, profile: str) -> Path:
    """The file of what each notebook's last execution cost."""
    return root / "_build" / "executed" / profile / "status.json"


def costs(root: Path, profile: str) -> dict[str, dict[str, Any]]:
    """What each notebook's last execution cost, as far as it is known."""
    try:
        kept = json.loads(read(status(root, profile)))
        return {name: kept[name] for name in notebooks(root) if {*kept.get(name, {})} >= COST}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
