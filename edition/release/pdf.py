"""The built pages as one PDF: a title page, contents with page numbers, an outline, every chapter.

python -m edition.release.pdf     reads _build/html, writes the PDF into it; needs Chromium

The pages are put one after the other into _build/print/book.html and printed twice: the first
print tells on which page each heading is, the second has those numbers in the contents. Formulas
that are wider than the column are made smaller; nothing is cut.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import yaml
from bs4 import BeautifulSoup
from bs4.element import Tag
from pypdf import PdfReader, PdfWriter
from pypdf.generic import Fit

from .. import place
from ..place import Refusal
from ..sphinx.about import PDF
from . import browser
from .facts import Edition, edition

ROOT = place.root()
WEB_ONLY = "/status"  # the one page with dates, and a PDF has none
DROPPED = (
    ".headerlink, .figure-files, .page-about, .toctree-wrapper, .web-only, script, button, "
    ".sd-summary-icon, .sd-summary-state-marker, .sd-summary-chevron-right"
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>{fonts}{pygments}{style}{running}</style>
<script>window.MathJax = {{
  options: {{processHtmlClass: "tex2jax_process|mathjax_process|math|output_area"}},
  tex: {{macros: {macros}}}, chtml: {{matchFontHeight: false}},
}}</script>
<script src="../html/_static/mathjax/tex-mml-chtml.js"></script>
</head><body class="tex2jax_ignore mathjax_ignore">{front}{contents}{chapters}</body></html>
"""
# A formula and the punctuation after it stay on one line. What is short stays on one page: a table,
# a statement, a piece of code; longer ones would leave holes.
KEEP = """() => {
  for (const formula of document.querySelectorAll('article span.math')) {
    const text = formula.nextSibling;
    const end = text?.nodeType === 3 ? text.data.match(/^[^\\s\\w]+/)?.[0].length : 0;
    if (!end) continue;
    text.splitText(end);
    const line = document.createElement('span');
    line.style.whiteSpace = 'nowrap';
    formula.replaceWith(line);
    line.append(formula, text);
  }
  const whole = 'article table, article div.proof, article div.cell_input';
  for (const piece of document.querySelectorAll(whole))
    if (piece.getBoundingClientRect().height < 330) piece.style.breakInside = 'avoid';
}"""
# What is wider than the column, a formula or a table, is made as small as it must be.
SHRINK = """() => {
  const width = e => e.getBoundingClientRect().width;
  const formula = box => {
    const line = box.parentElement.closest('p, li, dd, div, figcaption, section');
    const room = width(line) - (line.querySelector(':scope > .eqno') ? 40 : 0);
    return [box, room / width(box.querySelector('mjx-math'))];
  };
  const boxes = [...document.querySelectorAll('article mjx-container')];
  const wide = boxes.filter(box => !box.closest('td, th')).map(formula);  // read all, then write
  const fit = ([e, ratio]) => { if (ratio < 1) e.style.fontSize = `${Math.floor(98 * ratio)}%`; };
  wide.forEach(fit);
  const room = width(document.body);
  for (const table of document.querySelectorAll('article table'))
    for (let size = 98; table.scrollWidth > room && size > 40; size -= 4)
      table.style.fontSize = `${size}%`;
}"""
OUTSIDE = """() => {
  const edge = document.body.getBoundingClientRect().right + 2;
  return [...document.querySelectorAll('article *')]
    .filter(e => e.getBoundingClientRect().right > edge && !e.closest('mjx-assistive-mml'))
    .map(e => `${e.closest('article').id}: ${e.tagName} ${e.textContent.trim().slice(0, 60)}`);
}"""
SIGNS = {r"\gamma": "γ", r"\alpha": "α", r"\Delta": "Δ", r"\delta": "δ", r"\rho": "ρ"}
NUMBER = """numbers => {
  for (const line of document.querySelectorAll('nav.contents p:has(a)'))
    line.lastChild.textContent = numbers[line.firstChild.getAttribute('href').slice(1)] ?? '';
}"""


@dataclass(frozen=True)
class Chapter:
    """A page of the book in print: its part, its path and its text."""

    part: str
    page: str
    article: Tag

    @property
    def title(self) -> str:
        """The chapter's title."""
        return self.article.h1.get_text().strip()


def order(root: Path) -> list[tuple[str, str]]:
    """The pages of the book in order, each with the name of its part."""
    return [(part, page) for part, page in place.pages(root) if not page.endswith(WEB_ONLY)]


