"""The theory chapters, read without running them: witnesses, twins, numbers, labels, symbols."""

import ast
import importlib
import inspect
import json
import math
import re
import unicodedata
from pathlib import Path

import pytest

from edition import backmatter, names, notebooks, place

ROOT = Path(__file__).parents[1]
PAGES = place.proofs(ROOT)
CHAPTERS = list(PAGES)
KINDS = ("proved", "exact", "measured")


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def notebook(chapter):
    """The cells of a chapter, or of another page by its path."""
    return json.loads((ROOT / f"{PAGES.get(chapter, chapter)}.ipynb").read_text("utf-8"))["cells"]


def cells(chapter, kind):
    """The sources of a chapter's cells of one kind."""
    chosen = [cell for cell in notebook(chapter) if cell["cell_type"] == kind]
    return ["".join(cell["source"]) for cell in chosen]


def prose(chapter):
    """The text of a chapter, with the captions of its figures."""
    figures = [cell["metadata"].get("mystnb", {}).get("figure", {}) for cell in notebook(chapter)]
    captions = [figure["caption"] for figure in figures if figure]
    return "\n\n".join([*cells(chapter, "markdown"), *captions])


# --- witnesses


def witnesses(code):
    """The calls that enter a witness: nodes of the form w.proved(...), w.exact, w.measured."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    attributes = [call for call in calls if isinstance(call.func, ast.Attribute)]
    return [call for call in attributes if call.func.attr in KINDS and called_w(call.func.value)]


def called_w(node):
    return isinstance(node, ast.Name) and node.id == "w"


def step(call):
    """The step of a witness as a pattern: an f-string may say anything in its gaps."""
    first = call.args[0]
    parts = first.values if isinstance(first, ast.JoinedStr) else [first]
    return "".join(re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in parts)


def faults(call):
    """What is wrong with a witness, seen from outside."""
    if len(call.args) != 4 or call.keywords:
        return "does not have the form (step, says, claim, twin)"
    claim, twin = map(ast.dump, call.args[2:])
    if claim == twin:
        return "has its claim for a twin"
    constant = [isinstance(arg, ast.Constant) for arg in call.args[2:]]
    return "has a typed verdict" if any(constant) else None


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_witness_has_a_twin(chapter):
    calls = [call for code in cells(chapter, "code") for call in witnesses(code)]
    short = {"sets": 9}  # one theorem and what it rests on
    assert len(calls) >= short.get(chapter, 15 if PAGES[chapter].startswith("book/theory/") else 5)
    assert [(step(call), faults(call)) for call in calls if faults(call)] == []


@pytest.mark.parametrize(
    "code",
    [
        'w.exact("step", "says", a <= b)',
        'w.exact("step", "says", a <= b, a <= b)',
        'w.exact("step", "says", a <= b, False)',
        'w.proved("step", "says", claim, twin=wrong)',
    ],
)
def test_a_witness_without_a_twin_is_seen(code):
    (call,) = witnesses(code)
    assert faults(call)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_keeps_one_ledger_under_its_own_name_and_ends_with_it(chapter):
    code = cells(chapter, "code")
    assert code[-1] == "w.show()"
    assert re.findall(r'Ledger\("(\w+)", defaults\)', "\n".join(code)) == [chapter]


# --- exercises


@pytest.mark.parametrize("chapter", [c for c in CHAPTERS if PAGES[c].startswith("book/theory/")])
def test_a_chapter_has_five_exercises_each_with_a_folded_answer(chapter):
    (section,) = re.findall(r"^## Exercises$(.*?)(?=^## |\Z)", prose(chapter), re.M | re.S)
    number, answer = r"^(?:\*\*)?(\d)[.*]", r"^`{3,}\{dropdown\} (?:Solution|What is known)$"
    assert re.findall(number, section, re.M) == list("12345")
    parts = re.split(number, section, flags=re.M)[2::2]
    assert [len(re.findall(answer, part, re.M)) for part in parts] == [1] * 5


# --- numbers in prose

NUMBER = r"(?<![\w.])(?:\d*\.\d+|\d{3,})(?!\w|\.\d|\\ldots)"
STATEMENT = r"(?:Section|Theorem|Lemma|Corollary|Definition|Observation|Appendix)s? [\dA-E.]+\d"


def values(code):
    """The numbers in some code, and its fractions: F(9, 10) is .9."""
    found = re.findall(r"(?<![\w.])(?:\d[\d_]*\.?\d*(?:e-?\d+)?|\.\d+)", code)
    ratios = re.findall(r"(?:F|Fraction|Rational)\((\d+), (\d+)\)", code)
    return [float(n.replace("_", "")) for n in found] + [int(a) / int(b) for a, b in ratios]


def sums(text):
    """What the sums in some text should give: .3 for .9-.6=.3, and for .9-.6=.4."""
    found = re.findall(r"((?:\d*\.)?\d+)([-+])((?:\d*\.)?\d+)=", text)
    return [float(a) + float(sign + b) for a, sign, b in found]


def typed(text, known):
    """The numbers with decimals or three digits in Markdown text that are not known."""
    text = re.sub(r"\{[\w:]+\}`[^`]*`|(?<!`)`[^`\n]+`(?!`)|^    .*", "", text, flags=re.M)  # code
    text = re.sub(rf"{STATEMENT}|^\| \d\.\d \|", "", text, flags=re.M)  # numbers that are names
    known = [*known, *sums(text)]
    found = re.findall(NUMBER, text)
    return [n for n in found if not any(math.isclose(float(n), value) for value in known)]


@pytest.mark.parametrize("page", notebooks.notebooks(ROOT))
def test_numbers_in_prose_are_known_to_the_code(page):
    code = "\n".join(cells(page, "code"))
    modules = [ROOT / "dueling" / "section7.py"]
    if "import RMED1" in code:  # constants that were read in other programs
        modules += (ROOT / "dueling" / "later").glob("*.py")
    known = values("\n".join([code, *(path.read_text("utf-8") for path in modules)]))
    assert typed(prose(page), known) == []


def test_a_typed_result_is_seen():
    assert typed("The regret is 1355.", [1354]) == ["1355"]
    assert typed("The ratio is $4.4$ (Theorem 3.1).", [4]) == ["4.4"]
    assert typed("Gap $.9-.6=.4$.", [0.9, 0.6]) == [".4"]
    assert typed("Gap $.9-.6=.3$, {glue:text}`x:.3f`, `0.77`.", values("F(9, 10) F(6, 10)")) == []


# --- the errata


def test_each_erratum_names_steps_that_its_chapter_enters():
    steps = {
        chapter: [step(call) for code in cells(chapter, "code") for call in witnesses(code)]
        for chapter in CHAPTERS
    }
    missing = [
        (entry["id"], chapter, name)
        for entry in backmatter.data("errata")
        for chapter, names in entry.get("evidence", {}).items()
        for name in names
        if not any(re.fullmatch(pattern, name) for pattern in steps[chapter])
    ]
    assert missing == []


def test_errata_are_complete_and_numbered():
    errata = backmatter.data("errata")
    assert [entry["id"] for entry in errata] == [f"E{n + 1}" for n in range(len(errata))]
    assert {entry["verdict"] for entry in errata} == set(backmatter.SEVERITY)
    assert all(entry[key] for entry in errata for key in ("place", "printed", "correct"))
    assert all("evidence" in entry or "see" in entry for entry in errata)


@pytest.mark.parametrize("name", ["errata", "statements", "notation"])
def test_formulas_have_single_backslashes(name):
    """A plain scalar of YAML keeps both backslashes of one that is written twice."""
    assert "\\\\" not in "\n".join(strings(backmatter.data(name)))


def strings(data):
    """All the text in some data."""
    if isinstance(data, dict):
        data = [*data.keys(), *data.values()]
    return [data] if isinstance(data, str) else [s for one in data for s in strings(one)]


# --- the statements


def labels():
    """The labels of the chapters' statements, and of their sections."""
    text = "\n".join(map(prose, CHAPTERS))
    return set(re.findall(r"^:label: ([a-z]+-[\w-]+)", text, re.M)), set(
        re.findall(r"^\((sec-[\w-]+)\)=", text, re.M)
    )


