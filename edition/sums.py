"""Checksums of what a build makes, blind to the commit that made it.

Two commits with equal content give equal sums: the commit is left out of provenance (JSON, npz)
and of the foot of a page (HTML). Every other byte counts.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

COMMIT = re.compile(rb"\b[0-9a-f]{40}(-edited)?\b")
TEXT = {".html", ".js", ".json", ".ipynb", ".csv", ".md", ".xml", ".svg", ".txt"}


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def plain_text(data: bytes) -> bytes:
    """The text with every full commit hash (and its mark of edits) made the same."""
    return COMMIT.sub(b"<commit>", data.replace(b'"unknown"', b'"<commit>"'))


def plain_archive(data: bytes) -> bytes:
    """The members of an npz one after the other, the text in them without commits."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [(name, archive.read(name)) for name in sorted(archive.namelist())]
    return b"".join(name.encode() + plain_member(name, part) for name, part in parts)


def plain_member(name: str, data: bytes) -> bytes:
    """A member of an npz; ``about`` is text (UTF-32 in numpy), read as such."""
    if name != "about.npy":
        return data
    import numpy as np

    about = json.loads(str(np.load(io.BytesIO(data), allow_pickle=False)))
    return plain_text(json.dumps(about, sort_keys=True).encode())


def plain(path: Path) -> bytes:
    """The bytes of a file that are compared."""
    data = path.read_bytes()
    if path.suffix == ".npz":
        return plain_archive(data)
    return plain_text(data) if path.suffix in TEXT else data


def sum_of(path: Path) -> str:
    """The checksum of one file."""
    return digest(plain(path))


def sums(folder: Path, skip: Any = ()) -> dict[str, str]:
    """The checksum of every file below a folder, by its path there; names in ``skip`` left out."""
    whole = [path for path in folder.rglob("*") if path.suffix != ".part"]  # not half written
    files = sorted(path for path in whole if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: sum_of(path) for name, path in names.items() if name not in set(skip)}
