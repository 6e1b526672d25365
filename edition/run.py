"""Run the book's notebooks with papermill; a notebook whose inputs did not change is not run again.

python -m edition.run [--profile smoke] [--only book/first] [-p book/first runs 100]

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
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import kernel, place
from .notebooks import (
    Parameters,
    Refusal,
    chosen_parameters,
    code,
    executed,
    fingerprint,
    fresh,
    in_order,
    load,
    notebooks,
    source,
)
from .place import read, results, write
from .sums import sum_of

VOLATILE = [  # the bound keeps the search linear in long outputs such as figures
    (" at 0x", r" at 0x[0-9a-fA-F]+", " at 0x0"),
    ("ipykernel_", r'[^\s"\\]{0,200}ipykernel_\d+/\d+\.py', "cell.py"),
]


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
                kernel_manager_class=kernel.manager(kernel.environment(profile)),
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
    parser.add_argument("--root", type=Path, default=place.root())
    parser.add_argument("--profile", default=place.profile())
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
