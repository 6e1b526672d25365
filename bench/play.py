"""How soon a built page can be played: python bench/play.py, after make book.

When the first live picture is painted, all 200 runs of 32,000 duels of the four reductions, and one
run of each kernel. Of the first and the last it is the least of some, which another load of the
machine hides less.
"""

from pathlib import Path

from edition.release.browser import launched

BOOK = Path(__file__).parents[1] / "_build" / "html"
LEAST = """() => Object.keys(duelingKernels.algorithms).map(name => {
  const mu = [0.8, 0.7, 0.575, 0.45, 0.325, 0.2];
  const where = Dueling.utilities(mu, 'linear', 'arith/linear');
  let least = Infinity;
  for (let run = 0; run < 30; run++) {
    const start = performance.now();
    Dueling.regret(where, Dueling.play(where, name, {T: 32000, seed: 2014, run}));
    least = Math.min(least, performance.now() - start);
  }
  return [name, least];
})"""
VISITS = 8
SEEN = """() => ['play-first', 'first-contentful-paint']
  .map(name => performance.getEntriesByName(name)[0]?.startTime)"""
DONE = "() => document.querySelector('[data-play=reductions] .play-live')?.dataset.milliseconds"


def main():
    mark = 'data-play="reductions"'
    page = next(p for p in sorted(BOOK.rglob("*.html")) if mark in p.read_text(encoding="utf-8"))
    with launched() as browser:
        first = []
        for _ in range(VISITS):
            tab = browser.new_page()
            tab.set_default_timeout(120_000)
            tab.goto(page.as_uri(), wait_until="commit")
            tab.wait_for_function(f"() => ({SEEN})().every(time => time)")
            first.append(tab.evaluate(SEEN))
            if len(first) < VISITS:
                tab.close()
        picture, page = min(first)
        print(f"the page is painted {page:.0f} ms after it was asked for, the first live picture")
        print(f"at {picture:.0f} ms, at the best of {VISITS} visits")
        tab.wait_for_function(DONE)
        print(f"200 runs of the four reductions {int(tab.evaluate(DONE))} ms")
        for name, least in tab.evaluate(LEAST):
            print(f"{name:22} {least:6.2f} ms a run of 32,000 duels")


if __name__ == "__main__":
    main()
