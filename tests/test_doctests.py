"""The examples in the docstrings: each runs, and each public name has one."""

import doctest
import re
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dueling
from dueling import later, live, structured

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "dueling").rglob("*.py")
)
#: What an example may use besides the names of its own module.
AROUND = {n: getattr(package, n) for package in (dueling, structured) for n in package.__all__}
AROUND |= {"np": np, "F": Fraction}


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
    assert {*structured.__all__, *later.__all__} - shown == set()
    assert set(live.__all__) - shown == {"Known"}  # a type


@pytest.mark.parametrize("page", ["README.md", "book/api.md"])
def test_the_examples_of_a_page_are_true(page):
    text = (ROOT / page).read_text()
    text = text.replace("```\n", "\n")  # what follows the last line of output
    test = doctest.DocTestParser().get_doctest(text, {}, page, None, 0)
    assert len(test.examples) >= 4
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_package_page_lists_each_public_name():
    page = (ROOT / "book" / "api.md").read_text()
    listed = re.findall(r"^   ~dueling\.[\w.]*?(\w+)$", page, re.M)
    assert sorted(listed) == sorted(dueling.__all__)
