"""``kernels.js``: the WebAssembly module and the shape of the objects that its kernels take.

It is made in a process of its own, because numba must not optimise there, and kept in
``_build/play`` under a digest of all that decides it, so that a build that changed none of this
takes the file as it is.

python -m edition.wasm.bundle FILE      write it
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import dueling
from dueling.engine.blocks import fields

from .. import place

PREFIX = "window.duelingKernels = "
#: Where the objects of a run begin, and the stack, which grows down, ends; data lies below it.
STACK = 1 << 17


def digest() -> str:
    """What decides the file: the package's texts, this folder's, and the compilers' versions."""
    parts = [f"{name} {version(name)}".encode() for name in ("numba", "llvmlite", "numpy")]
    for folder in (Path(dueling.__file__).parent, Path(__file__).parent):
        for path in sorted([*folder.rglob("*.py"), *folder.glob("*.ll")]):
            parts += [path.relative_to(folder).as_posix().encode(), path.read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def kept(root: Path) -> Path:
    """Where the file is, once it is made."""
    return root / "_build" / "play" / f"kernels-{digest()}.js"


def begun(root: Path) -> subprocess.Popen:
    """A process that makes the file."""
    command = [sys.executable, "-m", "edition.wasm.bundle", str(kept(root))]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=os.environ | {"NUMBA_OPT": "0"}, cwd=root, **pipes)


def file(root: Path, making: subprocess.Popen | None = None) -> Path:
    """The file, once the process that is ``making`` it ends; else made now, if it is not there."""
    path = kept(root)
    if making is None and not path.is_file():
        making = begun(root)
    if making is not None:
        _, errors = making.communicate()
        if making.returncode:
            raise place.Refusal(f"the kernels cannot be made: {errors.strip()[-400:]}")
    return path


def made(root: Path) -> dict[str, Any]:
    """What the file holds; the module as bytes."""
    kept = json.loads(place.read(file(root)).removeprefix(PREFIX).rstrip(";\n"))
    return kept | {"wasm": base64.b64decode(kept["wasm"])}


def text() -> str:
    """The file's text."""
    from .kernels import ALGORITHMS, module

    contents = {
        "stack": STACK,
        "algorithms": {name: parts(algorithm) for name, algorithm in ALGORITHMS.items()},
        "wasm": base64.b64encode(module()).decode(),
    }
    return f"{PREFIX}{json.dumps(contents, separators=(',', ':'))};\n"


def parts(algorithm: Any) -> list[dict[str, Any]]:
    """The objects of an algorithm as a page makes them: of each its fields, word by word.

    A field is [name, kind, value] with kind ``i`` or ``f`` for a number and ``g`` for the
    generator, or [name, kind, fill, shape] for an array. A shape names K, the number of arms, C,
    that of the checkpoints, and L, that of the duels to be logged.
    """
    from .kernels import dealt

    K, C = 5, 3
    symbols = {K: "K", C: "C", 0: "L"}
    described = []
    for part in dealt(algorithm, K, C):
        item = part[0] if isinstance(part, list) else part
        words = [_field(name, value, symbols) for name, value in fields(item).items()]
        described.append({"each": isinstance(part, list), "fields": words})
    return described


def _field(name: str, value: Any, symbols: dict[int, str]) -> list:
    if isinstance(value, np.random.Generator):
        return [name, "g", 0]
    if isinstance(value, np.ndarray):
        ones = bool(value.size and (value == 1).all())  # all else is set before it is read
        return [name, value.dtype.kind, int(ones), [symbols.get(n, n) for n in value.shape]]
    return [name, "f" if isinstance(value, float) else "i", value]


if __name__ == "__main__":
    place.write(Path(sys.argv[1]), text())
