"""Where a result comes from: settings, versions, platform, commit."""

import json
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the checkout, if the package runs from one
#: The names in ``about`` that tell where a result was made, and how its file is kept.
ORIGIN = ("versions", "python", "machine", "commit", "format", "key", "checksum")


def provenance(settings: dict) -> dict:
    """The settings, as JSON can hold them, together with versions, platform and commit."""
    return {
        **plain(settings),
        "versions": {name: _version(name) for name in ("dueling", "numpy", "numba", "scipy")},
        "python": platform.python_version(),
        "machine": f"{platform.system()}-{platform.machine()}",
        "commit": _own_commit(),
    }


def settings(about: dict) -> dict:
    """What of ``about`` belongs to the result: all but :data:`ORIGIN`.

    Results with equal settings and equal arrays are the same, wherever they were made.
    """
    return {name: value for name, value in about.items() if name not in ORIGIN}


def plain(settings: dict) -> dict:
    """The settings as JSON gives them back: arrays as lists, functions and objects by name."""

    def entry(value):
        if hasattr(value, "tolist"):
            return value.tolist()
        return getattr(value, "__name__", re.sub(r" at 0x[0-9a-f]+", "", repr(value)))

    return json.loads(json.dumps(settings, default=entry))


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


@cache
def _own_commit() -> str:
    return commit()


def git(root: Path, *words: str) -> str:
    """What git answers in a folder; an OSError or SubprocessError if it is missing or refuses."""
    run = subprocess.run(
        ("git", *words), cwd=root, capture_output=True, text=True, check=True, timeout=10
    )
    return run.stdout.strip()


def edited(root: Path = ROOT) -> bool:
    """Whether git sees a change to a tracked file of the checkout."""
    return bool(git(root, "status", "--porcelain", "--untracked-files=no"))


def commit(root: Path = ROOT) -> str:
    """The commit of the checkout, marked when edited; of an unpacked archive; else ``unknown``."""
    try:
        git(root, "ls-files", "--error-unmatch", "pyproject.toml")  # not a checkout around this one
        return git(root, "rev-parse", "HEAD") + ("-edited" if edited(root) else "")
    except (OSError, subprocess.SubprocessError):
        archived = root / ".git_archival.txt"  # git archive writes the commit into it
        text = archived.read_text(encoding="utf-8").strip() if archived.exists() else ""
        return text if len(text) == 40 else "unknown"
