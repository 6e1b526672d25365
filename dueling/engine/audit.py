"""Whether arrays can come from the simulation that they are said to come from."""

import hashlib

import numpy as np

from ..scenarios import Preferences
from ..theory.preferences import fair
from . import checks

CURVES = ("regret", "realised")
RISING = ("average", "cardinal")  # sums of gaps, which are never negative
OF_UTILITIES = {"mu", "m", "P", "names", "link", "law"}  # what games of one utility an arm record
MOST = {"preference": 0.5, "copeland": 1.0, "borda": 1.0}  # of one duel


def checksum(rounds: np.ndarray, arrays: dict) -> str:
    """The SHA-256 of the checkpoints and of all arrays: their names, types, shapes and numbers."""
    total = hashlib.sha256()
    for name, array in sorted({**arrays, "checkpoints": rounds}.items()):
        total.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def audit(rounds: np.ndarray, arrays: dict, about: dict) -> None:
    """Refuse arrays of another shape, kind or sign than ``about`` says, or that contradict it."""
    T, runs = (checks.whole(name, about.get(name)) for name in ("T", "runs"))
    checks.checkpoints(rounds, T)
    for name in ("scenario", "algorithm", "regret"):
        _hold(isinstance(about.get(name), str), f"{name} is {about.get(name)!r}; it must be a name")
    _hold(rounds.dtype == np.int64, f"checkpoints are {rounds.dtype}; they must be int64")
    _hold(arrays, "it holds no array")
    for name, array in arrays.items():
        _hold(array.shape[:1] == (runs,), f"{name} has shape {array.shape}; there are {runs} runs")
        _hold(array.dtype.kind in "bif", f"{name} is of type {array.dtype}; it must hold numbers")
        _hold(np.isfinite(array).all(), f"{name} has a number that is not finite")
    for name in (name for name in CURVES if name in arrays):
        _curve(name, arrays[name], len(rounds), about)
    if "regret" in arrays:
        _bounds(arrays["regret"], rounds, about)
    if "plays" in arrays:
        _plays(arrays["plays"], T, about.get("game") or {})
    if {"regret", "plays"} <= arrays.keys() and rounds[-1] == T:
        _cost(arrays["regret"][:, -1], arrays["plays"].sum(axis=1), about)


def _hold(truth: object, otherwise: str) -> None:
    if not truth:
        raise ValueError(otherwise)


def _curve(name: str, curve: np.ndarray, rounds: int, about: dict) -> None:
    _hold(curve.dtype == np.float64, f"{name} is {curve.dtype}; it must be float64")
    _hold(curve.shape[1:] == (rounds,), f"{name} has shape {curve.shape} at {rounds} checkpoints")
    asked = about.get("realised") if name == "realised" else about["regret"] != "none"
    _hold(asked, f"{name} is there, but its settings did not ask for it")
    if name == "regret" and about["regret"] in RISING:
        steps = np.diff(curve, axis=1, prepend=0)
        _hold((steps >= -1e-6).all(), f"{about['regret']} regret falls; it is a sum of gaps >= 0")


def _bounds(curve: np.ndarray, rounds: np.ndarray, about: dict) -> None:
    """Hold regret between 0 and T times the most that one round can cost, where that is known."""
    game, kind = about.get("game") or {}, about["regret"]
    mu, most = game.get("mu"), MOST.get(kind) if "P" in game else None
    if kind in RISING and mu is not None and game.keys() <= OF_UTILITIES:
        most = np.ptp(mu)
    elif kind == "preference" and mu is not None:
        return  # the arm of most utility may lose duels
    slack = 1e-6 * rounds
    _hold(most is None or (curve >= -slack).all(), f"{kind} regret is negative")
    ceiling = np.inf if most is None else most * rounds + slack
    _hold((curve <= ceiling).all(), f"{kind} regret is above {most} a round")


def _plays(plays: np.ndarray, T: int, game: dict) -> None:
    K = plays.shape[-1]
    _hold(plays.dtype == np.int64, f"plays is {plays.dtype}; it must be int64")
    square = plays.shape[1:] in ((2, K, K), (2, K))
    _hold(square, f"plays has shape {plays.shape}; it must be runs x 2 x arms (x arms)")
    arms = len(game.get("P", plays[0, 0]))
    _hold(arms == K, f"plays has {K} arms; its game has {arms}")
    _hold((plays >= 0).all(), "plays has a negative count")
    for total in plays.reshape(len(plays), -1).sum(axis=1):
        _hold(total == T, f"plays of a run sum to {total}; T is {T}")


def _cost(regret: np.ndarray, duels: np.ndarray, about: dict) -> None:
    """Hold the regret against what the duels that were played cost."""
    price = _price(about["regret"], about.get("game") or {})
    if price is None:
        return
    pulls = duels if duels.ndim == 2 else (duels.sum(axis=1) + duels.sum(axis=2)) / 2
    _hold(len(price) == pulls.shape[1], f"plays has {pulls.shape[1]} arms, mu has {len(price)}")
    close = np.allclose(regret, pulls @ price, rtol=1e-6, atol=1e-6)
    _hold(close, "regret is not that of the plays")


def _price(regret: str, game: dict) -> np.ndarray | None:
    """What a duel of each arm with itself costs, where the game tells; of x and y, their mean."""
    if "mu" in game and regret in RISING:
        return max(game["mu"]) - np.array(game["mu"])
    if "P" not in game or regret not in MOST:
        return None
    if regret == "preference" and "mu" in game:
        return fair(np.array(game["P"]))[:, np.argmax(game["mu"])] - 0.5
    return Preferences(game["P"], biased=True).table(regret).diagonal()
