"""The built book in a real browser: `make check`, after `make book`.

Every page at three widths, light and dark. One visit to a page gathers all that is then tested.
"""

import sys
from functools import cache
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT / "tools"))
import browser as chromium  # noqa: E402

pytestmark = pytest.mark.built
PAGES = sorted(path.relative_to(BOOK).as_posix() for path in BOOK.rglob("*.html"))
PAGES = [page for page in PAGES if not page.startswith(("_static", "_previews"))]
WIDTHS = (1440, 768, 320)
THEMES = ("light", "dark")

READY = "window.MathJax?.startup?.promise.then(() => true) ?? true"
THEME = "mode => { document.documentElement.dataset.theme = mode }"
OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true })"
REPEATED = """() => {
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  return ids.filter((id, i) => ids.indexOf(id) < i);
}"""
MATH = """() => ({
  errors: [...document.querySelectorAll('mjx-merror, [data-mjx-error]')].map(e => e.textContent),
  raw: [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
    .map(e => e.textContent),
})"""
# What sticks out to the right of the window, unless a box around it scrolls or clips.
OVERFLOW = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  const clipped = e => e !== document.body && (e.parentElement === document.body ? false
    : getComputedStyle(e.parentElement).overflowX !== 'visible' || clipped(e.parentElement));
  const out = [...document.body.querySelectorAll('*')].filter(e =>
    e.getBoundingClientRect().right > wide + 1 && !clipped(e));
  return ['scrolls', ...out.slice(0, 5).map(e => `${e.tagName}.${e.className} ${e.id}`)];
}"""
AXE = """() => axe.run({exclude: [['mjx-container']]}, {resultTypes: ['violations']}).then(r =>
  r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => `${v.id}: ` +
    v.nodes.slice(0, 3).map(n => n.target + ' ' + n.html.slice(0, 150)).join(' | ')))"""


def axe() -> str:
    """The text of axe-core."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


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


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests."""
    if not chromium.chromium():
        pytest.skip(chromium.install() or "no Chromium")
    with chromium.launched() as running:
        yield running


@pytest.fixture(scope="session")
def visit(browser, site):
    """A function from a page's path to what was seen there."""

    @cache
    def seen(page):
        tab = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
        found = {"console": [], "outside": [], "failed": [], "overflow": {}, "axe": {}}
        tab.on("console", lambda said: found["console"].append(said.text))
        tab.on("pageerror", lambda error: found["console"].append(str(error)))
        tab.on("request", lambda r: r.url.startswith(site) or found["outside"].append(r.url))
        tab.on("response", lambda r: r.status >= 400 and found["failed"].append(r.url))
        tab.goto(site + page)
        tab.evaluate(READY)
        tab.evaluate(OPEN)
        found["repeated"] = tab.evaluate(REPEATED)
        found["math"] = tab.evaluate(MATH)
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 900})
            for theme in THEMES:
                tab.evaluate(THEME, theme)
                found["overflow"][width, theme] = tab.evaluate(OVERFLOW)
        tab.add_script_tag(content=axe())
        for width, theme in ((WIDTHS[0], "light"), (WIDTHS[0], "dark"), (WIDTHS[-1], "light")):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.evaluate(THEME, theme)
            found["axe"][width, theme] = tab.evaluate(AXE)
        tab.close()
        return found

    return seen


each_page = pytest.mark.parametrize("page", PAGES)


@each_page
def test_nothing_comes_from_outside(visit, page):
    assert [url for url in visit(page)["outside"] if not url.startswith("data:")] == []
    assert visit(page)["failed"] == []


@each_page
def test_the_console_is_silent(visit, page):
    assert visit(page)["console"] == []


@each_page
def test_mathematics_is_set(visit, page):
    assert visit(page)["math"] == {"errors": [], "raw": []}


@each_page
def test_no_id_is_repeated(visit, page):
    assert visit(page)["repeated"] == []


@each_page
def test_the_page_does_not_scroll_sideways(visit, page):
    assert {at: what for at, what in visit(page)["overflow"].items() if what} == {}


@each_page
def test_no_serious_barrier(visit, page):
    assert {at: what for at, what in visit(page)["axe"].items() if what} == {}
