"""The built book in a real browser: `make check`, after `make book`.

Every page at three widths, light and dark: nothing from outside, a silent console, no error in
the mathematics, no repeated id, no sideways scrolling, no serious barrier. Then what a reader does:
search, the keyboard, previews, folds, pages opened from the file system.
"""

import ast
import json
import re
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from edition import layers

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "_build" / "html"

pytestmark = pytest.mark.built
PAGES = sorted(path.relative_to(BOOK).as_posix() for path in BOOK.rglob("*.html"))
PAGES = [page for page in PAGES if not page.startswith("_static/") and page != "index.html"]
WIDE, NARROW = 1440, 320
WIDTHS, THEMES = (WIDE, 768, NARROW), ("light", "dark")

READY = """() => Promise.race([
  window.MathJax?.startup?.promise ?? true,
  new Promise((_, no) => setTimeout(() => no('MathJax does not get ready'), 120000)),
]).then(() => true)"""
THEME = "mode => { document.documentElement.dataset.theme = mode }"
OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true })"
REPEATED = """() => {
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  return ids.filter((id, i) => ids.indexOf(id) < i);
}"""
MATH = """() => [
  ...[...document.querySelectorAll('mjx-merror, [data-mjx-error]')].map(e => e.textContent),
  ...[...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
    .map(e => e.textContent)]"""
# What sticks out to the right of the window, unless a box around it scrolls or clips.
OVERFLOW = """() => {
  const wide = document.documentElement.clientWidth;
  const all = document.documentElement.scrollWidth;
  if (all <= wide) return [];
  const clipped = e => e.parentElement !== document.body &&
    (getComputedStyle(e.parentElement).overflowX !== 'visible' || clipped(e.parentElement));
  const out = [...document.body.querySelectorAll('*')].filter(e =>
    e.getBoundingClientRect().right > wide + 1 && !clipped(e));
  return [`${all} px`, ...out.slice(-5).map(e => `${e.tagName}.${e.className} ${e.id}`)];
}"""
# Mathematics speaks through MathML, and code is coloured span by span: it is looked at once.
AXE = """([exclude, options]) => axe.run({exclude}, {
  resultTypes: ['violations'], preload: false, ...options}).then(r => r.violations
  .filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => `${v.id}: ` + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' | ')))"""
