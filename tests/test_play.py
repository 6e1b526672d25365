"""The things to play, in a real browser: `make check`, after `make book`.

The kernels in Chromium against the package, what "Copy as Python" says against what the page shows,
the keyboard, the texts that are spoken, and pages without scripts.
"""

import contextlib
import hashlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from test_browser import AXE, CODE, OVERFLOW, THEME, listen, load_axe, size

from dueling import Utilities, scenario
from dueling.engine.runs import stream
from dueling.theory import bounds
from edition.sphinx.play import THINGS
from edition.wasm import kernels

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "_build" / "html"

pytestmark = pytest.mark.built

RUNS, ROUNDS = 40, 1024
PLAYED = """([name, mu, link, algorithm, runs, T]) => {
  const where = Dueling.utilities(mu, link, name);
  return Array.from({length: runs}, (_, run) =>
    Dueling.play(where, algorithm, {T, seed: 2014, run}).history).flat();
}"""


def page_with(name, more=""):
    """A page of the built book on which this can be played, with more in its mark (a pattern)."""
    mark = f'data-play="{name}"[^>]*{more}'
    pages = [p for p in sorted(BOOK.rglob("*.html")) if re.search(mark, p.read_text("utf-8"))]
    if not pages:
        pytest.skip(f"no built page has {mark}: make book")
    return pages[0]


@pytest.fixture
def visit(browser):
    """Open a page from the file system and wait until a thing on it can be played."""
    tabs, heard = [], []

    def open_page(name, more="", **options):
        tab = browser.new_page(viewport={"width": 1440, "height": 900}, **options)
        tabs.append(tab)
        tab.set_default_timeout(120_000)
        heard.append(listen(tab, BOOK.as_uri()))
        tab.goto(page_with(name, more).as_uri())
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
    shown = {name.split()[0]: values for name, *values in rows}
    code = tab.locator('[data-play="bandit"] .play-python code').text_content()
    for name, soon, late in printed(code):
        assert float(shown[name][0]) == pytest.approx(float(soon), abs=1e-9)
        assert float(shown[name][1]) == pytest.approx(float(late), abs=0.51)
    assert shown["You"][1] == "–" and shown["Random"][1] == "583"
    best = tab.locator(".play-card.is-best")
    assert "utility 0.8" in best.inner_text() and tab.locator(".play-card.is-winner").count() == 0
    assert f"{best.inner_text()[0]} is best" in tab.inner_text(".play-said")
    assert tab.evaluate("document.activeElement.matches('.play-card.is-turned')"), "focus stays"


def test_a_picture_stays_in_sight_while_the_last_slider_below_it_moves(visit):
    tab = visit("reductions")
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.get_by_role("slider", name="utility of F", exact=True).focus()
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    live = tab.locator('[data-play="reductions"] .play-live')
    bar, chart, slider = (
        box.bounding_box()
        for box in (
            tab.locator(".bd-header-article").first,
            live.locator("svg").first,
            tab.get_by_role("slider", name="utility of F", exact=True),
        )
    )
    assert bar["y"] + bar["height"] <= chart["y"] + 1
    assert chart["y"] + chart["height"] < slider["y"] < 844


EARLY = """document.addEventListener('readystatechange',
  () => { window.early ??= document.querySelectorAll('.play.is-live').length; })"""


@pytest.mark.parametrize("name", sorted(THINGS))
def test_what_is_played_is_there_when_the_page_has_been_read(browser, name):
    """So no script that is deferred, such as that for formulas, comes before the first picture."""
    tab = browser.new_page()
    tab.add_init_script(EARLY)
    tab.goto(page_with(name).as_uri())
    assert tab.evaluate("window.early") == 1
    tab.close()


