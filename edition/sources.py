"""Which files decide what a piece of code does: the modules that it imports, and theirs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("dueling", "edition")


def imported(root: Path, *texts: str) -> set[Path]:
    """The modules of this checkout that some texts import, directly or through others.

    Of a package only what is imported by name counts: its ``__init__`` when the package itself is
    named, or something in it that is not a module.
    """
    modules: set[Path] = set()
    todo = [path for text in texts for path in named(root, text, "")]
    while todo:
        path = todo.pop()
        if path not in modules:
            modules.add(path)
            inside = ".".join(path.relative_to(root).parent.parts)
            todo += named(root, path.read_text(encoding="utf-8"), inside)
    return modules


@cache
def named(root: Path, text: str, package: str) -> tuple[Path, ...]:
    """The modules of this checkout that the import statements of a text name.

    ``package`` is where a relative import starts. A text that is not plain Python, such as a cell
    with a magic command, may import any of them.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return tuple(path for name in PACKAGES for path in (root / name).rglob("*.py"))
    names = [pair for node in ast.walk(tree) for pair in imports(node, package)]
    paths = [_file(root, name) or _file(root, base) for base, name in names]
    return tuple(dict.fromkeys(path for path in paths if path))


def imports(node: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """What a statement imports: where from, and the dotted name, which may be a module itself."""
    if isinstance(node, ast.Import):
        yield from (("", alias.name) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        yield from ((base, f"{base}.{alias.name}") for alias in node.names)


def _file(root: Path, name: str) -> Path | None:
    """The file of a module or package, if it is one of this checkout."""
    if name.partition(".")[0] not in PACKAGES:
        return None
    path = root.joinpath(*name.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)