def chapter(html: Path, part: str, page: str) -> Chapter:
    """A page made ready for print: no buttons, all folds open, ids and links of one document."""
    text = (html / f"{page}.html").read_text(encoding="utf-8")
    article = BeautifulSoup(text, "html.parser").select_one("article.bd-article")
    for extra in article.select(DROPPED):
        extra.decompose()
    for line in article.find_all("p"):
        if line.get_text().startswith("Download:"):
            line.decompose()
    for link in article.select("a.picture"):
        link.unwrap()
    for fold in article.select("details.fold"):
        keep_verdicts(fold)
    for fold in article.find_all("details"):
        fold["open"] = ""
    for code in article.select("details.hide"):  # folded code has no title of its own
        code.name = "div"
        code.summary.decompose()
    for element in article.find_all(True):
        if element.get("id"):
            element["id"] = f"{page}.html#{element['id']}"
        relink(element, page)
    article["id"] = f"{page}.html"
    return Chapter(part, page, article)


def keep_verdicts(fold: Tag) -> None:
    """Leave of a fold of evidence the verdicts alone: print has no code that nobody can open."""
    for line in fold.select("summary > span.witness"):
        line.name = "p"
        fold.insert_before(line.extract())
    fold.decompose()


def relink(element: Tag, page: str) -> None:
    """Let links between pages lead inside the document, and pictures be found from it."""
    link = element.get("href")
    if link and not urlsplit(link).scheme:
        to = urljoin(f"{page}.html", link)
        if to.split("#")[0].removesuffix(WEB_ONLY + ".html").endswith(".html"):
            element["href"] = f"#{to}"
        else:
            del element["href"]  # a file that the PDF does not carry
    if element.get("src"):
        element["src"] = "../html/" + urljoin(f"{page}.html", element["src"])


def contents(chapters: list[Chapter]) -> str:
    """The table of contents: parts, chapters and their sections, with room for page numbers."""
    lines, part = [], ""
    for one in chapters:
        if one.part != part:
            part = one.part
            lines.append(f'<p class="part">{escape(part)}</p>')
        lines.append(entry("chapter", one.article["id"], one.title))
        for heading in one.article.find_all("h2"):
            section = heading.find_parent("section")
            lines.append(entry("section", section["id"], heading.decode_contents()))
    return f'<nav class="contents"><p class="heading">Contents</p>{"".join(lines)}</nav>'


def entry(kind: str, target: str, title: str) -> str:
    """One line of the contents."""
    return f'<p class="{kind}"><a href="#{target}"><span>{title}</span></a><span></span></p>'


def front(about: Edition, profile: str) -> str:
    """The title page."""
    title, _, subtitle = about.title.partition(": ")
    paper = about.paper
    people = ", ".join(f"{first} {last}" for last, first in paper["authors"])
    small = '<p class="warning">A small run: these numbers are not those of the edition.</p>'
    return f"""<header class="front"><p class="title">{escape(title)}</p>
<p class="subtitle">{escape(subtitle)} of the paper by {escape(people)} ({paper["year"]})</p>
{small if profile != "full" else ""}
<p>{escape(", ".join(about.authors))}</p>
<p class="state">Version {about.version}, {about.date}<br>commit {about.commit}<br>
lock {about.lock}</p>
<p class="state">Text and figures: CC BY 4.0. Code: MIT.</p></header>"""


def faces() -> str:
    """The faces of text and code, as matplotlib ships them."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    kinds = [
        ("STIX", "STIXGeneral", "normal", "normal"),
        ("STIX", "STIXGeneralBol", "bold", "normal"),
        ("STIX", "STIXGeneralItalic", "normal", "italic"),
        ("STIX", "STIXGeneralBolIta", "bold", "italic"),
        ("Mono", "DejaVuSansMono", "normal", "normal"),
        ("Mono", "DejaVuSansMono-Bold", "bold", "normal"),
    ]
    return "".join(
        f"@font-face {{font-family: {family}; font-weight: {weight}; font-style: {style}; "
        f"src: url('{(folder / file).as_uri()}.ttf')}}\n"
        for family, file, weight, style in kinds
    )


def running(chapters: list[Chapter]) -> str:
    """The running head: each chapter's pages carry its title."""
    rules = []
    for i, one in enumerate(chapters):
        title = one.title.replace("\\", "").replace('"', "'")
        rules.append(
            f'#c{i} {{page: c{i}}} @page c{i} {{@top-right {{content: "{title}"; '
            "font: italic 9pt STIX}}\n"
        )
    return "".join(rules)


