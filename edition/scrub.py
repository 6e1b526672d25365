"""What is kept of the outputs of a notebook: not what differs between two runs or two places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

VOLATILE = [  # the bound keeps the search linear in long outputs such as figures
    (" at 0x", r" at 0x[0-9a-fA-F]+", " at 0x0"),
    ("ipykernel_", r'[^\s"]{0,200}ipykernel_\d+/\d+\.py', "cell.py"),
]


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


def scrub(value: Any, root: Path) -> Any:
    """The value without memory addresses, temporary files and the place of the checkout."""
    if isinstance(value, dict):
        return {key: scrub(part, root) for key, part in value.items()}
    if isinstance(value, list):
        return [scrub(part, root) for part in value]
    return plain(value, root) if isinstance(value, str) else value


def plain(text: str, root: Path) -> str:
    """The text without what differs between two runs, and between two places."""
    text = text.replace(f"{root}/", "")
    for sign, pattern, instead in VOLATILE:
        text = re.sub(pattern, instead, text) if sign in text else text
    return text
