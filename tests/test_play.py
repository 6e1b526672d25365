"""The things to play, in a real browser: `make check`, after `make book`.

The kernels in Chromium against the package, what "Copy as Python" says against what the page shows,
the keyboard, the texts that are spoken, and pages without scripts.
"""

import contextlib
import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from test_browser import AXE, CODE, OVERFLOW, THEME, browser, listen, load_axe, size

from dueling import Utilities, scenario
from dueling.engine.simulation import stream
from dueling.theory import bounds
from edition.wasm import kernels

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "_build" / "html"

pytestmark = pytest.mark.built
__all__ = ["browser"]  # a fixture of the tests of all pages

RUNS, ROUNDS = 40, 1024
PLAYED = """([name, mu, link, algorithm, runs, T]) => {
  const where = Dueling.utilities(mu, link, name);
  return Array.from({length: runs}, (_, run) =>
    Dueling.play(where, algorithm, {T, seed: 2014, run}).history).flat();
}"""


def page_with(name):
    """A page of the built book on which this can be played."""
    mark = f'data-play="{name}"'
    pages = [p for p in sorted(BOOK.rglob("*.html")) if mark in p.read_text(encoding="utf-8")]
    if not pages:
        pytest.skip(f"no built page has {mark}: make book")
    return pages[0]


@pytest.fixture
def visit(browser):
    """Open a page from the file system and wait until a thing on it can be played."""
    tabs, heard = [], []

    def open_page(name, **options):
        tab = browser.new_page(viewport={"width": 1440, "height": 900}, **options)
        tabs.append(tab)
        tab.set_default_timeout(120_000)
        heard.append(listen(tab, BOOK.as_uri()))
        tab.goto(page_with(name).as_uri())
        tab.wait_for_selector(f'.play.is-live[data-play="{name}"]')
        return tab

    yield open_page
    for tab in tabs:
        tab.close()
    assert all(found == {"console": [], "outside": [], "failed": []} for found in heard)


