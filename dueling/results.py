"""The outcome of many runs: arrays, and where they come from."""

import json
import os
import platform
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

FORMAT = "dueling result 1"


@dataclass(frozen=True)
class Result:
    """What :func:`dueling.simulate` returns.

    Attributes:
        checkpoints: the rounds at which regret was read.
        arrays: ``regret[run, checkpoint]``; ``plays[run, b, x, y]``, the number of duels of (x, y)
            that ended with b; and ``realised[run, checkpoint]`` where asked.
        about: parameters, seed, versions and commit.
    """

    checkpoints: np.ndarray
    arrays: dict
    about: dict

    @property
    def regret(self) -> np.ndarray:
        """regret[run, checkpoint]."""
        return self.arrays["regret"]

    @property
    def plays(self) -> np.ndarray:
        """plays[run, b, x, y]: duels of the left arm x and the right arm y that ended with b."""
        return self.arrays["plays"]

    @property
    def realised(self) -> np.ndarray:
        """realised[run, checkpoint], the realised regret, where asked."""
        return self.arrays["realised"]

    @property
    def advances(self) -> np.ndarray:
        """advances[run, x], how often x was the left arm: in MultiSBM, n_x, the clock of S_x."""
        return self.plays.sum(axis=(1, 3))

    @property
    def pulls(self) -> np.ndarray:
        """pulls[run, x], how often x was played, on either side."""
        duels = self.plays.sum(axis=1)
        return duels if duels.ndim == 2 else duels.sum(axis=1) + duels.sum(axis=2)

    def mean(self) -> np.ndarray:
        """The mean regret at each checkpoint."""
        return self.regret.mean(axis=0)

    def error(self) -> np.ndarray:
        """The standard error of the mean at each checkpoint."""
        return self.regret.std(axis=0, ddof=1) / np.sqrt(len(self.regret))

    def save(self, path) -> Path:
        """Write one file, whole or not at all; the same result gives the same bytes."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        about = json.dumps({"format": FORMAT, **self.about}, sort_keys=True)
        half = path.with_name(f".{path.name}.{os.getpid()}.part")
        with open(half, "wb") as file:
            np.savez_compressed(
                file, about=np.array(about), checkpoints=self.checkpoints, **self.arrays
            )
        os.replace(half, path)
        return path

    @staticmethod
    def load(path) -> "Result":
        """Read a file that :meth:`save` wrote; any other file is refused."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(str(arrays.pop("about")))
            if about.pop("format") != FORMAT:
                raise KeyError("format")
            return Result(arrays.pop("checkpoints"), arrays, about)
        except FileNotFoundError:
            raise
        except Exception as bad:  # zip, zlib, json and numpy each have their own
            raise ValueError(
                f"{path} is not a whole result of this package ({type(bad).__name__}); "
                "Result.load reads what Result.save wrote."
            ) from bad


def provenance(settings: dict) -> dict:
    """The settings together with versions, platform and commit."""
    return {
        **settings,
        "versions": {name: _version(name) for name in ("dueling", "numpy", "numba", "scipy")},
        "python": platform.python_version(),
        "machine": f"{platform.system()}-{platform.machine()}",
        "commit": commit(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


@cache
def commit() -> str:
    """The commit of the checkout that holds this package, marked when edited; else ``unknown``."""
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        return subprocess.run(
            ("git", *words), cwd=here, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        dirty = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("-edited" if dirty else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