CODE = [["mjx-container"], [".highlight"], ["dt.sig"]]
CONTRAST = {"runOnly": ["color-contrast"]}
CUT = """() => [...document.querySelectorAll('article span.math')].filter(box => {
  const formula = box.querySelector('mjx-math');
  const hidden = formula && formula.getBoundingClientRect().width > box.clientWidth + 1;
  return hidden && getComputedStyle(box).overflowX !== 'auto';
}).map(box => box.textContent.slice(0, 60))"""
FOCUS = {
    "runOnly": ["scrollable-region-focusable", "link-name", "button-name", "aria-hidden-focus"]
}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="session")
def site():
    """The address of a local server of the built book."""
    if not BOOK.exists():
        pytest.skip("the book is not built: make book")
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Quiet(*a, directory=str(BOOK)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture
def tab(browser):
    """An empty tab that is closed afterwards; a visit waits for the mathematics."""
    page = browser.new_page(viewport={"width": WIDE, "height": 900})
    page.set_default_timeout(120_000)
    yield page
    page.close()


def listen(tab, inside):
    """What the tab will say, and what it will ask for outside of an address."""
    heard = {"console": [], "outside": [], "failed": []}
    tab.on("console", lambda said: heard["console"].append(said.text))
    tab.on("pageerror", lambda error: heard["console"].append(str(error)))
    tab.on("requestfailed", lambda request: heard["failed"].append(request.url))
    tab.on("response", lambda reply: reply.status >= 400 and heard["failed"].append(reply.url))
    local = (inside, "data:")
    tab.on("request", lambda r: r.url.startswith(local) or heard["outside"].append(r.url))
    return heard


# The letters of the long paragraphs without formulas, and their lines; a last line counts half.
MEASURE = """() => [...document.querySelectorAll('article section > p')]
  .filter(p => p.innerText.length > 400 && !p.querySelector('mjx-container'))
  .map(p => [p.innerText.length,
    p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight) - 0.5])"""
# Where the first picture and the first table of a page begin.
BEGIN = """() => ['div.drawing, figure', 'table'].map(kind =>
  document.querySelector(`article :is(${kind})`)?.getBoundingClientRect().top + scrollY)"""


def visit(tab, address):
    tab.goto(address)
    tab.evaluate(READY)


def size(tab, width):
    tab.set_viewport_size({"width": width, "height": 900})


def barriers(tab, width, theme, exclude, options):
    """The serious violations that axe finds."""
    size(tab, width)
    tab.evaluate(THEME, theme)
    tab.wait_for_timeout(800)  # scripts look at what scrolls a moment after a resize
    if tab.query_selector("[class*=play]"):  # and later where games are being played
        tab.wait_for_timeout(3000)
    return tab.evaluate(AXE, [exclude, options])


def load_axe(tab):
    import axe_playwright_python

    path = Path(axe_playwright_python.__file__).parent / "axe.min.js"
    tab.evaluate(path.read_text(encoding="utf-8") + "; true")


@pytest.mark.parametrize("page", PAGES)
def test_page(tab, site, page):
    found = listen(tab, site)
    visit(tab, site + page)
    tab.evaluate(OPEN)
    found |= {"repeated ids": tab.evaluate(REPEATED), "mathematics": tab.evaluate(MATH)}
    for width in WIDTHS:
        size(tab, width)
        for theme in THEMES:
            tab.evaluate(THEME, theme)
            found[f"overflow at {width} px, {theme}"] = tab.evaluate(OVERFLOW)
    load_axe(tab)
    found["barriers"] = barriers(tab, WIDE, "light", CODE, {})
    found["barriers, dark"] = barriers(tab, WIDE, "dark", CODE, CONTRAST)
    found["barriers, narrow"] = barriers(tab, NARROW, "light", CODE, FOCUS)
    found["cut off, narrow"] = tab.evaluate(CUT)
    faults = {fault: seen for fault, seen in found.items() if seen}
    assert not faults, json.dumps(faults, indent=1)


@pytest.mark.parametrize("theme", THEMES)
def test_code_is_legible(tab, site, theme):
    visit(tab, site + "book/tour.html")
    load_axe(tab)
    assert barriers(tab, WIDE, theme, [["mjx-container"]], CONTRAST) == []


def test_the_root_leads_to_the_first_page(tab, site):
    tab.goto(site)
    tab.wait_for_url(site + "book/index.html")


# --- what a reader does


def local(page):
    return (BOOK / page).as_uri()


@pytest.mark.parametrize("page", ["book/index.html", "book/theory/ucb.html", "book/tour.html"])
def test_from_the_file_system_too(tab, page):
    heard = listen(tab, BOOK.as_uri())
    visit(tab, local(page))
    assert heard == {"console": [], "outside": [], "failed": []}
    assert tab.evaluate(MATH) == []


def statements(page):
    """The names of the statements of a page: title in brackets -> anchor."""
    text = (BOOK / page).read_text(encoding="utf-8")
    found = re.findall(
        r'<div class="proof [^"]*" id="([^"]+)">\s*<p class="admonition-title"><span class='
        r'"caption-number">[^<]*</span> \(([A-Za-z ,\'-]+)\)',
        text,
    )
    return {title: anchor for anchor, title in found}


THEORY = [page for page in PAGES if page.startswith("book/theory/")]


@pytest.mark.parametrize("page", THEORY)
def test_search_finds_statements_by_name(tab, page):
    named = statements(page)
    if not named:
        pytest.skip("no statement of this page has a name in plain letters")
    title = max(named, key=len)
    tab.goto(local("search.html") + "?q=" + title.replace(" ", "+"))
    tab.wait_for_selector("#search-results ul.search li a")
    links = tab.eval_on_selector_all(
        "#search-results ul.search li a", "links => links.map(a => a.getAttribute('href'))"
    )
    assert any(link.split("#")[0].split("?")[0] == page for link in links), (title, links)


def test_search_leads_to_a_statement_and_shows_its_words(tab):
    heard = listen(tab, BOOK.as_uri())
    tab.goto(local("search.html") + "?q=one+coin")
    first = tab.locator("#search-results ul.search li").first
    first.wait_for()
    assert first.locator("a").get_attribute("href") == "book/theory/game.html#prop-game-coin"
    assert first.locator("p.context mark").count() > 0
    assert heard == {"console": [], "outside": [], "failed": []}


def focused(tab, selector):
    return tab.evaluate("s => !!document.activeElement.closest(s)", selector)


def press_until(tab, selector, presses):
    """Whether Tab reaches an element of the selector."""
    for _ in range(presses):
        tab.keyboard.press("Tab")
        if focused(tab, selector):
            return True
    return False


def test_keyboard_reaches_the_text_and_the_navigation(tab, site):
    visit(tab, site + "book/tour.html")
    tab.keyboard.press("Tab")
    assert focused(tab, "#pst-skip-link")
    tab.keyboard.press("Enter")
    assert tab.evaluate("location.hash") == "#main-content"
    visit(tab, site + "book/tour.html")
    assert press_until(tab, "nav.bd-links a", 15)
    tab.keyboard.press("Enter")
    tab.wait_for_url(re.compile(r"book/.*\.html"))


def test_keyboard_opens_the_navigation_on_a_narrow_screen(tab, site):
    size(tab, NARROW)
    visit(tab, site + "book/tour.html")
    assert press_until(tab, "button.primary-toggle", 10)
    tab.keyboard.press("Enter")
    assert press_until(tab, "nav.bd-links a", 15)


def first_reference(tab, words):
    """The first link of the text to another page's target whose id has one of these words."""
    return tab.locator(", ".join(f"article p a.reference.internal[href*='#{w}']" for w in words))


@pytest.mark.parametrize("words", [("thm-", "lem-", "prop-", "def-"), ("id",)])
def test_hovering_a_reference_shows_its_target(tab, words):
    visit(tab, local("book/theory/general.html"))
    tab.evaluate(OPEN)
    link = first_reference(tab, words).first
    link.scroll_into_view_if_needed()
    link.hover()
    tip = tab.locator("[role=tooltip]")
    tip.wait_for()
    assert len(tip.inner_text()) > 20
    assert tab.evaluate(MATH) == [] and tab.evaluate(REPEATED) == []
    box = tip.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= WIDE
    tab.keyboard.press("Escape")
    assert tip.count() == 0


def test_a_reference_reached_by_the_keyboard_shows_its_target(tab):
    visit(tab, local("book/theory/general.html"))
    tab.evaluate(OPEN)
    link = first_reference(tab, ("thm-", "lem-", "prop-")).first
    link.focus()
    tab.locator("[role=tooltip]").wait_for()
    assert link.get_attribute("aria-describedby") == "preview"


# --- text first, evidence one click away

EXPERIMENTS = [page for page in PAGES if page.startswith("book/experiments/")]
MOST = {page: 0.12 for page in THEORY} | {page: 0.15 for page in EXPERIMENTS}
SHARE = """() => {
  const height = e => e.getBoundingClientRect().height;
  const article = document.querySelector('article');
  const code = [...article.querySelectorAll('div.highlight, div.cell_output pre')]
    .filter(e => !e.parentElement.closest('div.highlight') && e.checkVisibility());
  return code.map(height).reduce((a, b) => a + b, 0) / height(article);
}"""
OPEN_CODE = """() => [...document.querySelectorAll('article div.cell_input')]
  .filter(e => e.checkVisibility()).map(e => e.innerText)"""
LINES = "[...document.querySelectorAll('span.witness')].filter(e => e.checkVisibility()).length"


@pytest.mark.parametrize("page", MOST)
def test_a_page_is_text_first(tab, page):
    visit(tab, local(page))
    assert tab.evaluate(SHARE) <= MOST[page]
    assert [code for code in tab.evaluate(OPEN_CODE) if layers.bare(ast.parse(code))] == []


def layer(tab, name):
    tab.click(f"div.layers button[value={name}]")
    assert tab.get_attribute(f"div.layers button[value={name}]", "aria-pressed") == "true"


@pytest.mark.parametrize("page", THEORY)
def test_a_theory_page_opens_with_a_picture_and_an_example_in_lines_that_can_be_read(tab, page):
    visit(tab, local(page))
    assert max(tab.evaluate(BEGIN)) < 2 * 900, "both begin within two screens"
    letters, lines = map(sum, zip(*tab.evaluate(MEASURE) or [(72, 1)], strict=True))
    assert 66 < letters / lines < 80


def test_the_switch_shows_text_checks_or_all_code_and_is_kept(tab, site):
    visit(tab, site + THEORY[0])
    inputs = tab.locator("article div.cell_input").count()
    checks = tab.locator("article span.witness").count()
    assert tab.evaluate(LINES) == checks > 10 and len(tab.evaluate(OPEN_CODE)) < inputs / 4
    layer(tab, "text")
    assert tab.evaluate(LINES) == 0
    layer(tab, "code")
    assert len(tab.evaluate(OPEN_CODE)) == inputs
    visit(tab, site + THEORY[1])
    assert len(tab.evaluate(OPEN_CODE)) == tab.locator("article div.cell_input").count()
    layer(tab, "checks")
    assert tab.evaluate(LINES) == tab.locator("article span.witness").count()


# Closed checks beside the text: how many, and which of them touch a block of the text. The box of a
# heading reaches under a check, its words do not.
MARGIN = """() => {
  const box = e => e.getBoundingClientRect();
  const beside = [...document.querySelectorAll('article div.cell > details.check')]
    .filter(e => getComputedStyle(e.parentElement).float === 'right');
  const text = [...document.querySelectorAll('article section > :not(section, h1, h2, h3)')]
    .filter(e => !beside.includes(e.firstElementChild) && e.checkVisibility());
  const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1
    && b.top < a.bottom - 1;
  return [beside.length, beside.filter(e => text.concat(beside.filter(f => f !== e))
    .some(f => touch(box(e), box(f)))).map(e => e.textContent.slice(0, 60))];
}"""


@pytest.mark.parametrize("page", THEORY)
def test_on_a_wide_screen_checks_stand_beside_the_text_and_touch_nothing(tab, page):
    visit(tab, local(page))
    assert tab.evaluate(MARGIN) == [0, []], "no room at 1440 px"
    for width in (1600, 1920):
        size(tab, width)
        beside, touching = tab.evaluate(MARGIN)
        assert beside > 2 and touching == []
        assert tab.evaluate(OVERFLOW) == []


LABELS = """() => [...document.querySelectorAll('article figure img')].map(e =>
  [e.getBoundingClientRect().width, e.closest('figure').clientWidth, e.className])"""


@pytest.mark.parametrize("page", [*THEORY, *EXPERIMENTS])
def test_on_a_phone_figures_keep_their_size_and_scroll(tab, page):
    """Labels of ten points in a picture of 512 are drawn nine pixels high, not six."""
    size(tab, 390)
    visit(tab, local(page))
    for width, room, kind in tab.evaluate(LABELS):
        assert width > room and width >= (700 if "panels" in kind else 450)
    assert tab.evaluate(OVERFLOW) == []


def test_the_front_page_shows_doors_result_game_and_board_on_its_first_screen(tab):
    visit(tab, local("book/index.html"))
    tab.wait_for_selector(".play-cards")
    assert [link.inner_text().split()[0] for link in tab.locator(".doors a").all()] == [
        "Read",
        "play",
        "use",
    ]
    formulas = ".front mjx-container[display=true]"
    assert re.search("printed.*true", tab.locator(formulas).text_content(), re.S)
    for part in (".doors", formulas, ".front .play-cards", ".front .board"):
        box = tab.locator(part).bounding_box()
        assert box["y"] + box["height"] < 900, part
    assert tab.evaluate("document.documentElement.scrollHeight") < 3 * 900


def test_a_check_opens_to_its_code_and_its_wrong_variant(tab):
    visit(tab, local(THEORY[0]))
    check = tab.locator("details.check").first
    assert not check.locator("div.cell_input").last.is_visible()
    check.locator("summary").click()
    assert check.locator("div.cell_input").last.is_visible()
    assert "Wrong variant" in check.locator("div.how").inner_text()


def test_a_link_to_a_check_shows_it_in_the_layer_of_text_too(tab, site):
    visit(tab, site + THEORY[0])
    layer(tab, "text")
    anchor = tab.locator("span.witness").first.get_attribute("id")
    tab.goto(f"{site}{THEORY[0]}#{anchor}")
    assert tab.locator(f"#{anchor}").is_visible()


def test_proofs_fold(tab, site):
    visit(tab, site + "book/theory/ucb.html")
    folds = tab.locator("article details.sd-dropdown")
    assert folds.count() > 0
    assert not folds.first.evaluate("fold => fold.open")
    folds.first.locator("summary").click()
    assert folds.first.evaluate("fold => fold.open")


def test_wide_things_scroll_inside_themselves_and_by_keyboard(tab, site):
    size(tab, NARROW)
    visit(tab, site + "book/theory/ucb.html")
    tab.evaluate(OPEN)
    tab.wait_for_timeout(1000)
    scrolling = tab.evaluate(
        """() => [...document.querySelectorAll("mjx-container[display='true'], pre, .ledger")]
        .filter(e => e.scrollWidth > e.clientWidth + 1)
        .map(e => `${getComputedStyle(e).overflowX} ${e.tabIndex}`)"""
    )
    assert scrolling and set(scrolling) <= {"auto 0", "scroll 0"}