def test_each_statement_of_the_paper_has_a_place_and_each_of_ours_is_listed():
    statements, sections = labels()
    data = backmatter.data("statements")
    named = [label for entry in data["paper"] for label in entry["at"]] + data["ours"]
    pages = {label for label in named if "/" in label}
    assert set(named) - pages <= statements | sections
    assert statements <= set(named)
    assert not set(data["ours"]) & {label for entry in data["paper"] for label in entry["at"]}
    assert all((ROOT / "book" / "back" / f"{page}.ipynb").exists() for page in pages)


def heads():
    """The statements' kinds and heads, by label."""
    text = "\n".join(map(prose, CHAPTERS))
    found = re.findall(r"\{prf:(\w+)\} (.+)\n:label: (\S+)", text)
    return {label: (kind, names.head(line)) for kind, line, label in found}


def test_a_name_is_of_one_statement_and_no_title_holds_another():
    own = [(kind, head.name) for kind, head in heads().values() if head.name]
    assert len(set(own)) == len(own) >= 9
    assert all(name.split()[0].lower() == kind for kind, name in own)
    printed = r"\(ours|\bpaper\b|(?:Theorem|Lemma|Corollary|Definition|Observation) [A-E\d]\.?\d"
    assert not [head for _, head in heads().values() if re.search(printed, head.about)]


def test_badges_give_the_paper_s_numbers_and_say_what_is_corrected():
    numbered = [entry for entry in backmatter.data("statements")["paper"] if "number" in entry]
    paper = [f"{entry['kind'].capitalize()} {entry['number']}" for entry in numbered]
    corrected = {name: e["fares"] != "as printed" for name, e in zip(paper, numbered)}
    places = {(name, label) for name, e in zip(paper, numbered) for label in e["at"]}
    marks = {label: " ".join(head.marks) for label, (_, head) in heads().items()}
    told = {
        (name, label): "corrected" in mark
        for label, mark in marks.items()
        for name in re.findall(r"(?!Section)[A-Z]\w+ [A-E\d.]+\b", mark)
    }
    assert set(told) <= places and {name for name, _ in told} == set(paper)
    assert all(told[name, label] == corrected[name] for name, label in told)


