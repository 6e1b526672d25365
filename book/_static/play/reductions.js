/* The reductions, live: sliders, and the regret of many runs drawn as they come. The runs are those
   of `simulate` with the same seed; "Copy as Python" says which. */
"use strict";
(() => {
  const { COLOURS, LETTERS, choice, inPieces, make, mount, python, slider, speaker } = window.Board;
  const { doubling, play, quantile, regret, utilities } = window.Dueling;
  const VECTORS = {
    arith: [0.8, 0.7, 0.575, 0.45, 0.325, 0.2],
    "1good": [0.8, 0.2, 0.2, 0.2, 0.2, 0.2],
    "2good": [0.8, 0.7, 0.2, 0.2, 0.2, 0.2],
    "3good": [0.8, 0.7, 0.7, 0.2, 0.2, 0.2],
    geom: [0.8, 0.7, 0.512, 0.374, 0.274, 0.2],
  };
  const REDUCTIONS = ["Sparring", "MultiSBM", "Doubler", "Champion"];
  const HORIZONS = [1000, 2000, 4000, 8000, 16000, 32000];
  const RUNS = { UCB: 200, KLUCB: 40, Thompson: 40, TsallisINF: 40 }; // the others take longer
  const SEED = 2014;
  const LAST_BITS =
    "Over Tsallis-INF the last bits may differ: this page rounds powers otherwise than a computer’s library. " +
    "We compared 40 runs of 32000 duels in each of 20 settings: at most 2 of the 40 went another way, " +
    "the regret of a run changed by at most 50, a median by at most 10; up to round 4000 nothing did.";
  const LEGEND =
    "Lines: the median of the runs. Bands: the middle 80 % of them. ↑: a line that leaves the picture. " +
    "Each step on the axis of rounds doubles them.";
  const RULES =
    "Move a slider, and the runs are played anew in this page: less regret is better. " +
    "The sliders of the utilities say what the arms are worth.";
  const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [320, 46, 94, 30, 26];

  /* Theorem M and the corrected Corollary 3.3, in closed form (dueling.theory.bounds), and the
     corollary with the constant 2ca/(a + 1) of the printed Theorem 3.1 in place of 3c/(a + 1). */
  function bounds(mu, T, alpha) {
    const best = Math.max(...mu);
    const gaps = mu.map((m) => best - m).filter((gap) => gap > 0);
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    const beta = alpha + 2;
    const [H, all, K] = [sum(gaps.map((gap) => 1 / gap)), sum(gaps), mu.length];
    const nu = gaps.map((gap) => Math.ceil((8 * beta * Math.log(T)) / gap ** 2));
    const logs = (K - gaps.length) * Math.log(T) + sum(nu.map((n) => Math.log(1 + K * n)));
    const tails = sum(nu.map((n) => n ** -alpha));
    const multisbm =
      Math.max(...gaps) / 2 +
      8 * beta * H * logs +
      K * (1 + 2 / alpha) * all +
      (2 * K * tails) / alpha;
    const k = Math.floor(Math.log2(T + 2)) - 1;
    const Z = T + 2 - 2 ** (k + 1);
    const [lead, rest] = [4 * beta * H, ((1 + 2 / alpha) * all) / 2];
    const last = Z ? lead * Math.log(Z) + rest : 0;
    const doubler = 1 + 3 * ((lead * Math.log(2) * k * (k + 1)) / 2 + k * rest) + last;
    const printed = lead * Math.log(2) * Math.log2(T) ** 2; // 2 c a / (a + 1) with a = 1
    return { multisbm, doubler, printed };
  }

  class Live {
    constructor(box, map) {
      this.box = box;
      this.map = map;
      this.vector = "arith";
      this.mu = [...VECTORS.arith];
      Object.assign(this, { link: "linear", machine: "UCB", alpha: 3, scale: 4, T: 32000 });
      const { line, say } = speaker();
      this.say = say;
      this.chart = make("svg:svg", { role: "img", "aria-label": "Regret against rounds." });
      this.arms = make("div", { class: "play-grid" });
      this.table = make("tbody");
      this.lamps = make("p", { class: "play-lamps" });
      this.bound = make("p", { class: "play-bounds" });
      this.code = python();
      this.note = make("p", { class: "play-bounds" });
      const head = ["Algorithm", "median", "middle 80 %", "mean"].map((name) =>
        make("th", { scope: "col" }, name),
      );
      box.append(
        make("p", { class: "play-rules" }, make("b", {}, "The reductions, live. "), RULES),
        make(
          "div",
          { class: "play-stage" },
          make("div", { class: "play-chart" }, this.chart),
          make("p", { class: "play-note" }, LEGEND),
          this.controls(),
        ),
        line,
        make(
          "table",
          { class: "play-table" },
          make("thead", {}, make("tr", {}, ...head)),
          this.table,
        ),
        this.lamps,
        ...(map.length ? [this.drawMap()] : []),
        this.bound,
        this.code.box,
        this.note,
      );
      this.showArms();
      this.start();
    }

    controls() {
      const set = (name) => (value) => this.change({ [name]: value });
      const horizon = slider("rounds T", {
        min: 0,
        max: HORIZONS.length - 1,
        step: 1,
        value: HORIZONS.length - 1,
        shown: (i) => String(HORIZONS[i]),
        input: (i) => this.change({ T: HORIZONS[i] }),
      });
      this.count = slider("arms K", {
        min: 2,
        max: 8,
        step: 1,
        value: 6,
        input: (K) => this.resize(K),
      });
      this.caution = slider("UCB’s α", {
        min: -1,
        max: 4,
        step: 0.5,
        value: 3,
        input: set("alpha"),
      });
      this.vectors = choice("utilities", [...Object.keys(VECTORS), "own"], "arith", (name) =>
        this.take(name),
      );
      return make(
        "div",
        {},
        make(
          "div",
          { class: "play-grid" },
          this.vectors,
          choice("link", ["linear", "natural", "logit"], this.link, set("link")),
          choice(
            "machine",
            ["UCB", "KLUCB", "Thompson", "TsallisINF"],
            this.machine,
            set("machine"),
          ),
          this.count,
          this.caution,
          slider("IF’s c", { min: 0.5, max: 4, step: 0.5, value: 4, input: set("scale") }),
          horizon,
        ),
        this.arms,
      );
    }

    take(name) {
      if (name === "own") return;
      this.mu = [...VECTORS[name]];
      this.vector = name;
      this.setCount(6);
      this.showArms();
      this.start();
    }

    setCount(K) {
      this.count.querySelector("input").value = K;
      this.count.querySelector("output").textContent = K;
    }

    resize(K) {
      while (this.mu.length < K) this.mu.push(0.2);
      this.mu.length = K;
      this.showArms();
      this.own();
    }

    own() {
      this.vector = "own";
      this.vectors.querySelector("select").value = "own";
      this.start();
    }

    showArms() {
      const one = (value, x) =>
        slider(`utility of ${LETTERS[x]}`, {
          min: 0.05,
          max: 1,
          step: 0.025,
          value,
          shown: (v) => String(+v.toFixed(3)),
          input: (v) => {
            this.mu[x] = +v.toFixed(3);
            this.own();
          },
        });
      this.arms.replaceChildren(...this.mu.map(one));
    }

    change(values) {
      Object.assign(this, values);
      this.start();
    }

    get runs() {
      return RUNS[this.machine];
    }

    get name() {
      return this.vector === "own" ? "play" : `${this.vector}/${this.link}`;
    }

    /* The kernels to run, with what each is told; the paper's baselines come last. */
    players() {
      const settings = this.machine === "UCB" ? { alpha: this.alpha } : {};
      const reductions = REDUCTIONS.map((name) => [name, `${name}(${this.machine})`, settings]);
      return [...reductions, ["IF", "IF", { scale: this.scale }], ["BTMB", "BTMB", {}]];
    }

    start() {
      this.scenario = utilities(this.mu, this.link, this.name);
      this.checkpoints = doubling(this.T);
      this.curves = Object.fromEntries(this.players().map(([name]) => [name, []]));
      this.code.show(this.python());
      this.caution.querySelector("input").disabled = this.machine !== "UCB";
      this.note.textContent = this.machine === "TsallisINF" ? LAST_BITS : "";
      this.showBounds();
      this.moveDot();
      this.began = performance.now();
      this.box.dataset.done = "false";
      this.say(""); // what was said of other settings
      inPieces(this.box, this.steps(), (done) => this.show(done));
    }

    *steps() {
      const [reductions, rest] = [this.players().slice(0, 4), this.players().slice(4)];
      for (const group of [reductions, rest]) {
        for (let run = 0; run < this.runs; run++) {
          for (const [name, kernel, settings] of group) {
            const asked = { T: this.T, seed: SEED, run, ...settings };
            this.curves[name].push(regret(this.scenario, play(this.scenario, kernel, asked)));
            yield;
          }
        }
        if (group === reductions)
          this.box.dataset.milliseconds = Math.round(performance.now() - this.began);
      }
    }

    /* The median, the 10 % and 90 % quantiles and the mean of an algorithm, at each checkpoint. */
    summary(name) {
      const runs = this.curves[name];
      return this.checkpoints.map((_, c) => {
        const values = runs.map((curve) => curve[c]);
        const mean = values.reduce((a, b) => a + b, 0) / values.length;
        return {
          low: quantile(values, 0.1),
          mid: quantile(values, 0.5),
          high: quantile(values, 0.9),
          mean,
        };
      });
    }

    show(done) {
      const now = performance.now();
      if (!done && now - (this.shown ?? 0) < 120) return;
      this.shown = now;
      const names = Object.keys(this.curves).filter((name) => this.curves[name].length);
      const summaries = Object.fromEntries(names.map((name) => [name, this.summary(name)]));
      this.draw(summaries);
      const ends = names
        .map((name) => [name, summaries[name].at(-1)])
        .sort((a, b) => a[1].mid - b[1].mid);
      const cell = (text) => make("td", {}, text);
      this.table.replaceChildren(
        ...ends.map(([name, { low, mid, high, mean }]) =>
          make(
            "tr",
            { "data-name": name },
            cell(name),
            cell(mid.toFixed(1)),
            cell(`${low.toFixed(0)} to ${high.toFixed(0)}`),
            cell(mean.toFixed(1)),
          ),
        ),
      );
      const finished = this.curves.BTMB.length === this.runs;
      this.box.dataset.done = String(finished);
      if (!finished) return;
      this.showLamps(Object.fromEntries(ends.map(([name, { mean }]) => [name, mean])));
      const order = ends.map(([name, { mid }]) => `${name} ${mid.toFixed(0)}`).join(", ");
      this.say(
        `${this.runs} runs of ${this.T} duels each on ${this.vector === "own" ? "your utilities" : this.name}. Median regret, least first: ${order}.`,
      );
      this.chart.setAttribute("aria-label", `Regret against rounds. ${order} at round ${this.T}.`);
    }

    /* How far the runs have come, until they are all played. */
    progress() {
      const played = Object.values(this.curves).reduce((sum, runs) => sum + runs.length, 0);
      const all = this.runs * Object.keys(this.curves).length;
      return played < all ? `, after ${Math.floor((100 * played) / all)} % of the runs` : "";
    }

    draw(summaries) {
      // A narrow box has a narrow picture; before the first one it has no width yet.
      const WIDTH = Math.min(640, this.box.clientWidth || innerWidth - 60);
      this.chart.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
      const top = round(
        Math.max(
          1,
          ...Object.entries(summaries)
            .filter(([name]) => name !== "BTMB")
            .flatMap(([, s]) => s.at(-1).high),
        ),
      );
      const last = this.checkpoints.length - 1;
      const x = (c) =>
        LEFT +
        ((WIDTH - LEFT - RIGHT) * Math.log2(this.checkpoints[c])) /
          Math.log2(this.checkpoints[last]);
      const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / top;
      const parts = [0, 0.5, 1].map((share) =>
        label(LEFT - 6, y(share * top) + 5, +(share * top).toFixed(2), "end"),
      );
      parts.push(make("svg:path", { d: `M${LEFT},${TOP - 6}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}` }));
      parts.push(label(0, 14, `Regret${this.progress()}`, "start"));
      parts.push(label(WIDTH - RIGHT + 30, HEIGHT - 8, "rounds", "start"));
      for (const c of [0, Math.floor(last / 2), last])
        parts.push(label(x(c), HEIGHT - 8, this.checkpoints[c], "middle"));
      const [inside, frame] = [make("svg:g", { "clip-path": "url(#play-frame)" }), { x: LEFT, y: TOP - 8 }];
      const size = { width: WIDTH - LEFT - RIGHT + 2, height: HEIGHT - BOTTOM - TOP + 10 };
      parts.push(make("svg:clipPath", { id: "play-frame" }, make("svg:rect", { ...frame, ...size })));
      parts.push(inside);
      let lowest = HEIGHT;
      const ends = Object.entries(summaries).sort((a, b) => a[1].at(-1).mid - b[1].at(-1).mid);
      for (const [name, points] of ends) {
        const line = (key) => points.map((p, c) => `${x(c).toFixed(1)},${y(p[key]).toFixed(1)}`);
        const colour = COLOURS[name];
        const band = [...line("low"), ...line("high").reverse()].join(" ");
        inside.append(
          make("svg:polygon", { points: band, fill: colour, "fill-opacity": 0.15, stroke: "none" }),
          make("svg:polyline", { points: line("mid").join(" "), stroke: colour }),
        );
        lowest = Math.min(lowest - 16, y(Math.min(points.at(-1).mid, top)) + 5);
        const mark = make("svg:rect", {
          x: WIDTH - RIGHT + 6,
          y: lowest - 9,
          width: 8,
          height: 8,
          fill: colour,
          stroke: "none",
        });
        const beyond = points.at(-1).mid > top ? " ↑" : "";
        parts.push(mark, label(WIDTH - RIGHT + 18, lowest, name + beyond, "start"));
      }
      this.chart.replaceChildren(...parts);
    }

    showLamps(mean) {
      const others = ["MultiSBM", "Doubler", "IF", "BTMB"];
      const worst = Math.max(mean.IF, mean.MultiSBM);
      const rules = [
        [
          "R1",
          "Sparring is best of the paper’s five",
          others.every((name) => mean.Sparring < mean[name]),
        ],
        ["R2", "IF and MultiSBM come next", worst < mean.Doubler && worst < mean.BTMB],
        ["R3", "MultiSBM beats IF", mean.MultiSBM < mean.IF],
      ];
      this.lamps.replaceChildren(
        ...rules.map(([name, says, holds]) =>
          make(
            "span",
            { class: holds ? "play-lamp is-on" : "play-lamp" },
            `${holds ? "✓" : "✗"} ${name}: ${says}`,
          ),
        ),
      );
    }

    /* The shade of a setting is the least of its three counts: in no more scenarios do all hold. */
    drawMap() {
      const [alphas, scales] = [0, 1].map((i) => [...new Set(this.map.map((row) => row[i]))]);
      const cells = this.map.map(([a, c, ...held]) => {
        const at = { x: 40 + 44 * scales.indexOf(c), y: 8 + 24 * alphas.indexOf(a) };
        const fill = make("svg:rect", {
          ...at,
          width: 42,
          height: 22,
          class: "play-cell",
          "fill-opacity": Math.min(...held) / 24,
        });
        return make("svg:g", {}, fill, label(at.x + 21, at.y + 16, held.join("·"), "middle"));
      });
      const rows = alphas.map((a, i) => label(34, 24 + 24 * i, a, "end"));
      const columns = scales.map((c, i) =>
        label(61 + 44 * i, 24 * alphas.length + 22, c, "middle"),
      );
      this.dot = make("svg:rect", { width: 44, height: 24, class: "play-dot", rx: 3 });
      this.at = { alphas, scales };
      const size = `0 0 ${44 + 44 * scales.length} ${24 * alphas.length + 30}`;
      const about =
        "In how many of 16 scenarios R1, R2 and R3 hold, by α (rows) and IF’s c (columns); the frame is the setting of the sliders.";
      const drawn = make(
        "svg:svg",
        { viewBox: size, role: "img", "aria-label": about, class: "play-map" },
        ...rows,
        ...columns,
        ...cells,
        this.dot,
      );
      return make("figure", {}, drawn, make("figcaption", {}, about));
    }

    moveDot() {
      if (!this.dot) return;
      this.dot.style.display = this.machine === "UCB" ? "" : "none"; // the map is one of UCB
      const near = (values, value) =>
        values.reduce(
          (best, v, i) => (Math.abs(v - value) < Math.abs(values[best] - value) ? i : best),
          0,
        );
      this.dot.setAttribute("x", 39 + 44 * near(this.at.scales, this.scale));
      this.dot.setAttribute("y", 7 + 24 * near(this.at.alphas, this.alpha));
    }

    showBounds() {
      const distinct = new Set(this.mu).size > 1;
      const fits = this.machine === "UCB" && this.link === "linear" && this.alpha > 0 && distinct;
      if (!fits) {
        this.bound.textContent =
          "The theorems speak of UCB with α > 0, of the linear link, and of arms that differ.";
        return;
      }
      const { multisbm, doubler, printed } = bounds(this.mu, this.T, this.alpha);
      const n = (value) => value.toFixed(0);
      this.bound.textContent =
        `Proved for these utilities: MultiSBM at most ${n(multisbm)} (Theorem M), Doubler at most ${n(doubler)} ` +
        "(Theorem D). As printed: for MultiSBM the print gives no constant, only an order (Theorem 4.2); " +
        `for Doubler, with the constant of Theorem 3.1, the leading term is ${n(printed)}.`;
    }

    python() {
      const mu = `[${this.mu.join(", ")}]`;
      const own = this.vector === "own";
      const scenario = own ? `Utilities(${mu}, ${this.link}, name="play")` : `"${this.name}"`;
      const machine = this.machine === "UCB" ? `UCB, alpha=${this.alpha}` : this.machine;
      const lines = [
        ...REDUCTIONS.map((name) => `    ${name}(${machine}),`),
        `    IF(scale=${this.scale}),`,
        "    BTMB(),",
      ];
      return [
        `from dueling import BTMB, IF, ${this.machine}, Champion, Doubler, MultiSBM, Sparring, simulate`,
        ...(own ? [`from dueling import Utilities, ${this.link}`] : []),
        "",
        `scenario = ${scenario}`,
        "algorithms = [",
        ...lines,
        "]",
        "for algorithm in algorithms:",
        `    result = simulate(scenario, algorithm, T=${this.T}, runs=${this.runs}, seed=${SEED})`,
        "    print(algorithm, result.quantile(0.5)[-1].round(1), result.mean()[-1].round(1))",
      ].join("\n");
    }
  }

  /* The next number that is half of a power of ten times a whole one. */
  function round(n) {
    const half = 10 ** Math.floor(Math.log10(n)) / 2;
    return half * Math.ceil(n / half);
  }

  function label(x, y, text, anchor) {
    return make("svg:text", { x, y, "text-anchor": anchor }, String(text));
  }

  window.Board.bounds = bounds;
  mount("reductions", (box, { map }) => new Live(box, JSON.parse(map || "[]")));
})();
