"""Text and evidence: what a cell is to the reader, and how a page is folded."""

import ast

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document

from edition import layers, names
from edition.place import Refusal
from edition.release import pdf
from edition.sphinx import figures, pages, search
from edition.sphinx import layers as sphinx_layers
from edition.witness import Verdict

ROW = {"kind": "proved", "step": "Order", "how": "z3", "twin": "a = 1", "anchor": "w-x-order"}
VERDICT = Verdict(ROW | {"says": "$a < b$ and c. Twin: c."})._repr_html_()
MACHINE = "class Mine:\n    def advance(self):\n        return 0"
ROLES = {
    ("runs = 3", ("parameters",), ""): layers.SET_UP,
    ("import numpy as np\nx = 1", (), ""): layers.SET_UP,
    ("import numpy as np\nnp.ones(3)", (), "array"): layers.SHOWS,
    ("w.proved(a, b, c, d)", (), VERDICT): layers.CHECK,
    ("w.show()", (), '<details class="ledger">'): layers.LEDGER,
    ("print(inspect.getsource(f))", (), "def f(): pass"): layers.LISTING,
    (MACHINE, (), ""): layers.TEACHES,
    (MACHINE, ("evidence",), ""): layers.HELPS,
    ("x = 1", ("teach",), ""): layers.TEACHES,
    ("x = 1", (), ""): layers.HELPS,
    ("x = 1\nsay('p', x=x)", (), ""): layers.SPEAKS,
    ("with defaults:\n    assert x", (), ""): layers.SPEAKS,
}


@pytest.mark.parametrize("case", ROLES, ids=range(len(ROLES)))
def test_roles(case):
    source, tags, shown = case
    assert layers.role(source, set(tags), shown) == ROLES[case]


def test_pages_about_code_stand_open_but_for_what_only_asserts():
    assert layers.role("import dueling\nx = 1", set(), "", "book/tour") == layers.TEACHES
    assert layers.role("assert x", set(), "", "book/use/own") == layers.SPEAKS
    assert layers.role("plot()", {"hide-input"}, "a.png", "book/tour") == layers.SHOWS


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("import a\nassert a", True),
        ("for x in y:\n    say('p', x=x)", True),
        ("with defaults:\n    assert a\n    b = 1", False),
        ("tables.write('t', columns)", True),
        ("a = tables.read('t')", False),
    ],
)
def test_bare_cells(source, bare):
    assert layers.bare(ast.parse(source)) == bare


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("e^(e^p), 2^(a(k+1))", "e<sup>e<sup>p</sup></sup>, 2<sup>a(k+1)</sup>"),
        ("D_y/gamma &gt;= mu_1 on (0,1]^2", "D<sub>y</sub>/γ ≥ μ<sub>1</sub> on (0,1]<sup>2</sup>"),
        ('<i id="w-x_1-gamma">$a_b$</i>', None),  # tags and formulas are left alone
        ("short_start, two-sided, Gamma, alphabet", None),
    ],
)
def test_claims_in_letters_are_shown_with_signs(text, shown):
    tex = '<span class="math notranslate nohighlight">\\(a_b\\)</span>'
    assert layers.formulas(text) == (shown or text.replace("$a_b$", tex))


# --- a page


def cell(source, *outputs, tags=()):
    """A cell as myst-nb leaves it."""
    code = nodes.container("", nodes.literal_block(source, source), nb_element="cell_code_source")
    shown = nodes.container("", *outputs, nb_element="cell_code_output")
    classes = ["cell", *(f"tag_{tag}" for tag in tags)]
    return nodes.container("", code, shown, nb_element="cell_code", classes=classes)


def html(text):
    return nodes.raw("", text, format="html")


def page(*parts, name="book/theory/x"):
    """The document of one section, its evidence folded."""
    document = new_document("page", get_default_settings())
    document.settings.env = type("Env", (), {"docname": name})
    document += nodes.section("", nodes.title("", "T"), *parts)
    sphinx_layers.Layers(document).run()
    return document[0]


def folds(section):
    return {fold["summary"]: fold.astext() for fold in section.findall(sphinx_layers.fold)}