def test_the_paper_s_numbers_are_all_there():
    data = backmatter.data("statements")["paper"]
    numbers = list(dict.fromkeys(entry["number"] for entry in data if "number" in entry))
    counters = {"1": 0, "2": 4, "3": 3, "4": 2, "A": 1, "C": 1, "D": 1}
    expected = {f"{section}.{n + 1}" for section, last in counters.items() for n in range(last)}
    assert {n for n in numbers if "." in n} == expected
    assert [n for n in numbers if "." not in n] == ["1", "2", "3", "4"]  # the algorithms
    order = [entry["section"] for entry in data]
    assert order == sorted(order) and set(order) == set("12345678ABCDE")
    assert all(
        entry["number"].startswith(entry["section"])
        for entry in data
        if "." in entry.get("number", "")
    )


def test_fates_and_errata_agree():
    errata = {entry["id"]: entry["verdict"] for entry in backmatter.data("errata")}
    data = backmatter.data("statements")["paper"]
    for entry in data:
        verdicts = {errata[name] for name in entry.get("errata", [])}
        fares = entry["fares"]
        assert fares in ("as printed", "corrected", "false", "unspecified", "answered"), entry
        refuted = "false" in verdicts and entry["kind"] != "proof"  # a proof can be mended
        assert (fares == "false") is refuted, entry
        assert (fares in ("as printed", "answered")) == (not verdicts), entry
        assert (fares == "unspecified") == (verdicts == {"unspecified"}), entry
    unmentioned = set(errata) - {name for entry in data for name in entry.get("errata", [])}
    assert {errata[name] for name in unmentioned} <= {"typo"}


# --- the notation

GREEK = re.compile("[\u0391-\u03c9]")


def macro(letter):
    """The macro of a Greek letter: alpha, Delta, varepsilon."""
    _, case, _, name = unicodedata.name(letter).split()
    name = {"LAMDA": "LAMBDA", "EPSILON": "VAREPSILON"}.get(name, name).lower()
    return "\\" + (name.capitalize() if case == "CAPITAL" else name)


def used(chapter):
    """The symbols in a chapter's formulas, and its Greek letters outside of them."""
    text = prose(chapter)
    return set().union(
        *map(backmatter.symbols, backmatter.formulas(text)), map(macro, set(GREEK.findall(text)))
    )


def introduced(chapter, notation):
    """The symbols that the notation lists for a chapter, each with the entry that does."""
    entries = [entry for group in notation["symbols"].values() for entry in group]
    listed = [
        entry["symbol"] for entry in entries if entry["in"] == "all" or chapter in entry["in"]
    ]
    return {
        head
        for symbol in [*listed, *notation["local"][chapter]]
        for head in backmatter.heads(symbol)
    }


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_chapter_uses_a_symbol_that_is_not_listed(chapter):
    """If this fails after an edit: list the symbol in book/back/notation.yml."""
    assert used(chapter) - introduced(chapter, backmatter.data("notation")) == set()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_symbol_is_listed_for_a_chapter_that_does_not_use_it(chapter):
    notation = backmatter.data("notation")
    entries = [entry for group in notation["symbols"].values() for entry in group]
    listed = [
        entry["symbol"] for entry in entries if chapter in entry["in"] and entry["in"] != "all"
    ]
    known = used(chapter)
    assert [symbol for symbol in listed if not backmatter.heads(symbol) & known] == []
    assert [s for s in notation["local"][chapter] if not backmatter.heads(s) <= known] == []


def exists(name):
    """Whether a name is an attribute or a module of the package, or a parameter at its end."""
    thing, *path = name.split(".")
    thing = importlib.import_module(thing)
    for depth, part in enumerate(path):
        if inspect.ismodule(thing) and not hasattr(thing, part):
            try:
                importlib.import_module(f"{thing.__name__}.{part}")
            except ImportError:
                return False
        if not hasattr(thing, part):
            return part in inspect.signature(thing).parameters and depth == len(path) - 1
        thing = getattr(thing, part)
    return True


def test_each_name_in_code_exists():
    groups = backmatter.data("notation")["symbols"].values()
    names = {name for group in groups for entry in group for name in entry["code"]}
    assert {name for name in names if not exists(name)} == set()
    assert len(names) > 40


@pytest.mark.parametrize("name", ["dueling.UCBX", "dueling.UCB.alphas", "dueling.nothing.x"])
def test_a_name_that_does_not_exist_is_seen(name):
    assert not exists(name)


def test_each_symbol_is_defined_somewhere():
    statements, sections = labels()
    groups = backmatter.data("notation")["symbols"].values()
    assert {entry["at"] for group in groups for entry in group} <= statements | sections
