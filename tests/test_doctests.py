"""The examples in the docstrings: each runs, and each public name has one."""

import doctest
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dueling

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "dueling").rglob("*.py")
)
#: What an example may use besides the names of its own module.
AROUND = {name: getattr(dueling, name) for name in dueling.__all__} | {"np": np, "F": Fraction}


def examples(module):
    """The docstrings of a module that hold examples."""
    found = doctest.DocTestFinder().find(import_module(module), globs=None)
    return [test for test in found if test.examples]


@pytest.mark.parametrize("module", MODULES)
def test_examples_are_true(module):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in examples(module):
        test.globs = AROUND | test.globs
        report = []
        assert runner.run(test, out=report.append).failed == 0, "".join(report)


def test_each_public_name_has_an_example():
    shown = {test.name.rpartition(".")[2] for module in MODULES for test in examples(module)}
    data = {"ALGORITHMS"}  # a dict, shown by algorithm
    assert set(dueling.__all__) - shown == data


def test_the_readme_is_true():
    test = doctest.DocTestParser().get_doctest(
        (ROOT / "README.md").read_text(), {}, "README", None, 0
    )
    assert len(test.examples) >= 4
    assert doctest.DocTestRunner().run(test).failed == 0