def test_a_check_is_a_line_that_opens_to_its_code_and_its_helpers():
    section = page(
        cell("runs = 3", tags=["parameters"]),
        cell("import z3"),
        cell("def helper(): pass"),
        nodes.paragraph("", "Step 1."),
        cell("w.proved(helper)", html(VERDICT)),
        cell("assert helper"),
    )
    set_up, check = folds(section).items()
    assert set_up == ("Set-up", "runs = 3\n\nimport z3")
    line, inside = check
    assert line.startswith('<span class="witness proved" id="w-x-order"><b>✓ proved</b>')
    assert "details" not in line and r"\(a &lt; b\)" in line
    order = [inside.index(text) for text in ("Seen by", "def helper", "w.proved", "assert")]
    assert order == sorted(order)
    assert "could have failed" in section[2].astext()
    empty = [
        box for box in section.findall(nodes.container) if "output" in box.get("nb_element", "")
    ]
    assert empty == []  # what showed the verdict alone


def test_code_stands_below_its_figure_and_leftovers_are_kept():
    section = page(cell("plot()", nodes.image("", uri="a.png")), cell("x = 1"))
    assert folds(section) == {"Code of this figure": "plot()\n\nx = 1"}
    assert "could have failed" not in section.astext()
    assert list(folds(page(cell("x = 1")))) == ["Code"]


def test_on_a_page_about_code_what_is_asserted_folds_in_its_own_section():
    project = nodes.section("", nodes.title("", "1"), cell("x = 1"), cell("assert x"))
    section = page(project, nodes.section("", cell("y = 2")), name="book/use/x")
    assert folds(section) == folds(project) == {"Code": "assert x"}


def test_an_algorithm_is_shown_in_colours():
    source = "print(inspect.getsource(f))"
    section = page(cell(source, nodes.literal_block("", "def f():\n    pass\n")))
    block = next(iter(section.findall(nodes.literal_block)))
    assert block["language"] == "python" and block.astext() == "def f():\n    pass\n"
    assert folds(section) == {"Code": source}


def ours(text):
    return nodes.admonition("", nodes.title("", "Ours"), nodes.paragraph("", text))


def test_a_box_of_one_sentence_becomes_a_badge():
    statement = nodes.container("", nodes.title("", "Proposition 1"), classes=["proof"])
    longer = "This is not in the paper. It removes a factor that is not in the paper."
    section = page(statement, ours("The proposition is not in the paper."), ours(longer))
    assert section[1][0].astext() == "Proposition 1 ours"
    assert len(section) == 3 and longer in section.astext()


# --- figures, and code in a sentence


def test_a_picture_of_several_panels_is_marked_and_keeps_its_other_marks():
    picture = nodes.figure("", nodes.image("", uri="a.svg", classes=["heat"]))
    assert figures.width('<svg width="656.3pt">') > figures.WIDE > figures.width("")
    for _ in range(2):
        figures.widen(picture)
        assert picture[0]["classes"] == ["heat", "panels"]


def test_a_figure_offers_the_tables_of_its_cell_or_else_those_of_its_name():
    wrote = {"line": "draw", "a/curve-2": "write", "other": "write"}
    assert figures.own_tables("fig-curve", "draw", wrote) == ["line"]
    assert figures.own_tables("fig-curve", "show", wrote) == ["a/curve-2"]
    assert figures.own_tables("fig-none", "show", wrote) == []


def test_short_code_stays_on_one_line():
    short, long = (nodes.literal("", text) for text in ("b = 1", "dueling.theory.exact"))
    pages.keep_short_code(None, nodes.paragraph("", "", short, long), "page")
    assert short["classes"] == ["short"] and long["classes"] == []


def test_a_formula_and_the_marks_that_touch_it_stay_on_one_line():
    words = f"is ($n=2$), or ${'x' * 99}$. Or\n$T$. Or $a$. Or UCB($b$) again. $\\square$"
    parts = words.split("$")  # every second one is a formula
    kinds = [nodes.math("", p) if i % 2 else nodes.Text(p) for i, p in enumerate(parts)]
    text = nodes.paragraph("", "", *kinds)
    pages.bind_marks(None, text, "page")
    assert text.astext() == "".join(parts)
    bound = ["(n=2),", "T.", "a.", "(b)", r"again. \square"]
    assert [b.astext() for b in text.findall(nodes.inline)] == bound


def rows(*lines):
    """A table's head and body."""
    parts = [[nodes.entry("", nodes.paragraph("", cell)) for cell in line] for line in lines]
    head, *body = [nodes.row("", *entries) for entries in parts]
    return nodes.tgroup("", nodes.thead("", head), nodes.tbody("", *body))