def test_what_is_said_belongs_to_what_is_played(visit):
    """While other settings are played the picture says how far they came; the lamps are out."""
    tab = visit("reductions")
    drag(tab, "rounds T", 0)
    tab.wait_for_function(SPOKEN, arg=1000)
    live = tab.locator('[data-play="reductions"] .play-live')
    drawn = live.locator("svg").first
    assert live.locator(".play-lamps").is_visible() and live.locator(".play-lamp").count() == 3
    assert "Regret" in drawn.text_content() and "of the runs" not in drawn.text_content()
    assert live.evaluate("""live => {
      const range = live.querySelector('input[aria-label="rounds T"]');
      range.value = 5;
      range.dispatchEvent(new Event('input'));
      const lamps = live.querySelector('.play-lamps');
      return [live.querySelector('.play-said').textContent, getComputedStyle(lamps).visibility];
    }""") == ["", "hidden"]
    drawn.get_by_text("of the runs").wait_for()


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
    mu, T = scenario("arith/linear").mu, 32000
    c = 4 * 5 * np.log(2) * sum(1 / gap for gap in mu.max() - mu if gap)
    said = tab.inner_text('[data-play="reductions"] .play-bounds >> nth=0')
    proved, as_printed = said.split("As printed: ")
    assert f"MultiSBM at most {bounds.multisbm(mu, T, 3.0):.0f} (Theorem M)" in proved
    assert f"Doubler at most {bounds.doubler_ucb_closed(mu, T, 3.0):.0f} (Theorem D)" in proved
    assert as_printed.startswith("for MultiSBM the print gives no constant")
    assert f"leading term is {bounds.doubler_log_printed(c, 1, T):.0f}." in as_printed


LETTERS = "ABCDEF"
STEPPED = ("Doubler", "MultiSBM", "Champion", "Sparring")


def stepper(visit, name, **options):
    """The box in which the rounds of this algorithm are shown, and its tab."""
    tab = visit("steps", f'data-algorithm="[^"]*{name}', **options)
    box = tab.locator(f'.play[data-algorithm*="{name}"] .play-live')
    picks = box.get_by_label("algorithm")
    if picks.count():
        picks.select_option(name)
    return tab, box


def replay(name, T):
    """The package's run of the same seed, ended at T: the game, and the parts of its algorithm."""
    where, algorithm = scenario("arith/linear"), kernels.ALGORITHMS[f"{name}(UCB)"]
    game = where.game(T, np.arange(1, T + 1), stream(where, algorithm, 2014, 0))
    parts = algorithm.parts(game)
    algorithm.text(*parts, game)
    return where, game, parts


def indices(game, machine):
    """Each arm's mean and bonus; none before its first pull."""
    width = np.sqrt((machine.alpha + 2) * np.log(machine.t) / 2)
    pairs = zip(machine.mean.tolist(), (width * machine.narrow).tolist(), strict=True)
    return {LETTERS[game.order[x]]: [*pair] if pair[0] < 2 else [] for x, pair in enumerate(pairs)}


def tally(game, counts):
    return {LETTERS[game.order[x]]: [n] for x, n in enumerate(counts)}


def panels(name, t):
    """What the panels show after round t (title -> arm -> numbers), the regret so far, the duel."""
    where, game, parts = replay(name, t)
    b, left, right = np.unravel_index(game.log, (2, 6, 6))
    x, wanted = left[-1], {}
    if name == "Sparring":
        wanted = {f"{side} machine": m for side, m in zip(("left", "right"), parts, strict=True)}
    elif name == "Doubler":
        wanted = {"the machine": parts[0]}
    else:
        wanted = {f"machine of {LETTERS[game.order[x]]}": parts[0][x]}
    wanted = {f"{title}: mean + bonus": indices(game, m) for title, m in wanted.items()}
    if name == "Champion":
        start = 2 ** int(np.log2(t))
        wanted["sent in this epoch"] = tally(game, np.bincount(right[start - 1 :], minlength=6))
    if name == "Doubler":
        start = 2 ** int(np.log2(t + 1)) - 1
        before = 2 ** int(np.log2((start + 1) / 2)) - 1
        used = (
            np.bincount(right[before - 1 : start - 1], minlength=6) if start > 1 else [1, *[0] * 5]
        )
        after = np.bincount(right[start - 1 :], minlength=6)
        wanted |= {"the bag in use": tally(game, used), "the next bag": tally(game, after)}
    return wanted, where.measure(game)["regret"][-1], (b[-1], left[-1], right[-1], game.order)


PANELS = """box => {
  const cells = row => [...row.cells].map(cell => cell.textContent);
  const numbers = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const arms = table => [...table.tBodies[0].rows].map(cells).map(([x, , n]) => [x, numbers(n)]);
  const tables = [...box.querySelectorAll('table.play-bars')];
  return Object.fromEntries(tables.map(t => [t.caption.textContent, Object.fromEntries(arms(t))]));
}"""