def printed(code):
    """What a piece of Python prints, line by line, each line as its words."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return [line.split() for line in out.getvalue().splitlines()]


def test_the_kernels_play_in_chromium_as_the_package_does(visit):
    tab = visit("bandit")
    differing = []
    for i, (name, algorithm) in enumerate(kernels.ALGORITHMS.items()):
        where = scenario(("arith/linear", "2good/natural", "geom/logit")[i % 3])
        link = where.name.partition("/")[2]
        asked = [where.name, where.mu.tolist(), link, name, RUNS, ROUNDS]
        counts = np.array(tab.evaluate(PLAYED, asked), np.int64)
        expected = []
        for r in range(RUNS):
            at = np.array([2**i for i in range(11)])
            game = where.game(ROUNDS, at, stream(where, algorithm, 2014, r))
            algorithm.play(game)
            expected.append(game.history.ravel())
        digests = {hashlib.sha256(c.tobytes()).hexdigest() for c in (counts, np.ravel(expected))}
        differing += [name] * (len(digests) > 1)
    assert differing == []


def test_a_game_by_keyboard_ends_with_the_numbers_of_the_package(visit):
    tab = visit("bandit")
    cards = tab.locator(".play-card")
    for t in range(20):
        for card in (t % 6, (t * t + 1) % 6):
            cards.nth(card).focus()
            tab.keyboard.press("Enter")
        assert f"Round {t + 1}" in tab.inner_text(".play-said")
    rows = [row.split("\t") for row in tab.inner_text(".play-table tbody").splitlines()]
    shown = {name.split()[0]: float(value) for name, value in rows}
    code = tab.locator('[data-play="bandit"] .play-python code').text_content()
    for name, value in printed(code):
        assert shown[name] == pytest.approx(float(value), abs=1e-9)
    assert "You" in shown and "is best" in tab.inner_text(".play-said")


def drag(tab, label, value):
    tab.get_by_role("slider", name=label, exact=True).evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')) }", str(value)
    )


SPOKEN = """T => {
  const live = document.querySelector('[data-play=reductions] .play-live');
  const said = live.querySelector('.play-said').textContent;
  return live.dataset.done === 'true' && said.includes(` of ${T} duels each`);
}"""


def compared(tab):
    """The medians and means that the page shows, and those that its Python prints.

    Either rounds to one digit, and a tie (gaps are multiples of 1/80) its own way.
    """
    tab.wait_for_function(SPOKEN, arg=1000)
    live = tab.locator('[data-play="reductions"] .play-live')
    rows = [row.split("\t") for row in live.locator(".play-table tbody").inner_text().splitlines()]
    shown = {name: (float(median), float(mean)) for name, median, _, mean in rows}
    lines = printed(live.locator(".play-python code").text_content())
    assert len(lines) == len(shown) == 6
    told = {}
    for *words, median, mean in lines:
        told[words[0].partition("(")[0].removesuffix("2")] = float(median), float(mean)
    return shown, told


CHANGES = [
    ({}, {}),
    ({"utility of B": 0.3, "UCB’s α": 1, "IF’s c": 1}, {}),
    ({"arms K": 4}, {}),
    ({}, {"link": "natural"}),
    ({"arms K": 8, "utility of G": 0.75}, {"link": "logit"}),
    ({}, {"machine": "KLUCB", "link": "logit"}),
    ({"arms K": 3}, {"machine": "Thompson", "link": "natural"}),
]


@pytest.mark.parametrize(("sliders", "choices"), CHANGES)
def test_copied_python_gives_the_numbers_of_the_page(visit, sliders, choices):
    tab = visit("reductions")
    drag(tab, "rounds T", 0)
    for label, value in choices.items():
        tab.get_by_label(label, exact=True).select_option(value)
    for label, value in sliders.items():
        drag(tab, label, value)
    shown, told = compared(tab)
    assert shown == {name: pytest.approx(pair, abs=0.101) for name, pair in told.items()}
    assert "last bits" not in tab.locator('[data-play="reductions"]').inner_text()


def test_over_tsallis_inf_the_page_says_that_bits_may_differ(visit):
    """By how much at most, test_wasm says; up to round 1000 nothing does."""
    tab = visit("reductions")
    drag(tab, "rounds T", 0)
    tab.get_by_label("machine", exact=True).select_option("TsallisINF")
    shown, told = compared(tab)
    assert shown == {name: pytest.approx(pair, abs=0.101) for name, pair in told.items()}
    assert "the last bits may differ" in tab.locator('[data-play="reductions"]').inner_text()


def test_the_bounds_of_the_page_are_those_of_the_package(visit):
    tab = visit("reductions")
    for mu, T, alpha in (([0.8, 0.7, 0.2], 32000, 3.0), ([0.8, 0.8, 0.5, 0.4], 1000, 0.5)):
        shown = tab.evaluate("([mu, T, alpha]) => Board.bounds(mu, T, alpha)", [mu, T, alpha])
        utilities = Utilities(mu).mu
        H = sum(1 / (max(mu) - m) for m in mu if m < max(mu))
        c = 4 * (alpha + 2) * H * np.log(2)
        assert shown["multisbm"] == pytest.approx(bounds.multisbm(utilities, T, alpha))
        assert shown["doubler"] == pytest.approx(bounds.doubler_ucb_closed(utilities, T, alpha))
        assert shown["printed"] == pytest.approx(bounds.doubler_log_printed(c, 1, T))


def test_each_round_has_its_text_and_follows_the_package(visit):
    tab = visit("steps")
    box = tab.locator(".play.is-live[data-play=steps]").first
    name = box.get_attribute("data-algorithm").split()[0]
    where, algorithm = scenario("arith/linear"), kernels.ALGORITHMS[f"{name}(UCB)"]
    game = where.game(126, np.arange(1, 127), stream(where, algorithm, 2014, 0))
    algorithm.play(game)
    texts = []
    for code in game.log[:30].tolist():
        b, x, y = code // 36, code // 6 % 6, code % 6
        left, right = ("ABCDEF"[game.order[arm]] for arm in (x, y))
        texts.append(box.locator(".play-said").first.inner_text())
        assert f"{left} against {right}" in texts[-1]
        assert f"{(left, right)[b]} is preferred" in texts[-1]
        box.get_by_role("button", name="Next").click()
    assert len(set(texts)) == 30


@pytest.mark.parametrize("name", ["bandit", "reductions", "steps"])
def test_without_scripts_there_is_a_picture(browser, name):
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(page_with(name).as_uri())
    still = tab.locator(f'[data-play="{name}"] .play-still').first
    assert still.is_visible() and len(still.get_attribute("aria-label")) > 40
    tab.close()


@pytest.mark.parametrize("name", ["bandit", "reductions", "steps"])
def test_what_is_played_fits_and_has_no_barrier(visit, name):
    tab = visit(name)
    load_axe(tab)
    faults = {}
    for width in (1440, 768, 320):
        size(tab, width)
        for theme in ("light", "dark"):
            tab.evaluate(THEME, theme)
            tab.wait_for_timeout(800)
            inside = {"include": [[f'.play[data-play="{name}"]']]}
            faults[width, theme] = tab.evaluate(OVERFLOW) + tab.evaluate(
                AXE.replace("{exclude}", "{...exclude}"), [inside | {"exclude": CODE}, {}]
            )
    assert not any(faults.values()), faults


def test_reduced_motion_has_no_film(visit):
    tab = visit("steps", reduced_motion="reduce")
    assert tab.get_by_role("button", name="Play").count() == 0