def macros(root: Path) -> str:
    """MathJax's macros, as the pages have them."""
    config = yaml.safe_load(place.read(root / "_config.yml"))["sphinx"]["config"]
    return json.dumps(config["mathjax3_config"]["tex"]["macros"])


def document(root: Path, chapters: list[Chapter]) -> str:
    """The whole book as one page of HTML."""
    from pygments.formatters import HtmlFormatter

    about = edition(root)
    wrapped = [f'<div id="c{i}">{one.article}</div>' for i, one in enumerate(chapters)]
    return PAGE.format(
        title=escape(about.title),
        fonts=faces(),
        pygments=HtmlFormatter(style="xcode").get_style_defs(".highlight"),
        style=place.read(Path(__file__).with_name("print.css")),
        running=running(chapters),
        macros=macros(root),
        front=front(about, place.profile()),
        contents=contents(chapters),
        chapters="".join(wrapped),
    )


def printed(tab: Any, source: Path, target: Path) -> dict[str, int]:
    """The page of each heading; the document is a PDF with tags."""
    kind = {"prefer_css_page_size": True, "print_background": True, "tagged": True}
    tab.goto(source.as_uri())
    tab.emulate_media(media="print")
    tab.evaluate("MathJax.startup.promise.then(() => true)")
    tab.evaluate("document.fonts.ready.then(() => true)")
    tab.evaluate(KEEP)
    tab.evaluate(SHRINK)
    if outside := tab.evaluate(OUTSIDE):
        raise Refusal("\n".join(["Wider than the column:", *outside[:20]]))
    tab.pdf(path=target, **kind)
    numbers = pages_of(target)
    tab.evaluate(NUMBER, numbers)
    tab.pdf(path=target, **kind)
    return numbers


def pages_of(path: Path) -> dict[str, int]:
    """The page on which each target of the contents begins."""
    reader = PdfReader(path)
    return {
        name.lstrip("/"): reader.get_destination_page_number(target) + 1
        for name, target in reader.named_destinations.items()
    }


def words(heading: Tag) -> str:
    """A heading's text for the outline, which knows no formulas."""
    text = " ".join(heading.get_text().replace(r"\(", "").replace(r"\)", "").split())
    for macro, sign in SIGNS.items():
        text = text.replace(macro, sign)
    if "\\" in text:
        raise Refusal(f"The outline cannot show the heading {text!r}: see SIGNS.")
    return text


def outline(writer: Any, chapters: list[Chapter]) -> None:
    """Put the chapters and their sections into the PDF's outline."""
    places = writer.named_destinations

    def item(target: str, heading: Tag, parent: Any = None) -> Any:
        place = places[f"/{target}"]
        page = writer.get_destination_page_number(place)
        return writer.add_outline_item(words(heading), page, parent, fit=Fit.xyz(None, place.top))

    for one in chapters:
        top = item(one.article["id"], one.article.h1)
        for heading in one.article.find_all("h2"):
            item(heading.find_parent("section")["id"], heading, top)


def finish(path: Path, about: Edition, chapters: list[Chapter]) -> None:
    """Give the PDF an outline and the name of the book; it has no date."""
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # Chromium counts its objects otherwise
    writer = PdfWriter(clone_from=path)
    writer.pdf_header = "%PDF-1.7"  # it has tags
    outline(writer, chapters)
    facts = {"Title": about.title, "Author": ", ".join(about.authors), "Creator": about.commit}
    writer.metadata = {f"/{name}": value for name, value in facts.items()}
    writer.write(path)


def main(argv: list[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args(argv).root.resolve()
    html, folder = root / "_build" / "html", root / "_build" / "print"
    folder.mkdir(parents=True, exist_ok=True)
    chapters = [chapter(html, part, page) for part, page in order(root)]
    source, target = folder / "book.html", folder / PDF
    source.write_text(document(root, chapters), encoding="utf-8")
    with browser.launched() as chromium:
        tab = chromium.new_page(viewport={"width": 627, "height": 900})
        tab.set_default_timeout(900_000)  # thousands of formulas are set
        numbers = printed(tab, source, target)
    finish(target, edition(root), chapters)
    target.replace(html / PDF)
    print(f"wrote {(html / PDF).relative_to(root)}, {max(numbers.values())} pages")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refusal as refusal:
        sys.exit(str(refusal))
