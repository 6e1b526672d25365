"""Run the book's notebooks with papermill; a notebook whose inputs did not change is not run again.

python tools/execute.py [--profile smoke] [--only book/first] [-p book/first runs 100]

Outputs go to _build/executed/<profile>/, never into the sources. Words after a lone -- are a
command that runs next, under the same lock (the Makefile renders the book that way).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from sums import digest, sum_of

Parameters = Mapping[str, Mapping[str, Any]]  # notebook -> parameter -> value

RUN_TAGS = {"parameters", "raises-exception", "skip-execution"}  # tags that change a run
VOLATILE = [  # the bound keeps the search linear in long outputs such as figures
    (" at 0x", r" at 0x[0-9a-fA-F]+", " at 0x0"),
    ("ipykernel_", r'[^\s"\\]{0,200}ipykernel_\d+/\d+\.py', "cell.py"),
]
KERNEL = [  # each figure as picture and as vectors, neither of them dated
    "--IPKernelApp.log_level=50",
    "--InlineBackend.figure_formats={'png', 'svg'}",
    "--InlineBackend.print_figure_kwargs={'bbox_inches': 'tight', 'metadata': {'Date': None}}",
]
STYLE = Path(__file__).with_name("matplotlibrc")
COMMON = "X86_V3"  # NumPy's name for what x86 processors have since Haswell; newer ones have more


class Refusal(Exception):
    """A reason not to run, in one sentence for the reader."""


# --- what there is to run


def notebooks(root: Path) -> list[str]:
    """The notebooks of _toc.yml in reading order, as paths without suffix."""

    def entries(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (node[key] for key in ("root", "file") if key in node)
        for child in node.values() if isinstance(node, dict) else node:
            if isinstance(child, dict | list):
                yield from entries(child)

    names = (
        name.removesuffix(".ipynb") for name in entries(yaml.safe_load(read(root / "_toc.yml")))
    )
    return [name for name in names if source(root, name).exists()]


def source(root: Path, name: str) -> Path:
    """The path of a notebook as committed."""
    return root / f"{name}.ipynb"


def executed(root: Path, profile: str, name: str) -> Path:
    """The path of a notebook as executed under a profile."""
    return root / "_build" / "executed" / profile / f"{name}.ipynb"


def results(root: Path, profile: str) -> Path:
    """The folder of the results that notebooks write under a profile."""
    return root / "_build" / ("results" if profile == "full" else f"results-{profile}")


def read(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8")


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


# --- whether to run it


def fingerprint(root: Path, name: str, parameters: Parameters) -> str:
    """The hash of all that decides a notebook's outputs; its prose does not."""
    cells = [
        [cell["id"], cell["source"], sorted(RUN_TAGS & set(cell["metadata"].get("tags", [])))]
        for cell in code(load(source(root, name)))
    ]
    package = sorted((root / "dueling").rglob("*.py"))
    files = [*package, root / "requirements.txt", *reads(root, name)]
    inputs = {
        "cells": cells,
        "parameters": dict(parameters.get(name, {})),
        "needs": {other: fingerprint(root, other, parameters) for other in needs(root, name)},
        "kernel": [*KERNEL, COMMON],
        "style": read(STYLE),
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


# --- running it


def run(root: Path, profile: str, name: str, parameters: Parameters) -> dict[str, Any]:
    """The cost of executing one notebook, whose outputs replace the last good ones."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    at: dict[str, Any] = {}
    wrote = Wrote(results(root, profile))
    mark = fingerprint(root, name, parameters)
    given = dict(parameters.get(name, {}))
    try:
        with measured() as cost:
            notebook = papermill.execute_notebook(
                str(source(root, name)),
                None,
                given,
                kernel_name="python3",
                kernel_manager_class=kernel(kernel_environment(profile)),
                on_cell_start=lambda cell, cell_index: at.update(cell=cell),
                on_cell_executed=lambda cell, cell_index, execute_reply: wrote.look(cell["id"]),
                progress_bar=False,
                start_timeout=180,
                cwd=root,
            )
    except PapermillExecutionError as error:
        raise Refusal(report(root, name, at["cell"], error.traceback)) from error
    except Exception as error:  # the kernel died, or did not start
        raise Refusal(report(root, name, at.get("cell"), [f"{error!r}"])) from error
    about = {"fingerprint": mark, "parameters": given, "wrote": wrote.sums()}
    settled = settle(notebook, root, about)
    write(executed(root, profile, name), settled)
    return cost


class Wrote:
    """The results (tables and their descriptions) that a notebook writes, and in which cell."""

    def __init__(self, folder: Path):
        self.folder, self.cells = folder, {}
        self.seen = self.times()

    def times(self) -> dict[str, int]:
        """When each result was last written."""
        files = [path for path in self.folder.rglob("*") if path.suffix in {".csv", ".json"}]
        return {path.relative_to(self.folder).as_posix(): path.stat().st_mtime_ns for path in files}

    def look(self, cell: str) -> None:
        """Nothing; what was written since the last look belongs to this cell."""
        now = self.times()
        self.cells |= {file: cell for file in now if now[file] != self.seen.get(file)}
        self.seen = now

    def sums(self) -> dict[str, dict[str, str]]:
        """Each file with its cell and its checksum."""
        return {
            file: {"cell": cell, "sha256": sum_of(self.folder / file)}
            for file, cell in sorted(self.cells.items())
        }


def kernel(environment: Mapping[str, str]) -> type:
    """A kernel manager that starts the running interpreter, whatever kernelspecs are installed."""
    from jupyter_client.manager import AsyncKernelManager

    class Own(AsyncKernelManager):
        def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
            launch = [sys.executable, "-m", "ipykernel_launcher", "-f", self.connection_file]
            return [*launch, *KERNEL, *(extra_arguments or [])]

        async def start_kernel(self, **options: Any) -> None:
            await super().start_kernel(**options | {"env": dict(environment)})

    return Own


def kernel_environment(profile: str) -> dict[str, str]:
    """The environment of a kernel: no start-up file, figure style or hash seed of the user's."""
    home = Path(sys.prefix) / "var" / "book"
    own = {
        "BOOK_PROFILE": profile,
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MATPLOTLIBRC": str(STYLE),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        **arithmetic(),
    }
    environment = os.environ | own
    if not any((home / "matplotlib").glob("fontlist*")):  # or the first figure speaks of fonts
        warm_up = [sys.executable, "-c", "import matplotlib.font_manager"]
        subprocess.run(warm_up, env=environment, capture_output=True, check=False)
    return environment


def vectors() -> list[str]:
    """The vector extensions of this processor that NumPy knows how to use."""
    import numpy as np

    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def arithmetic() -> dict[str, str]:
    """The environment in which NumPy rounds alike on every x86-64-v3 processor and core count."""
    alike = {"OPENBLAS_NUM_THREADS": "1"}
    if COMMON in (found := vectors()):
        newer = " ".join(name for name in found if name != COMMON)
        alike |= {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": newer}
    return alike


@contextmanager
def measured() -> Iterator[dict[str, Any]]:
    """A dict that ends with the seconds taken and the peak memory of the child processes."""
    import psutil

    cost = {"seconds": 0.0, "peak_mb": 0}
    done = threading.Event()

    def sample() -> None:
        while not done.wait(1.0):
            used = 0
            for child in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    used += child.memory_info().rss
            cost["peak_mb"] = max(cost["peak_mb"], used // 2**20)

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    start = time.monotonic()
    try:
        yield cost
    finally:
        cost["seconds"] = round(time.monotonic() - start, 1)
        done.set()
        sampler.join()


def report(root: Path, name: str, cell: Mapping[str, Any] | None, trace: list[str]) -> str:
    """One screen about a failure: notebook, code cell, its source, the end of the traceback."""
    ids = [other["id"] for other in code(load(source(root, name)))]
    where = "before its first cell"
    text: list[str] = []
    if cell:
        number = ids.index(cell["id"]) + 1 if cell["id"] in ids else "of injected parameters"
        where = f"in code cell {number}"
        text = cell["source"].splitlines()
    error = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(trace)).splitlines()
    shown = text[:18] + ["..."] * (len(text) > 18)
    return "\n".join(
        [f"{name}.ipynb failed {where}:", *(f"    {line}" for line in shown), "", *error[-14:]]
    )


# --- what is kept


def settle(notebook: Any, root: Path, about: Mapping[str, Any]) -> str:
    """The notebook's text without what differs between two runs: times, random ids, paths."""
    import nbformat

    spec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": spec, "executed": about})
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
        if "outputs" in cell:
            cell.outputs = [nbformat.from_dict(scrub(out, root)) for out in merge(cell.outputs)]
    return nbformat.writes(notebook) + "\n"


def merge(outputs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    r"""The outputs with streams in one piece (their cuts vary); bars (\r), bare paths left out."""
    merged: list[dict[str, Any]] = []
    for output in outputs:
        if output.get("name") == "stderr" and "\r" in output["text"]:
            continue
        if output.get("data", {}).get("text/plain", "").startswith("PosixPath("):
            continue
        last = merged[-1] if merged else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            merged.append(dict(output))
    return merged


def scrub(output: dict[str, Any], root: Path) -> dict[str, Any]:
    """The output without memory addresses, temporary files and the place of the checkout."""
    text = json.dumps(output, ensure_ascii=False).replace(f"{root}/", "")
    for sign, pattern, plain in VOLATILE:
        text = re.sub(pattern, plain, text) if sign in text else text
    return json.loads(text)


def write(path: Path, text: str) -> None:
    """Nothing; the file has all of the text, or stays as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def note(root: Path, profile: str, name: str, cost: Mapping[str, Any]) -> None:
    """Nothing; status.json holds the cost of each notebook's last run, apart from its outputs."""
    path = root / "_build" / "executed" / profile / "status.json"
    status = json.loads(read(path)) if path.exists() else {}
    status = {other: status[other] for other in notebooks(root) if other in status}
    status[name] = dict(cost) | {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {package: version(package) for package in ("numpy", "numba", "matplotlib")},
    }
    write(path, json.dumps(status, indent=1, sort_keys=True) + "\n")


# --- the command line


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """The build folder for this process alone; a second build waits."""
    lock = root / "_build" / "executed" / ".lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another build is running: waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_all(root: Path, profile: str, only: list[str], given: list[list[str]]) -> None:
    """Nothing; every notebook asked for, and all it needs, has fresh outputs."""
    parameters = chosen_parameters(root, profile, given)
    for name in in_order(root, [name.removesuffix(".ipynb") for name in only] or notebooks(root)):
        if fresh(root, profile, name, parameters):
            print(f"{name}: unchanged", flush=True)
            continue
        print(f"{name}: running", flush=True)
        cost = run(root, profile, name, parameters)
        note(root, profile, name, cost)
        print(f"{name}: {cost['seconds']} s, {cost['peak_mb']} MB", flush=True)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line, parsed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--profile", default=os.environ.get("BOOK_PROFILE", "full"))
    parser.add_argument("--only", action="append", default=[], metavar="NOTEBOOK")
    triple = ("NOTEBOOK", "NAME", "VALUE")
    parser.add_argument("-p", dest="given", action="append", default=[], nargs=3, metavar=triple)
    parser.add_argument("command", nargs="*", help="what to run next, after --")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """The exit status: 0, 1 after a refusal or a failure, 130 when interrupted."""
    options = arguments(argv)
    root = options.root.resolve()
    try:
        with alone(root):
            run_all(root, options.profile, options.only, options.given)
            if options.command:
                environment = os.environ | {"BOOK_PROFILE": options.profile}
                return subprocess.run(options.command, cwd=root, env=environment).returncode
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted: the last good outputs are in place.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
