"""The C kernels that the bench compares with play the same game as the package."""

import runpy
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[1] / "bench" / "run.py"


def test_the_c_kernels_have_the_reference_regret():
    kernels = runpy.run_path(str(BENCH))["c_kernels"]()
    if not kernels:
        pytest.skip("no C compiler here")
    for name, mean in (("C Sparring", 1355), ("C MultiSBM", 2421)):
        regret = [kernels[name]() for _ in range(100)]
        assert abs(np.mean(regret) - mean) < 4 * np.std(regret) / 10 + 0.01 * mean, name