@pytest.mark.parametrize("name", STEPPED)
def test_what_is_stepped_through_is_the_run_of_the_package(visit, name):
    """The duel, its winner, the regret so far and every number of the panels, also at the end."""
    _, box = stepper(visit, name)
    for t in (1, 2, 3, 7, 14, 15, 31, 62, 63, 100, 126):
        drag(box, "round", t)
        wanted, lost, (b, x, y, order) = panels(name, t)
        left, right = LETTERS[order[x]], LETTERS[order[y]]
        said = box.locator(".play-said").first.inner_text()
        assert said.startswith(f"Round {t}: {left} against {right}")
        assert f"{(left, right)[b]} is preferred" in said
        shown = float(re.search(r"Regret so far (\d+\.\d\d)\.", said)[1])
        assert shown == pytest.approx(lost, abs=0.0051)
        seen = box.evaluate(PANELS)
        assert seen.keys() == wanted.keys()
        for title, arms in wanted.items():  # the page rounds to two digits
            assert seen[title] == {arm: pytest.approx(n, abs=0.0051) for arm, n in arms.items()}, t


@pytest.mark.parametrize("name", STEPPED)
def test_each_round_has_a_text_of_its_own_and_names_its_step(visit, name):
    _, box = stepper(visit, name)
    _, game, _ = replay(name, 30)
    texts = []
    for code in game.log.tolist():
        b, x, y = code // 36, code // 6 % 6, code % 6
        left, right = (LETTERS[game.order[arm]] for arm in (x, y))
        texts.append(box.locator(".play-said").first.inner_text())
        assert f"{left} against {right}" in texts[-1]
        assert f"{(left, right)[b]} is preferred" in texts[-1]
        box.get_by_role("button", name="Next").click()
    assert len(set(texts)) == 30
    steps = {
        re.search(r"Theorem [A-Z](, step \d)?|Lemma “|Proposition “|Observation “", t)[0]
        for t in texts
    }
    assert len(steps) > 1


@pytest.mark.parametrize("name", STEPPED)
def test_epochs_are_skipped_and_the_buttons_stay_where_they_are(visit, name):
    _, box = stepper(visit, name)
    skip, following = (box.get_by_role("button", name=name) for name in ("Skip epoch", "Next"))
    begins = {"Doubler": [3, 7, 15, 31, 63, 126], "Champion": [2, 4, 8, 16, 32, 64, 126]}
    assert skip.count() == (name in begins)
    places = {following.evaluate("e => e.offsetTop")}
    for t in begins.get(name, []):
        skip.click()
        assert box.locator(".play-said").first.inner_text().startswith(f"Round {t}: ")
        places.add(following.evaluate("e => e.offsetTop"))
    for t in range(1, 127, 5):
        drag(box, "round", t)
        places.add(following.evaluate("e => e.offsetTop"))
    assert len(places) == 1