def test_columns_of_numbers_stand_right_and_units_stay_beside_them():
    table = rows(("a", "b", "c", "d"), ("1", "2 ± .5", "", "x"), ("2", "none", "-3 %", "4"))
    pages.align_numbers(None, table, "page")
    right = [entry.astext() for entry in table.findall(nodes.entry) if entry["classes"]]
    assert right == ["b", "c", "2 ± .5", "", "none", "-3 %"]
    text = nodes.paragraph("", "", nodes.Text("9 % ± 2"), nodes.literal("", "a % b"))
    text[0].parent = None  # as what is pasted
    pages.keep_units(None, text, "page")
    assert text.astext() == "9\u00a0%\u00a0±\u00a02a % b"


def test_a_property_has_a_sentence_and_no_type():
    lines = ["Whether it is so: the words say it.", "And: more."]
    pages.mend_properties(None, "property", "f", None, None, lines)
    assert lines == ["Whether it is so – the words say it.", "And: more."]
    pages.mend_properties(None, "class", "C", None, None, kept := ["A: b."])
    assert kept == ["A: b."]


# --- names of statements


@pytest.mark.parametrize(
    ("line", "head"),
    [
        ("Theorem M", ("Theorem M", "", ())),
        ("Lemma A+: pulls of UCB(α)", ("Lemma A+", "pulls of UCB(α)", ())),
        ("Theorem C (ours)", ("Theorem C", "", ("ours",))),
        ("Theorem D is tight", ("", "Theorem D is tight", ())),  # of it, not it
        ("Theorem D.1, corrected", ("", "Theorem D.1, corrected", ())),  # a number is the paper's
        ("UCB(α) (the paper's Algorithm 1)", ("", "UCB(α)", ("paper: Algorithm 1",))),
        ("Many (the paper's Lemma 2) (ours)", ("", "Many", ("paper: Lemma 2", "ours"))),
        ("", ("", "", ())),
    ],
)
def test_a_head_is_one_name_and_marks(line, head):
    assert names.head(line) == head


# --- print


def test_print_keeps_the_lines_of_checks_and_no_code(tmp_path):
    body = f"""<article class="bd-article"><h1>A</h1><p id="text">Words.</p>
<a class="picture" href="../figures/a.svg"><img src="a.png"/></a>
<details class="fold set-up"><summary>Set-up</summary><pre>import z3</pre></details>
<details class="fold check"><summary>{layers.verdicts(VERDICT)[0][0]}</summary>
<div class="how">z3</div><pre>w.proved()</pre></details>
<details class="ledger"><summary>1 check</summary><table></table></details></article>"""
    (tmp_path / "a.html").write_text(body, encoding="utf-8")
    article = pdf.chapter(tmp_path, "Part", "a").article
    assert article.select_one("p.witness")["id"] == "a.html#w-x-order"
    assert not article.select("pre, details.fold, div.how, a") and article.img
    assert article.select("details.ledger[open] table") and "Words." in article.get_text()


def test_a_heading_whose_formula_the_outline_cannot_show_is_refused():
    def heading(text):
        return BeautifulSoup(f"<h2>{text}</h2>", "html.parser").h2

    assert pdf.words(heading("The rate \\(\\alpha\\),\n and more")) == "The rate α, and more"
    with pytest.raises(Refusal, match=r"cannot show the heading 'The \\\\nu': see SIGNS"):
        pdf.words(heading(r"The \(\nu\)"))


# --- search


def test_sections_and_statements_are_found_with_their_own_words():
    inside = nodes.section("", nodes.paragraph("", "x is\nx"), ids=["proof-content"])
    statement = nodes.container("", nodes.title("", " (Identity)"), inside, ids=["thm"])
    statement["classes"].append("proof")
    deeper = nodes.section("", nodes.title("", "Deeper"), nodes.paragraph("", "low"), ids=["deep"])
    code = cell("x = 1")
    top = nodes.section("", nodes.title("", "Top"), nodes.paragraph("", "high"), ids=["top"])
    top += [statement, code, deeper]
    document = new_document("page", get_default_settings())
    document += top
    assert list(search.entries("a.html", "A", document, {"thm": "Lemma 3"})) == [
        ("a.html#top", "A", "Top", "high"),
        ("a.html#thm", "A", "Lemma 3 (Identity)", "x is x"),
        ("a.html#deep", "A", "Deeper", "low"),
    ]
