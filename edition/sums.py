"""Checksums of what a build makes: of its results, not of where and when they were made.

The one place that says what is left out of a comparison: the commit, wherever a text names it; the
origin of a result (:data:`dueling.engine.provenance.ORIGIN`: versions, Python, machine, ...) in the
JSON beside a table and in an npz; and in a notebook the record of its execution. All arrays,
checkpoints and settings count, and every other byte.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

from dueling.engine.provenance import settings

COMMIT = re.compile(rb"\b[0-9a-f]{40}(-edited)?\b|(?<=ommit )unknown\b")
TEXT = {".html", ".js", ".csv", ".md", ".xml", ".svg", ".txt"}


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def plain_text(data: bytes) -> bytes:
    """The text with every commit made the same: a full hash, marked or not, or "unknown"."""
    return COMMIT.sub(b"<commit>", data)


def plain_json(data: bytes) -> bytes:
    """The settings of a JSON object; all of a list."""
    about = json.loads(data)
    return dump(settings(about) if isinstance(about, dict) else about)


def plain_notebook(data: bytes) -> bytes:
    """The notebook without the record of its execution."""
    notebook = json.loads(data)
    notebook["metadata"].pop("executed", None)
    return dump(notebook)


def dump(thing: Any) -> bytes:
    """JSON with its names in order, and without commits."""
    return plain_text(json.dumps(thing, sort_keys=True).encode())


def plain_archive(data: bytes) -> bytes:
    """The members of an npz one after the other, of ``about`` the settings."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [(name, archive.read(name)) for name in sorted(archive.namelist())]
    return b"".join(name.encode() + plain_member(name, part) for name, part in parts)


def plain_member(name: str, data: bytes) -> bytes:
    """A member of an npz; ``about`` is text (UTF-32 in numpy), read as such."""
    if name != "about.npy":
        return data
    import numpy as np

    return plain_json(str(np.load(io.BytesIO(data), allow_pickle=False)).encode())


PLAIN = dict.fromkeys(TEXT, plain_text) | {
    ".json": plain_json,
    ".ipynb": plain_notebook,
    ".npz": plain_archive,
}


def sum_of(path: Path) -> str:
    """The checksum of one file; of a damaged one, that of its bytes."""
    data = path.read_bytes()
    try:
        return digest(PLAIN[path.suffix](data) if path.suffix in PLAIN else data)
    except Exception:  # zip, zlib, json and numpy each have their own
        return digest(data)


def sums(folder: Path, skip: Any = ()) -> dict[str, str]:
    """The checksum of every file below a folder, by its path there; names in ``skip`` left out."""
    whole = [path for path in folder.rglob("*") if path.suffix != ".part"]  # not half written
    files = sorted(path for path in whole if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: sum_of(path) for name, path in names.items() if name not in set(skip)}


def differing(wanted: dict[str, str], found: dict[str, str]) -> list[str]:
    """The files that are missing, new or of another checksum, each as a sentence's end."""
    lines = [f"{name} is missing" for name in sorted(wanted.keys() - found.keys())]
    lines += [f"{name} is new" for name in sorted(found.keys() - wanted.keys())]
    both = sorted(wanted.keys() & found.keys())
    return lines + [f"{name} differs" for name in both if wanted[name] != found[name]]
