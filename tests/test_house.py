"""Which way the arrows point: the package knows the paper, the edition knows the book."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = {"dueling", "numpy", "scipy", "numba", "joblib", "tqdm"}


def imports(path):
    """The top-level names that a module imports from outside of its own folder tree."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("path", sorted((ROOT / "dueling").rglob("*.py")), ids=lambda p: p.stem)
def test_the_package_imports_its_dependencies_alone(path):
    assert set(imports(path)) - sys.stdlib_module_names <= PACKAGE


def test_an_import_of_the_edition_would_be_seen(tmp_path):
    (tmp_path / "m.py").write_text("def f():\n    from edition.place import root\n")
    assert set(imports(tmp_path / "m.py")) == {"edition"}


def test_one_number_of_the_front_page_is_followed_in_at_most_fourteen_hops():
    page = (ROOT / "book" / "back" / "made.md").read_text()
    hops = re.findall(r"^\| (\d+) \| `([^`]+)` \|", page, re.M)
    assert [int(number) for number, _ in hops] == list(range(1, len(hops) + 1))
    assert 10 <= len(hops) <= 14 and all((ROOT / place).is_file() for _, place in hops)
