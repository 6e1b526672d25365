"""The outcome of many runs: arrays, where they come from, and how they look."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import checks, files
from .audit import audit, checksum

FORMAT = "dueling result 2"


@dataclass(frozen=True, eq=False)
class Result:
    """What :func:`~dueling.engine.simulation.simulate` returns.

    Attributes:
        checkpoints: the rounds at which regret was read.
        arrays: ``regret[run, checkpoint]``; ``plays[run, b, x, y]``, the number of duels of (x, y)
            that ended with b (of a cardinal bandit ``plays[run, u, x]``); and
            ``realised[run, checkpoint]`` where asked.
        about: parameters, seed, versions and commit.

    >>> result = simulate("YJ", "IF", T=100, runs=20, compiled=False)
    >>> result
    IF2(scale=4) on YJ: 20 runs, T = 100, regret 5.92 ± 0.38, median 5.4, worst 8
    >>> result.quantile(0.9).round(1).tolist()
    [0.1, 0.2, 0.3, 0.6, 1.3, 2.6, 5.1, 8.0]
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

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(next(iter(self.arrays.values())))

    def mean(self) -> np.ndarray:
        """The mean regret at each checkpoint."""
        return self.regret.mean(axis=0)

    def error(self) -> np.ndarray:
        """The standard error of the mean at each checkpoint; it needs two runs."""
        if self.runs < 2:
            raise ValueError("runs is 1; it must be at least 2 for a standard error.")
        return self.regret.std(axis=0, ddof=1) / np.sqrt(self.runs)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """The q-quantile of the regret at each checkpoint; a row for each q of several."""
        for level in np.ravel(np.asarray(q, object)):
            checks.real("q", level, "a number in [0, 1]", lambda v: 0 <= v <= 1)
        return np.quantile(self.regret, q, axis=0)

    def __repr__(self) -> str:
        about = {"algorithm": "an algorithm", "scenario": "a game", "T": self.checkpoints[-1]}
        about |= self.about
        runs = f"{self.runs} run{'s' if self.runs > 1 else ''}"
        early = f" at t = {self.checkpoints[-1]}" if self.checkpoints[-1] != about["T"] else ""
        title = f"{about['algorithm']} on {about['scenario']}"
        return f"{title}: {runs}, T = {about['T']}, {self._final()}{early}"

    def _final(self) -> str:
        """The regret at the last checkpoint in words."""
        if "regret" not in self.arrays:
            return f"no regret, but {', '.join(self.arrays)}"
        mean, median, worst = (brief(f(self.regret[:, -1])) for f in (np.mean, np.median, np.max))
        error = f" ± {brief(self.error()[-1], 2)}" if self.runs > 1 else ""
        return f"regret {mean}{error}, median {median}, worst {worst}"

    def _repr_html_(self) -> str:
        words = escape(repr(self))
        curves = [self.mean(), *self.quantile((0.1, 0.9))] if "regret" in self.arrays else []
        return f"<div>{words}<br/>{picture(self.checkpoints, *curves)}</div>" if curves else words

    def to_frame(self) -> Any:
        """A pandas table with a row for each run and checkpoint, and a column for each curve."""
        shape = (self.runs, len(self.checkpoints))
        run, t = np.meshgrid(np.arange(self.runs), self.checkpoints, indexing="ij")
        curves = {name: a for name, a in self.arrays.items() if a.shape == shape}
        columns = {name: a.ravel() for name, a in {"run": run, "t": t, **curves}.items()}
        settings = {name: self.about.get(name) for name in ("scenario", "algorithm")}
        return optional("pandas", "to_frame").DataFrame(settings | columns)

    def plot(self, ax: Any = None, band: Sequence[float] | None = (0.1, 0.9), **line) -> Any:
        """Draw the mean regret, and a band between two quantiles, on these or new axes."""
        if band is not None and np.shape(band) != (2,):
            checks.refuse("band", band, "two shares of the runs, such as (0.1, 0.9), or None")
        ax = optional("matplotlib.pyplot", "plot").subplots()[1] if ax is None else ax
        style = {"label": self.about.get("algorithm")} | line
        (curve,) = ax.plot(self.checkpoints, self.mean(), **style)
        if band is not None:
            low, high = self.quantile(band)
            ax.fill_between(self.checkpoints, low, high, color=curve.get_color(), alpha=0.2, lw=0)
        ax.set(xscale="log", xlabel="t", ylabel="regret")
        return ax

    def save(self, path) -> Path:
        """Write one file, whole or not at all, whenever the machine stops.

        The same result gives the same bytes.
        """
        path = Path(path)
        sums = {"checksum": checksum(self.checkpoints, self.arrays)}
        head = {"format": FORMAT, "arrays": sorted(self.arrays), **self.about, **sums}
        named = {"about": np.array(json.dumps(head, sort_keys=True)), **self.arrays}
        with files.whole(path) as file:
            np.savez_compressed(file, checkpoints=self.checkpoints, **named)
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
            if about.pop("checksum", None) not in (None, checksum(rounds, arrays)):
                raise ValueError("its arrays are not those of its checksum")
            audit(rounds, arrays, about)
            return Result(rounds, arrays, about)
        except FileNotFoundError:
            raise
        except Exception as bad:  # zip, zlib, json and numpy each have their own
            why = str(bad).rstrip(".") if isinstance(bad, ValueError) else type(bad).__name__
            raise ValueError(
                f"{path} is not a whole result of this package ({why}); "
                "Result.load reads what Result.save wrote."
            ) from bad


def brief(value: float, digits: int = 3) -> str:
    """The number with this many digits that matter, but never an exponent for a large one."""
    return f"{value:.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def optional(module: str, asker: str) -> Any:
    """The module, which the package itself does not need."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise ImportError(
            f"{asker} needs {name}, which is not installed; pip install {name}."
        ) from None


def picture(t: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """A small SVG of a mean regret and a band around it, over log t."""
    x = 240 * np.log(t / t[0]) / (np.log(t[-1] / t[0]) or 1)
    bottom, top = min(0, low.min()), max(high.max(), mean.max())

    def points(x: np.ndarray, y: np.ndarray) -> str:
        heights = 60 * (top - y) / ((top - bottom) or 1)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, heights, strict=True))

    band = points(np.append(x, x[::-1]), np.append(low, high[::-1]))
    alt = "Mean regret over the logarithm of time, in a band of 80 % of the runs."
    return (
        f'<svg width="240" height="60" viewBox="0 0 240 60" role="img" aria-label="{alt}">'
        f'<polygon points="{band}" fill="currentColor" opacity="0.2"/>'
        f'<polyline points="{points(x, mean)}" fill="none" stroke="currentColor"/></svg>'
    )
