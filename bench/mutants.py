"""Small changes to every module, one at a time: how many of them does the test suite notice?

    make mutants [N=300] [SEED=1]

A mutant is a copy of the checkout with one operator, constant, condition or statement changed. It
meets the tests that run its line, quickest first, until one fails; a line that no test runs by
itself, such as one of an import, those of its module and then all. Survivors that change nothing a
user could see are listed in ``bench/survivors.txt`` with the reason; all others are holes, unless a
test notices that runs the line in a process of its own, which is not seen here.
"""

import argparse
import ast
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
PACKAGES = ("dueling", "edition")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "_build", "__pycache__", "*.egg-info", "wheels")
LIMIT = 600  # seconds until a mutant that hangs counts as killed; more where the tests take longer

OTHER = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*",
    ast.Pow: "*", ast.BitOr: "&", ast.BitAnd: "|", ast.And: "or", ast.Or: "and",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one file: from ``start`` to ``end`` in its bytes stands ``new``."""

    file: str
    place: str  # the function or class, by its qualified name
    line: int
    start: int
    end: int
    new: str

    def text(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    def describe(self, source: bytes) -> str:
        """What is changed and where, by names and text: an edit above it changes no number here."""
        old = " ".join(source[self.start : self.end].decode().split())
        begin, end = source.rfind(b"\n", 0, self.start) + 1, source.find(b"\n", self.start)
        line = source[begin:end].decode().strip()
        return f"{self.file}, {self.place}: {old[:60]!r} -> {self.new!r} in {line!r}"


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None, str]]:
    """Each change of a node: what is replaced, up to where another begins, by which text."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield left, right, OTHER[type(op)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OTHER:
            yield left, right, OTHER[type(op)]
        case ast.BoolOp(op=op, values=[left, right, *_]):
            yield left, right, OTHER[type(op)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, None, ast.unparse(operand)
        case ast.Constant(value=bool() as value):
            yield node, None, str(not value)
        case ast.Constant(value=int() | float() as value):
            yield node, None, repr(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, None, f"(not ({ast.unparse(test)}))"
        case (
            ast.Raise()
            | ast.Expr(value=ast.Call())
            | ast.AugAssign()
            | ast.Continue()
            | ast.Break()
        ):
            yield node, None, "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, None, "None"


def mutants(file: str) -> list[Mutant]:
    """All mutants of a file, annotations and docstrings aside."""
    source = (ROOT / file).read_bytes()
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    found = []
    for place, statement, node in _executable(ast.parse(source)):
        for old, until, new in changes(node):
            start = begins[old.lineno - 1] + old.col_offset
            end = begins[old.end_lineno - 1] + old.end_col_offset
            if until is not None:  # the operator stands between the two
                start, end = end, begins[until.lineno - 1] + until.col_offset
                between = source[start:end].decode()
                if "#" in between:
                    continue
                gaps = "".join(c for c in between if c in "()")  # brackets of the operands stay
                close, opened = gaps.count(")") * ")", gaps.count("(") * "("
                new = f"{close} {new} {opened}"
            found.append(Mutant(file, place, statement, start, end, new))
    return [m for m in found if _compiles(m.text(source))]


def _executable(
    tree: ast.AST, place: str = "module", line: int = 1
) -> Iterator[tuple[str, int, ast.AST]]:
    """Nodes that run, with place and first line of their statement: no annotations or messages."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr):
                first = node.lineno if isinstance(node, ast.stmt) else line
                yield place, first, node
                named = isinstance(node, ast.FunctionDef | ast.ClassDef)
                inner = f"{place}.{node.name}".removeprefix("module.") if named else place
                yield from _executable(node, inner, first)


def _compiles(text: bytes) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def sample(n: int, seed: int) -> list[Mutant]:
    """``n`` mutants, the modules in turn, so that each has about as many."""
    rng = random.Random(seed)
    paths = [p for package in PACKAGES for p in sorted((ROOT / package).rglob("*.py"))]
    piles = [mutants(str(path.relative_to(ROOT))) for path in paths]
    for pile in piles:
        rng.shuffle(pile)
    chosen: list[Mutant] = []
    while len(chosen) < n and any(piles):
        rng.shuffle(piles)
        chosen += [pile.pop() for pile in piles if pile]
    return chosen[:n]


def tests_of_lines(folder: Path) -> dict[tuple[str, int], set[str]]:
    """The tests that run each line, by coverage with one context for each test.

    What a fixture runs may be for several tests: then all tests of the file, under its name.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--cov"]
    command += ["-m", "not built"]
    command += ["--cov-context=test", "--cov-report=", "--durations=0", "--durations-min=0"]
    done = subprocess.run(
        command, cwd=folder, env=_environment(folder), capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"the tests fail without any change:\n{done.stdout[-3000:]}")
    (folder / "durations.txt").write_text(done.stdout)
    where: dict[tuple[str, int], set[str]] = {}
    base = sqlite3.connect(folder / ".coverage")
    rows = base.execute(
        "select f.path, c.context, a.fromno, a.tono from arc a "
        "join file f on f.id = a.file_id join context c on c.id = a.context_id"
    )
    for path, context, *lines in rows:
        name = str(Path(path).relative_to(folder))
        test, _, phase = context.partition("|")
        for line in lines:
            tests = where.setdefault((name, abs(line)), set())
            tests |= {test, test.partition("::")[0]} if phase == "setup" else {test}
    return where


def seconds(folder: Path) -> dict[str, float]:
    """How long each test took, set-up included."""
    took: dict[str, float] = {}
    for line in (folder / "durations.txt").read_text().splitlines():
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[0].endswith("s") and words[1] in ("call", "setup"):
            took[words[2]] = took.get(words[2], 0) + float(words[0][:-1])
    return took


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def killer(mutant: Mutant, folder: Path, tests: list[str], limit: float) -> str | None:
    """The first test that fails on the mutant, in a copy of the checkout that is its own."""
    target = folder / mutant.file
    source = target.read_bytes()
    target.write_bytes(mutant.text(source))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:cov"]
    command += ["-o", "addopts=-m 'not built'", *tests]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=_environment(folder),
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:
        target.write_bytes(source)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (failed or [f"exit {done.returncode}"])[0] if done.returncode not in (0, 5) else None


def suites(mutant: Mutant, lines: dict[tuple[str, int], set[str]]) -> Iterator[set[str]]:
    """The tests that a mutant meets: those of its line, else of its module, then all (empty)."""
    if tests := lines.get((mutant.file, mutant.line), set()) - {""}:
        yield tests
        return
    near = [tests for (file, _), tests in lines.items() if file == mutant.file]
    if tests := set().union(*near) - {""}:
        yield tests
    yield set()


def run(todo: list[Mutant], jobs: int) -> Iterator[tuple[Mutant, str | None]]:
    """Each mutant with the test that failed on it, if one did."""
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(jobs) as pool:
        copies = [Path(place) / str(job) for job in range(jobs)]
        folders: Queue[Path] = Queue()
        for copy in copies:
            folders.put(Path(shutil.copytree(ROOT, copy, ignore=LEFT_OUT)))
        lines, took = tests_of_lines(copies[0]), seconds(copies[0])

        def cost(test: str) -> float:
            return took.get(test, 0.0 if "::" in test else LIMIT)

        def judge(mutant: Mutant) -> tuple[Mutant, str | None]:
            folder = folders.get()
            try:
                for tests in suites(mutant, lines):
                    limit = max(LIMIT, 3 * sum(map(cost, tests or took)))
                    chosen = sorted(tests, key=cost) or ["tests"]
                    if test := killer(mutant, folder, chosen, limit):
                        return mutant, test
                return mutant, None
            finally:
                folders.put(folder)

        yield from pool.map(judge, todo)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="modules whose path contains this")
    options = parser.parse_args()
    listed = (ROOT / "bench" / "survivors.txt").read_text().splitlines()
    reasons = dict(line.rpartition("  # ")[::2] for line in listed)
    todo = [m for m in sample(options.n, options.seed) if options.only in m.file]
    survivors = []
    for done, (mutant, test) in enumerate(run(todo, options.jobs), 1):
        print(f"{done} of {len(todo)}", end="\r", file=sys.stderr, flush=True)
        if test is None:
            survivors.append(mutant.describe((ROOT / mutant.file).read_bytes()))
            reason = reasons.get(survivors[-1], "?")
            print(f"survived: {survivors[-1]}  # {reason}", flush=True)
    killed, told = len(todo) - len(survivors), sum(one in reasons for one in survivors)
    share = f"{100 * killed / len(todo):.1f} %"
    print(f"{killed} of {len(todo)} mutants killed ({share}); {told} survivors have a reason.")


if __name__ == "__main__":
    main()
