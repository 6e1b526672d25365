"""One run of an algorithm on a scenario: what decides its numbers, and nothing else.

Stored results are kept by the text of this module and of all that it imports.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from .algorithm import Algorithm
from .protocol import OUTSIDE, Rounds, Scenario


@dataclass(frozen=True)
class Setting:
    """All that decides what a run gives."""

    scenario: Scenario
    algorithm: Algorithm
    T: int
    seed: int
    checkpoints: np.ndarray
    regret: str
    realised: bool
    permute: bool
    common: bool
    compiled: bool

    def run(self, r: int) -> dict:
        """What is measured of run r."""
        game = self.game(r)
        try:
            self.algorithm.play(game, self.compiled)
        except (IndexError, ValueError) as error:
            if isinstance(error, IndexError) or OUTSIDE in str(error):
                self.algorithm.replay(self.game(r), self.scenario.is_arm)  # it names the place
            raise
        return self.measure(game, r)

    def game(self, r: int) -> Rounds:
        """The game of run r, before its first round."""
        rng = stream(self.scenario, self.algorithm, self.seed, r, self.common)
        return self.scenario.game(self.T, self.checkpoints, rng, self.permute)

    def measure(self, game: Rounds, r: int) -> dict:
        """What is measured of the finished game of run r."""
        measured = self.scenario.measure(game, self.regret)
        if self.realised:
            rng = stream(self.scenario, self.algorithm, self.seed, r, False, purpose=(1,))
            measured["realised"] = self.scenario.realised(game, rng, self.regret)
        return measured

    def about(self) -> dict:
        """The settings as provenance: names, and all numbers that decide the runs."""
        plain = ("T", "seed", "regret", "realised", "permute", "common")
        return {
            "scenario": self.scenario.name,
            "digest": self.scenario.digest,
            "game": self.scenario.facts(),
            "algorithm": self.algorithm.name,
            "parameters": self.algorithm.settings(),
            **{name: getattr(self, name) for name in plain},
        }


def stream(
    scenario: Scenario,
    algorithm: Algorithm,
    seed: int,
    run: int,
    common: bool = True,
    purpose: tuple = (),
) -> np.random.Generator:
    """The generator of one run, of the key (scenario, run[, algorithm][, purpose])."""
    name = () if common else (crc32(algorithm.name.encode()),)
    key = (crc32(scenario.name.encode()), run, *name, *purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
