"""The outcome of many runs: arrays, and where they come from."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FORMAT = "dueling result 2"
CURVES = ("regret", "realised")


@dataclass(frozen=True)
class Result:
    """What :func:`dueling.simulate` returns.

    Attributes:
        checkpoints: the rounds at which regret was read.
        arrays: ``regret[run, checkpoint]``; ``plays[run, b, x, y]``, the number of duels of (x, y)
            that ended with b (of a cardinal bandit ``plays[run, u, x]``); and
            ``realised[run, checkpoint]`` where asked.
        about: parameters, seed, versions and commit.
    """

    checkpoints: np.ndarray
    arrays: dict
    about: dict

    @property
    def regret(self) -> np.ndarray:
        """regret[run, checkpoint]."""
        return self._array("regret")

    @property
    def plays(self) -> np.ndarray:
        """plays[run, b, x, y], the duels of left arm x and right arm y that ended with b."""
        return self._array("plays")

    @property
    def realised(self) -> np.ndarray:
        """realised[run, checkpoint], the realised regret, where asked."""
        return self._array("realised")

    @property
    def advances(self) -> np.ndarray:
        """advances[run, x], how often x was the left arm; in MultiSBM n_x, the clock of S_x."""
        if self.plays.ndim != 4:
            raise ValueError("this is a cardinal bandit's result: no left arms; see its pulls.")
        return self.plays.sum(axis=(1, 3))

    @property
    def pulls(self) -> np.ndarray:
        """pulls[run, x], how often x was played, on either side."""
        duels = self.plays.sum(axis=1)
        return duels if duels.ndim == 2 else duels.sum(axis=1) + duels.sum(axis=2)

    def _array(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            held, ask = ", ".join(self.arrays), "; simulate(..., realised=True) draws it"
            raise ValueError(
                f"this result holds {held}, but no {name}{ask if name == 'realised' else ''}."
            )
        return self.arrays[name]

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
        head = {"format": FORMAT, "arrays": sorted(self.arrays), **self.about}
        named = {"about": np.array(json.dumps(head, sort_keys=True)), **self.arrays}
        half = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with open(half, "wb") as file:
                np.savez_compressed(file, checkpoints=self.checkpoints, **named)
            os.replace(half, path)
        finally:
            half.unlink(missing_ok=True)
        return path

    @staticmethod
    def load(path) -> "Result":
        """Read a file that :meth:`save` wrote; any other file is refused."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(str(arrays.pop("about")))
            rounds = arrays.pop("checkpoints")
            if about.pop("format") != FORMAT or about.pop("arrays") != sorted(arrays):
                raise KeyError("format")
            if any(arrays[name].shape[1:] != rounds.shape for name in CURVES if name in arrays):
                raise IndexError("regret")
            return Result(rounds, arrays, about)
        except FileNotFoundError:
            raise
        except Exception as bad:  # zip, zlib, json and numpy each have their own
            raise ValueError(
                f"{path} is not a whole result of this package ({type(bad).__name__}); "
                "Result.load reads what Result.save wrote."
            ) from bad
