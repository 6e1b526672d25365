"""The C kernels that the bench compares with play the same game as the package."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import run


def test_the_c_kernels_have_the_reference_regret():
    kernels = run.c_kernels()
    if not kernels:
        pytest.skip("no C compiler here")
    for name, mean in (("C Sparring", 1355), ("C MultiSBM", 2421)):
        regret = [kernels[name]() for _ in range(100)]
        assert abs(np.mean(regret) - mean) < 4 * np.std(regret) / 10 + 0.01 * mean, name
