"""Where a result comes from: settings, versions, platform, commit."""

import json
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the checkout, if the package runs from one


def provenance(settings: dict) -> dict:
    """The settings, as JSON can hold them, together with versions, platform and commit."""
    return {
        **json.loads(json.dumps(settings, default=_plain)),
        "versions": {name: _version(name) for name in ("dueling", "numpy", "numba", "scipy")},
        "python": platform.python_version(),
        "machine": f"{platform.system()}-{platform.machine()}",
        "commit": _own_commit(),
    }


def _plain(value):
    """NumPy's numbers and arrays as Python's, anything else by its name."""
    return value.tolist() if hasattr(value, "tolist") else getattr(value, "__name__", repr(value))


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


@cache
def _own_commit() -> str:
    return commit()


def commit(root: Path = ROOT) -> str:
    """The commit of the checkout, marked when edited; of an unpacked archive; else ``unknown``."""

    def git(*words: str) -> str:
        run = subprocess.run(
            ("git", *words), cwd=root, capture_output=True, text=True, check=True, timeout=10
        )
        return run.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "pyproject.toml")  # not a checkout around this one
        edited = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("-edited" if edited else "")
    except (OSError, subprocess.SubprocessError):
        archived = root / ".git_archival.txt"  # git archive writes the commit into it
        text = archived.read_text(encoding="utf-8").strip() if archived.exists() else ""
        return text if len(text) == 40 else "unknown"