def test_sparring_names_the_step_of_each_kind_of_duel(visit):
    """Two best arms, one bad arm, two bad arms: which index rises is Exercise 4's condition."""
    _, box = stepper(visit, "Sparring")
    where, game, _ = replay("Sparring", 126)
    gaps, seen = where.gaps, set()
    for t, code in enumerate(game.log.tolist(), 1):
        x, y = (int(game.order[arm]) for arm in (code // 6 % 6, code % 6))
        kind = (x > 0) + (y > 0), x == y
        rising = {LETTERS[j] for j, i in ((x, y), (y, x)) if gaps[i] > gaps[j] / 2}
        if (*kind, *rising) in seen:
            continue
        seen.add((*kind, *rising))
        drag(box, "round", t)
        said = box.locator(".play-said").first.inner_text()
        words = ("Proposition “Successive Elimination”, step 3", "Lemma “Identity”, step 1")
        assert [word in said for word in (*words, "Observation “Drift”")].index(True) == kind[0]
        if kind[0] == 2:
            told = re.search(r"raises the index of (.*) on average", said)[1]
            assert {word for word in told.split() if word in LETTERS} == rising
            assert ("a fair coin" in said) == (x == y)
    assert {kind for kind, *_ in seen} == {0, 1, 2}


def test_the_film_of_the_relapse_ends_where_the_package_does(visit):
    tab, box = stepper(visit, "Sparring")
    run = int(tab.locator("[data-run]").get_attribute("data-run"))
    where, algorithm, T = scenario("1good/linear"), kernels.ALGORITHMS["Sparring(UCB)"], 2**16
    game = where.game(T, np.arange(1, 129) * (T // 128), stream(where, algorithm, 2014, run))
    algorithm.play(game)
    regret = where.measure(game)["regret"]
    counts = np.array(list(where.history(game))).sum(axis=1)
    without = np.diff(counts[:, 1:, 1:].sum(axis=(1, 2)), prepend=0) / (T // 128)
    for i in (0, int(without.argmax()), 127):
        drag(box, "time", i)
        said = box.locator(".play-said").last.inner_text()
        assert f"to {(i + 1) * (T // 128)}: " in said
        assert f"in {np.floor(100 * without[i] + 0.5):.0f} % of them" in said
        assert float(re.search(r"Regret so far (\d+)\.", said)[1]) == pytest.approx(
            regret[i], abs=0.51
        )
    assert without.max() == 1


@pytest.mark.parametrize(("which", "label", "last"), [(0, "round", 126), (1, "time", 127)])
def test_a_film_plays_pauses_and_begins_anew(visit, which, label, last):
    _, box = stepper(visit, "Sparring")
    play, pause = (box.get_by_role("button", name=name) for name in ("Play", "Pause"))
    slider, line = box.get_by_role("slider", name=label, exact=True), box.locator(".play-said")
    spoken = "e => e.getAttribute('aria-live')"
    drag(box, label, last - 1)
    play.nth(which).click()
    pause.wait_for(state="detached")  # it stops at the end by itself
    assert slider.input_value() == str(last)
    play.nth(which).click()
    assert line.nth(which).evaluate(spoken) == "off" and int(slider.input_value()) < last - 1
    pause.click()
    stopped = slider.input_value()
    assert line.nth(which).evaluate(spoken) == "polite"
    box.page.wait_for_timeout(1500)
    assert slider.input_value() == stopped and pause.count() == 0


@pytest.mark.parametrize("name", ["bandit", "reductions", "steps"])
def test_without_scripts_there_is_a_picture(browser, name):
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(page_with(name).as_uri())
    still = tab.locator(f'[data-play="{name}"] .play-still').first
    assert still.is_visible() and len(still.get_attribute("aria-label")) > 40
    tab.close()


OLD = {
    "no kernels": "Object.defineProperty(window, 'duelingKernels', {value: null})",
    "no WebAssembly": "delete window.WebAssembly",
    "small modules only": "WebAssembly.Module = function () { throw new RangeError('4 KB') }",
}


@pytest.mark.parametrize("old", OLD)
def test_where_the_kernels_cannot_run_the_picture_stays(browser, old):
    for name in sorted(THINGS):
        tab = browser.new_page()
        heard = listen(tab, BOOK.as_uri())
        tab.add_init_script(OLD[old])
        tab.goto(page_with(name).as_uri(), wait_until="domcontentloaded")
        box = tab.locator(f'[data-play="{name}"]').first
        assert box.locator(".play-still").is_visible() and box.locator(".play-live").count() == 0
        assert heard == {"console": [], "outside": [], "failed": []}
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
    _, box = stepper(visit, "Sparring", reduced_motion="reduce")
    assert box.get_by_role("button", name="Next").count() == 1
    assert box.get_by_role("button", name="Play").count() == 0
    assert box.get_by_label("time").count() == 1


def test_a_card_of_the_front_page_answers_a_tap(visit):
    tab = visit("bandit", has_touch=True, is_mobile=True)
    assert Path(tab.url).name == "index.html"
    for card in (1, 4):
        tab.locator(".play-card").nth(card).tap()
        if card == 1:
            assert tab.locator(".play-card").nth(1).get_attribute("aria-pressed") == "true"
    assert "Round 1: B against E" in tab.inner_text(".play-said")


@pytest.mark.parametrize("name", sorted(THINGS))
def test_a_thing_to_play_is_small(name):
    """At most 100 KB besides what all of them share: the kernels, and what calls them."""
    shared = {"kernels.js", "duel.js", "board.js"}
    scripts = re.findall(r'src="[^"]*/play/([^"?]*)', page_with(name).read_text(encoding="utf-8"))
    own = set(scripts) - shared
    assert shared < set(scripts) and THINGS[name] in own
    folder = BOOK / "_static" / "play"
    assert sum((folder / file).stat().st_size for file in own | {"play.css"}) <= 100_000
