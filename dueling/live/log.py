"""The log of a live session: a file of lines of JSON, the first of which says whose it is."""

import json
import os
from pathlib import Path
from typing import Any

from ..engine import checks, files
from ..engine.algorithm import Algorithm
from ..engine.provenance import plain

FORMAT = {"format": "dueling live log", "version": 1}


def head(algorithm: Algorithm, **settings) -> dict:
    """The first line: format and version, the algorithm by name and settings, arms and seed."""
    named = {"algorithm": algorithm.name, "parameters": algorithm.settings()}
    return plain(FORMAT | named | settings)


def _bytes(entry: dict | tuple | list) -> bytes:
    """An entry as a line."""
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


class File:
    """The file of one session, and of its size: nobody else writes to it."""

    def __init__(self, path: Path, size: int):
        self.path, self.size = path, size

    def append(self, entry: tuple | list) -> None:
        """Put one line at the end, whole or not at all."""
        text, written = _bytes(entry), 0
        with open(self.path, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size != self.size:
                why = "somebody else has written there; save goes on in another file"
                raise ValueError(f"log is {self.path}, now {size} bytes, not {self.size}: {why}.")
            try:
                written = file.write(text)
            finally:
                if written < len(text):
                    file.truncate(size)
        if written < len(text):
            raise OSError(f"log is {self.path}; no room for another line is left there.")
        self.size += written


def path(name: str, value: Any) -> Path:
    """The value as a whole path, if it names a file in a folder that is there."""
    if not (isinstance(value, str | os.PathLike) and os.fspath(value) and "\0" not in str(value)):
        checks.refuse(name, value, "the path of a file")
    whole = Path(os.path.abspath(os.fsdecode(value)))
    if whole.is_dir() or not whole.parent.is_dir():
        checks.refuse(name, value, "the path of a file, in a folder that is there")
    return whole


def write(path: Path, entries: list) -> File:
    """Write a whole log, or leave the file as it was."""
    text = b"".join(map(_bytes, entries))
    with files.whole(path) as file:
        file.write(text)
    return File(path, len(text))


def read(path: Path) -> tuple[dict, list, int]:
    """The first line, the events, and where they end: a last line may have been cut off."""
    whole, newline, _ = path.read_bytes().rpartition(b"\n")
    entries = [_entry(path, r, text) for r, text in enumerate(whole.split(b"\n"), 1)]
    first = entries[0] if isinstance(entries[0], dict) else {}
    if {name: first.get(name) for name in FORMAT} != FORMAT:
        raise ValueError(f"{path} is no live log of version {FORMAT['version']}.")
    return first, entries[1:], len(whole + newline)


def resume(path: Path, size: int) -> File:
    """The file of a log that was played again; a last line that was cut off is cut from it."""
    with open(path, "r+b") as file:
        file.seek(size)
        if b"\n" not in file.read():
            file.truncate(size)
    return File(path, size)


def _entry(path: Path, r: int, text: bytes):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"line {r} of {path} is {text[:40]!r}; it must be JSON.") from None
