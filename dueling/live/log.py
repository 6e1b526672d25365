"""The log of a live session: a file of lines of JSON, the first of which says whose it is."""

import json
import os
from pathlib import Path

from ..engine.algorithm import Algorithm

FORMAT = {"format": "dueling live log", "version": 1}


def head(algorithm: Algorithm, **settings) -> dict:
    """The first line: format and version, the algorithm by name and settings, arms and seed."""
    named = {"algorithm": algorithm.name, "parameters": algorithm.settings()}
    return json.loads(json.dumps(FORMAT | named | settings, default=str))


def line(entry: dict | tuple | list) -> str:
    """An entry as a line."""
    return json.dumps(entry, ensure_ascii=False) + "\n"


def write(path: str | os.PathLike, entries: list) -> None:
    """Write a whole log, or leave the file as it was."""
    half = Path(f"{os.fspath(path)}.{os.getpid()}.part")
    half.write_text("".join(map(line, entries)), encoding="utf-8")
    os.replace(half, path)


def append(path: str | os.PathLike | None, entry: tuple | list) -> None:
    """Put one line at the end of the file, if there is one, before anything else happens."""
    if path is not None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line(entry))


def read(path: str | os.PathLike) -> tuple[dict, list]:
    """The first line and the events; a last line that was cut off is cut from the file as well."""
    text = Path(path).read_bytes()
    whole, newline, rest = text.rpartition(b"\n")
    if rest:
        os.truncate(path, len(whole + newline))
    entries = [_entry(path, r, text) for r, text in enumerate(whole.split(b"\n"), 1)]
    first = entries[0] if isinstance(entries[0], dict) else {}
    if {name: first.get(name) for name in FORMAT} != FORMAT:
        raise ValueError(f"{path} is no live log of version {FORMAT['version']}.")
    return first, entries[1:]


def _entry(path: str | os.PathLike, r: int, text: bytes):
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"line {r} of {path} is {text[:40]!r}; it must be JSON.") from None
