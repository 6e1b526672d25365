"""Sixteen scenarios, five algorithms and Champion: the plays of three runs, as they always were.

``golden.json`` holds their final regrets and a checksum of all counts of plays. A change there
changes every number of the figure; ``python tests/test_golden.py`` writes the file anew.
"""

import json
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from dueling import simulate
from dueling.section7 import ALGORITHMS, NAMES, OURS

FILE = Path(__file__).with_name("golden.json")


def found(name, algorithm):
    result = simulate(name, algorithm, T=4000, runs=3, workers=1)
    plays = crc32(result.plays.astype("<i8").tobytes())
    return {"regret": result.regret[:, -1].tolist(), "plays": plays}


@pytest.mark.parametrize("algorithm", ALGORITHMS | OURS)
def test_golden(algorithm):
    want = json.loads(FILE.read_text())
    assert [name for name in want if algorithm in want[name]] == list(NAMES)
    for name in NAMES:
        got = found(name, algorithm)
        assert got["plays"] == want[name][algorithm]["plays"], name
        assert np.allclose(got["regret"], want[name][algorithm]["regret"], rtol=1e-12), name


if __name__ == "__main__":
    table = {name: {a: found(name, a) for a in ALGORITHMS | OURS} for name in NAMES}
    FILE.write_text(json.dumps(table, indent=0) + "\n")
