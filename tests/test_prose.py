"""The prose of all pages, read without running them: few numbers, and no sentence read twice."""

import re
from pathlib import Path

import pytest

from edition import notebooks

ROOT = Path(__file__).parents[1]
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "book").rglob("*.md"))
PAGES += [f"{name}.ipynb" for name in notebooks.notebooks(ROOT)]


def prose(page):
    """The Markdown of a page."""
    if not page.endswith(".ipynb"):
        return (ROOT / page).read_text(encoding="utf-8")
    cells = notebooks.load(ROOT / page)["cells"]
    return "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")


# --- at most five numbers in a paragraph

# A number is a glued one, or a numeral in the text, alone between dollars too. No numbers are those
# in formulas, code, links, names (step 3, arm 2, UCB(1), 1good) and years. No paragraphs of prose
# are algorithms, code, tables, headings, the options of a directive, and the steps of a proof.
BLOCKS = r"^(`{3,}|:{3,})\{prf:(?:proof|algorithm)\}.*?^\1$|^(```+)(?!\{)[^\n]*\n.*?^\2$"
LINES = r"^ *(?:\||:[\w-]+:|#|```|:::|    ).*$"
PARAGRAPH = r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )"
PROOF = r"\s*\*+(?:Proof|[^*]*\b[Ss]tep\b)"
NAME = (
    r"(?i:\b(?:section|theorem|lemma|corollary|proposition|definition|observation|appendix|algorithm"
    r"|equation|hypothesis|exercise|step|part|arm)s?)"
    r" \(?[\dA-E]+[\d.]*\)?(?:(?:,| and| to| or) \d+)*"
    r"|UCB\(\d\)|Python [\d.]+\d|\b(?:19|20)\d\d\b(?!\.\d)"
)


def paragraphs(text):
    """The paragraphs of prose in Markdown text; each entry of a list is one."""
    text = re.sub(LINES, "", re.sub(BLOCKS, "", text, flags=re.M | re.S), flags=re.M)
    return [p for p in re.split(PARAGRAPH, text) if not re.match(PROOF, p)]


def numbers(paragraph):
    """The numbers of a paragraph."""
    text = re.sub(r"^\s*\d+\. ", "", paragraph)
    text = re.sub(r"\$(\.?\d[\d.,]*)\$", r"\1", text)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.S)
    glued = re.findall(r"\{glue:\w*\}`[^`]*`", text)
    text = re.sub(r"\{[\w:]+\}`[^`]*`|`[^`]*`|\]\([^)]*\)", "", text)
    return glued + re.findall(r"(?<![\w.])\.?\d[\d,.]*(?!\w)", re.sub(NAME, "", text))


@pytest.mark.parametrize("page", PAGES)
def test_no_paragraph_has_more_than_five_numbers(page):
    many = [(numbers(p), p) for p in paragraphs(prose(page)) if len(numbers(p)) > 5]
    assert many == []


def test_numbers_are_counted():
    text = "Of 16 it wins .5, {glue:text}`a-b:.1f` or $0.2$ in arm 2, by Lemma 2.2 of 2014, $x=3$."
    assert numbers(text) == ["{glue:text}`a-b:.1f`", "16", ".5,", "0.2"]
    text = "# A 1\n\n| 1 | 2 |\n\n**Step 3 (why).** One.\n\n- two\n- three\n"
    assert [p.strip() for p in paragraphs(text) if p.strip()] == ["- two", "- three"]


# --- sentences that readers stumbled over

STUMBLED = (
    "noiseless machine in place of",
    "near ties let pass",
    "at those of the theory",
    "neither can be had",
    "asked over all games at once",
    "how little need",
    "a limit cannot be seen at a finite",
    "print has ",
    "the machines tell the rest",
    "the card says",
    "in at most 0 of",
)


DATA = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "book").rglob("*.yml"))


@pytest.mark.parametrize("page", [*PAGES, *DATA, "README.md"])
def test_no_sentence_that_readers_stumbled_over_has_come_back(page):
    text = re.sub(r"\s+", " ", prose(page)).lower()
    assert [words for words in STUMBLED if words in text] == []
