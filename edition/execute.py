"""Execute one notebook with papermill, and keep what does not differ between two runs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .kernel import Kernel
from .notebooks import code, executed, load, own_sum, parsed, source
from .place import Refusal, read, results, write
from .scrub import merge, scrub
from .sums import sum_of


def execute(
    root: Path, profile: str, name: str, about: Mapping[str, Any], kernel: Kernel, limit: int
) -> None:
    """Run a notebook, each cell for at most ``limit`` seconds; replace its last good outputs.

    ``about`` is its fingerprint, taken before anything ran, and its parameters.
    """
    with TemporaryDirectory() as folder:
        kernel.folder, wrote = Path(folder), Wrote(Path(folder) / "wrote")
        kernel.environment["BOOK_WROTE"] = str(wrote.listing)
        notebook = run(root, name, about["parameters"], kernel, limit, wrote)
    record = {**about, "wrote": wrote.sums(results(root, profile))}
    write(executed(root, profile, name), settle(notebook, root, record))


def run(
    root: Path, name: str, parameters: dict[str, Any], kernel: Kernel, limit: int, wrote: Wrote
) -> Any:
    """The notebook with its outputs, or a refusal that names the cell that failed."""
    import papermill

    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # a refusal says it all
    at: dict[str, Any] = {}
    try:
        notebook = papermill.execute_notebook(
            str(source(root, name)),
            None,
            parameters,
            kernel_name="python3",
            kernel_manager_class=kernel.manager(),
            on_cell_start=lambda cell, cell_index: at.update(cell=cell),
            on_cell_executed=lambda cell, cell_index, execute_reply: wrote.look(cell["id"]),
            progress_bar=False,
            start_timeout=180,
            execution_timeout=limit,
        )
        if notebook.metadata.papermill.exception:  # papermill lets sys.exit(0) pass
            raise SystemError("the cell ended its notebook: SystemExit")
    except Exception as error:
        raise Refusal(report(root, name, at.get("cell"), reason(error, limit))) from error
    return notebook


def reason(error: Exception, limit: int) -> list[str]:
    """The lines that say why an execution failed: a traceback of the cell, or one line."""
    from nbclient.exceptions import CellTimeoutError
    from papermill.exceptions import PapermillExecutionError

    if isinstance(error, PapermillExecutionError):
        return error.traceback
    if isinstance(error, CellTimeoutError):
        return [f"It ran for more than {limit} s and was stopped; --limit allows more."]
    return [f"{error!r}"]  # the kernel died, or did not start


class Wrote:
    """The results that a notebook writes, and in which cell: edition.tables lists them."""

    def __init__(self, listing: Path):
        self.listing, self.cells, self.seen = listing, {}, 0

    def look(self, cell: str) -> None:
        """Attribute what was written since the last look to this cell."""
        names = read(self.listing).splitlines() if self.listing.exists() else []
        self.cells |= dict.fromkeys(names[self.seen :], cell)
        self.seen = len(names)

    def sums(self, folder: Path) -> dict[str, dict[str, str]]:
        """Each file with its cell and its checksum."""
        return {
            file: {"cell": cell, "sha256": sum_of(folder / file)}
            for file, cell in sorted(self.cells.items())
        }


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

    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
        if "outputs" in cell:
            cell.outputs = [nbformat.from_dict(scrub(out, root)) for out in merge(cell.outputs)]
    spec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": spec, "executed": about})
    kept = parsed(nbformat.writes(notebook), "The executed notebook")
    kept["metadata"]["executed"]["sum"] = own_sum(kept)
    return json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
