"""Two layers of a page: what a cell is to the reader, told from its code, its tags and its outputs.

The text stands open; the evidence (checks, the code of figures and tables, numbers for prose) is
folded. A tag overrules: ``teach`` keeps a cell open, ``evidence`` folds it.
"""

from __future__ import annotations

import ast
import re

SET_UP, CHECK, LEDGER, LISTING, TEACHES = "set-up", "check", "ledger", "listing", "teaches"
SHOWS, HELPS, SPEAKS = "shows", "helps", "speaks"
PARAMETERS = {"parameters", "injected-parameters"}
TEACHING = ("book/tour", "book/use/")  # pages about code: their cells stand open
SAYS = {"say", "glue", "write", "write_csv", "write_text", "style"}

WITNESS = re.compile(r'<details class="witness \w+" id="[^"]+">.*?</details>', re.S)
PARTS = re.compile(r"(<details class=.*?>)<summary>(.*?)</summary>(.*)</details>", re.S)
GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "eps": "ε",
    "epsilon": "ε",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "phi": "φ",
    "psi": "ψ",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "theta": "θ",
    "omega": "ω",
    "ell": "ℓ",
    "Delta": "Δ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "Sigma": "Σ",
}
#: What stands for what in a claim that is written in letters; the order matters.
SIGNS = {
    **{rf"(?<![^\W_]){name}(?![^\W_])": letter for name, letter in GREEK.items()},
    r"\bsqrt ?": "√",
    r"&lt;=": "≤",
    r"&gt;=": "≥",
    r"(?<=[\w)*]) - (?=[\w(])": " − ",
    r"(?<!\w)([^\W\d_])_(?:(\w{1,3})(?!\w)|\(([^()]*)\))": r"\1<sub>\2\3</sub>",
    r"(?<=[\w)\]>])\^(?:(-?\w+)|\(((?:[^()]|\([^()]*\))*)\))": r"<sup>\1\2</sup>",
    r"(?<=[\w)])\^(\w+)": r"<sup>\1</sup>",  # a power of a power
}


def role(source: str, tags: set[str], shown: str, page: str = "") -> str:
    """What a cell is: one of the words above; ``shown`` is the HTML or text of its outputs.

    >>> role("assert 1 < 2", set(), "")
    'speaks'
    >>> role("print(inspect.getsource(doubler))", set(), "def doubler(...)")
    'listing'
    """
    tree = ast.parse(source)
    if tags & PARAMETERS or (imports(tree) and not shown and not page.startswith(TEACHING)):
        return SET_UP
    if WITNESS.search(shown):
        return CHECK
    if 'class="ledger"' in shown:
        return LEDGER
    if "getsource" in calls(tree) and shown:
        return LISTING
    if "evidence" not in tags and teaches(tree, tags, page):
        return TEACHES
    if shown:
        return SHOWS
    return SPEAKS if speaks(tree) else HELPS


def imports(tree: ast.Module) -> bool:
    """Whether a cell imports something."""
    return any(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)


def calls(tree: ast.AST) -> set[str]:
    """The last names of all that is called."""
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in called}


def teaches(tree: ast.Module, tags: set[str], page: str) -> bool:
    """Whether a cell is meant to be read: tagged so, a machine's class, or on a page about code."""
    machines = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(getattr(part, "name", "") == "advance" for part in node.body)
    ]
    about_code = page.startswith(TEACHING) and "hide-input" not in tags and not bare(tree)
    return "teach" in tags or bool(machines) or about_code


def speaks(tree: ast.Module) -> bool:
    """Whether a cell asserts, writes a table or lets prose quote numbers."""
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    return asserts or bool(calls(tree) & SAYS)


def bare(tree: ast.Module) -> bool:
    r"""Whether every line imports, asserts, quotes or writes: nothing for a reader to see.

    >>> bare(ast.parse("import numpy\nsay('page', x=1)"))
    True
    >>> bare(ast.parse("x = 1"))
    False
    """
    return all(map(_bare, tree.body))


def _bare(line: ast.stmt) -> bool:
    if isinstance(line, ast.With | ast.For):
        return all(map(_bare, line.body))
    if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call):
        outer = line.value.func
        return getattr(outer, "attr", getattr(outer, "id", "")) in SAYS
    return isinstance(line, ast.Import | ast.ImportFrom | ast.Assert)


def verdicts(shown: str) -> list[tuple[str, str]]:
    """The verdicts in a cell's HTML: the line of each, and what it opens to."""
    parts = (PARTS.match(verdict) for verdict in WITNESS.findall(shown))
    return [(line(p[1], p[2]), p[3]) for p in parts if p]


def line(start: str, summary: str) -> str:
    """A verdict's line, with the class and the anchor of its fold."""
    return formulas(start.replace("<details", "<span") + summary + "</span>")


def formulas(text: str) -> str:
    r"""HTML in which ``$x$`` is a formula for MathJax, and what is written in letters has signs.

    >>> formulas("at most $x$")
    'at most <span class="math notranslate nohighlight">\\(x\\)</span>'
    """
    parts = re.split(r"(<[^>]*>|\$[^$<]+\$)", text)  # every second one is a tag or a formula
    parts[::2] = map(signs, parts[::2])
    text = "".join(parts)
    return re.sub(
        r"\$([^$<]+)\$", r'<span class="math notranslate nohighlight">\\(\1\\)</span>', text
    )


def signs(text: str) -> str:
    """A formula written in letters, as the claims of checks are, with its signs.

    >>> signs("D_y/gamma is at least 1 - tau^2, and T^(1-a) &lt;= sqrt 2")
    'D<sub>y</sub>/γ is at least 1 − τ<sup>2</sup>, and T<sup>1-a</sup> ≤ √2'
    >>> signs("short_start, Gamma, step 1")
    'short_start, Gamma, step 1'
    """
    for pattern, sign in SIGNS.items():
        text = re.sub(pattern, sign, text)
    return text
