/* Step through it: one run of a reduction over UCB, round by round. What is shown at round t is what
   the kernel leaves in memory when the same run ends at t, so that no algorithm is written twice. */
"use strict";
(() => {
  const { LETTERS, choice, make, mount, slider, speaker, still } = window.Board;
  const { play, regret, utilities } = window.Dueling;
  const ARITH = [0.8, 0.7, 0.575, 0.45, 0.325, 0.2];
  const GOOD = [0.8, 0.2, 0.2, 0.2, 0.2, 0.2];
  const [ROUNDS, SEED, ALPHA] = [126, 2014, 3]; // 126 = 2 + 4 + ... + 64: six epochs of Doubler

  const GAME =
    `Arm A is best: A to F are worth ${ARITH.join(", ")}. Above stand the left arms, below the right arms, ` +
    "the preferred one is filled. The right arm wins with chance one half plus half its lead.";

  /* The number of the epoch that holds round t >= 1, its first round, and its length. */
  const EPOCHS = {
    Doubler: (t) => epoch(t, 1),
    Champion: (t) => epoch(t, 0),
  };
  function epoch(t, first) {
    let [i, start] = [first, 1];
    while (start + 2 ** i <= t) {
      start += 2 ** i;
      i += 1;
    }
    return { i, start, length: 2 ** i };
  }

  /* What each algorithm does with the outcome, and the step of the proof that the moment shows. */
  const TELL = {
    Doubler: ({ t, x, y, b }) => {
      const { i, start, length } = epoch(t, 1);
      const fresh =
        t === start ? `Epoch ${i} begins: ${length} rounds, a machine that knows nothing. ` : "";
      const step =
        i === 1
          ? "Theorem D, step 3: nothing precedes the first epoch, so the bag holds one arm, whichever it is."
          : t === start
            ? "Theorem D, step 2: the left arm is drawn from the bag of the last epoch, so it costs what the right arms cost there."
            : "Theorem D, step 1: inside an epoch the bag stands still, and the outcome is a reward.";
      return `${fresh}The left arm ${x} comes out of the bag, the machine answers ${y}, and is fed ${b}. ${y} goes into the next bag. ${step}`;
    },
    MultiSBM: ({ x, y, b }) => {
      const step =
        x === "A"
          ? "Theorem M, step 3: the best arm’s own machine may be old, and is a good bandit."
          : "Theorem M, step 4: a bad arm’s machine moves only after some machine played that arm, so it stays young.";
      return `The machine of ${x} answers ${y} and is fed ${b}. ${y} is the next left arm. ${step}`;
    },
    Champion: ({ t, x, y, b }) => {
      const { i, start, length } = epoch(t, 0);
      const fresh =
        t === start ? `Epoch ${i} begins: for ${length} rounds ${x} stands on the left. ` : "";
      const step =
        x === "A"
          ? "While the best arm stands, only its challengers cost anything (Theorem C)."
          : "A wrong champion stands: Theorem C, step 3, says how seldom that is.";
      return `${fresh}The machine of ${x} sends ${y} and is fed ${b}; the arm sent most often stands next. ${step}`;
    },
    Sparring: ({ x, y, b }) =>
      `The left machine sends ${x} and is fed ${1 - b}; the right one sends ${y} and is fed ${b}. ` +
      together(x, y),
  };

  /* Sparring's step: both machines right, one of them wrong, or both. A bad arm rises against an arm
     of more than half its gap (Exercise 4 of the chapter). */
  function together(x, y) {
    if (x === "A" && y === "A")
      return (
        "Proposition “Successive Elimination”, step 3: an arm against itself is a fair coin, whatever the arm; " +
        "this one costs nothing and teaches nothing, and both machines count it."
      );
    const gap = (name) => ARITH[0] - ARITH[LETTERS.indexOf(name)];
    if (x === "A" || y === "A")
      return (
        `Lemma “Identity”, step 1: the opponent cancels. The side that sent ${x === "A" ? y : x} regrets half ` +
        `its gap, ${+(gap(x) + gap(y)).toFixed(3)} / 2, the other nothing, and the duel costs their sum.`
      );
    const rising = [...new Set([x, y])].filter((name) => gap(name === x ? y : x) > gap(name) / 2);
    const coin =
      x === y ? "both sides err alike, and a fair coin does not tell them" : "both sides err";
    return (
      `Observation “Drift”: ${coin}. Late in a game such a duel raises the index of ` +
      `${rising.join(" and of ")} on average: nobody plays A, and nobody learns it.`
    );
  }

  /* A button that shows moment after moment; after the last one it begins anew. Screen readers are
     told where it stops, not all it passes. */
  function film(line, { every, first, last, now, show }) {
    let timer;
    const toggle = () => {
      timer = timer ? clearInterval(timer) : setInterval(advance, every);
      button.textContent = timer ? "Pause" : "Play";
      line.setAttribute("aria-live", timer ? "off" : "polite");
    };
    const advance = () => {
      show(Math.min(last, now() + 1));
      if (now() === last) toggle();
    };
    const start = () => {
      if (!timer && now() === last) show(first);
      toggle();
    };
    const button = make("button", { type: "button", class: "play-button", onclick: start }, "Play");
    return still() ? [] : [button];
  }

  class Stepper {
    constructor(box, algorithm) {
      this.box = box;
      this.t = 1;
      const { line, say } = speaker();
      this.say = say;
      this.strip = make("svg:svg", { role: "img" });
      this.bars = make("div", { class: "play-panels" });
      this.scrub = slider("round", {
        min: 1,
        max: ROUNDS,
        step: 1,
        value: 1,
        input: (t) => this.show(t),
      });
      const button = (name, act) =>
        make("button", { type: "button", class: "play-button", onclick: act }, name);
      this.epoch = button("Skip epoch", () => {
        const { start, length } = EPOCHS[this.algorithm](this.t);
        this.show(Math.min(ROUNDS, start + length));
      });
      const every = { every: 700, first: 1, last: ROUNDS };
      const moments = { ...every, now: () => this.t, show: (t) => this.show(t) };
      const names = algorithm.split(" ");
      const pick =
        names.length > 1 ? [choice("algorithm", names, names[0], (name) => this.take(name))] : [];
      box.append(
        ...pick,
        make("p", { class: "play-rules" }, make("b", {}, "Step through it. "), GAME),
        this.strip,
        make(
          "div",
          { class: "play-scrub" },
          button("Back", () => this.show(Math.max(1, this.t - 1))),
          button("Next", () => this.show(Math.min(ROUNDS, this.t + 1))),
          ...film(line, moments),
          this.epoch,
          this.scrub,
        ),
        line,
        this.bars,
      );
      this.take(names[0]);
    }

    take(algorithm) {
      this.algorithm = algorithm;
      this.epoch.hidden = !EPOCHS[algorithm];
      this.scenario = utilities(ARITH, "linear", "arith/linear");
      const { order, played } = this.run(ROUNDS);
      this.order = order;
      this.log = played
        .read(-1, "log")
        .map((code) => [Math.floor(code / 6) % 6, code % 6, Math.floor(code / 36)]);
      let lost = 0;
      const { gaps } = this.scenario;
      this.lost = this.log.map(([x, y]) => (lost += (gaps[order[x]] + gaps[order[y]]) / 2));
      this.show(1);
    }

    run(T) {
      const settings = { T, L: T, seed: SEED, run: 0, checkpoints: [T], alpha: ALPHA };
      return play(this.scenario, `${this.algorithm}(UCB)`, settings);
    }

    arm(x) {
      return LETTERS[this.order[x]];
    }

    show(t) {
      this.t = t;
      const range = this.scrub.querySelector("input");
      [range.value, this.scrub.querySelector("output").textContent] = [t, t];
      range.setAttribute("aria-valuetext", `round ${t}`);
      const [x, y, b] = this.log[t - 1];
      const chance = this.scenario.P[this.order[x]][this.order[y]];
      const told = TELL[this.algorithm]({ t, x: this.arm(x), y: this.arm(y), b });
      const coin = `Round ${t}: ${this.arm(x)} against ${this.arm(y)}, a coin that shows ${this.arm(y)} with chance ${chance.toFixed(2)}; ${this.arm(b ? y : x)} is preferred.`;
      this.say(`${coin} Regret so far ${this.lost[t - 1].toFixed(2)}. ${told}`);
      this.drawStrip();
      this.drawMachines(x);
    }

    /* The last rounds: above the left arm, below the right one, the preferred one filled. */
    drawStrip() {
      // A narrow box shows fewer of them; before it stands in the page it has no width yet.
      const room = this.box.clientWidth || innerWidth - 60;
      const shown = Math.min(14, Math.floor((room - 10) / 30));
      const from = Math.max(0, this.t - shown);
      const parts = [];
      const cell = (i, at, arm, won) => {
        parts.push(
          make("svg:rect", {
            x: 8 + 30 * i,
            y: at,
            width: 24,
            height: 34,
            rx: 4,
            class: won ? "filled" : "",
          }),
        );
        parts.push(
          make("svg:text", { x: 20 + 30 * i, y: at + 22, "text-anchor": "middle" }, this.arm(arm)),
        );
      };
      this.log.slice(from, this.t).forEach(([x, y, b], i) => {
        const rule = EPOCHS[this.algorithm]?.(from + i + 1);
        if (rule?.start === from + i + 1)
          parts.push(make("svg:path", { d: `M${5 + 30 * i},2V98`, class: "play-epoch" }));
        cell(i, 6, x, !b);
        cell(i, 46, y, b);
        parts.push(
          make(
            "svg:text",
            { x: 20 + 30 * i, y: 95, "text-anchor": "middle", class: "play-small" },
            String(from + i + 1),
          ),
        );
      });
      this.strip.setAttribute("viewBox", `0 0 ${10 + 30 * shown} 100`);
      this.strip.setAttribute(
        "aria-label",
        "The last rounds: the left arms above the right arms, the preferred ones filled.",
      );
      this.strip.replaceChildren(...parts);
    }

    /* The machines that moved in this round, after their feedback, and Doubler's two bags. */
    drawMachines(x) {
      const bag = this.algorithm === "Doubler" ? this.bag() : null; // another run, which must end first
      const { played } = this.run(this.t);
      const machine = (part, item) => ({
        mean: played.read(part, "mean", item),
        narrow: played.read(part, "narrow", item),
        clock: played.read(part, "t", item),
      });
      const panels = {
        Sparring: () => [
          this.indices("left machine", machine(0, 0)),
          this.indices("right machine", machine(1, 0)),
        ],
        MultiSBM: () => [this.indices(`machine of ${this.arm(x)}`, machine(0, x))],
        Champion: () => [
          this.indices(`machine of ${this.arm(x)}`, machine(0, x)),
          this.tally("sent in this epoch", this.sent()),
        ],
        Doubler: () => [
          this.indices("the machine", machine(0, 0)),
          this.tally("the bag in use", bag),
          this.tally("the next bag", played.read(1, "counts")),
        ],
      };
      this.bars.replaceChildren(...panels[this.algorithm]());
    }

    /* The bag of an epoch is what the same run holds when it ends with the epoch before. */
    bag() {
      const { i, start } = epoch(this.t, 1);
      return i === 1 ? [1, 0, 0, 0, 0, 0] : this.run(start - 1).played.read(1, "counts");
    }

    sent() {
      const counts = Array(6).fill(0);
      for (const [, y] of this.log.slice(epoch(this.t, 0).start - 1, this.t)) counts[y] += 1;
      return counts;
    }

    indices(title, { mean, narrow, clock }) {
      const width = Math.sqrt(((ALPHA + 2) * Math.log(clock)) / 2);
      const rows = this.sorted((x) => {
        const [m, bonus] = [mean[x], width * narrow[x]];
        if (!Number.isFinite(m)) return ["not tried yet", 0, 100];
        return [`${m.toFixed(2)} + ${bonus.toFixed(2)}`, 25 * m, 25 * Math.min(3, bonus)];
      });
      return panel(`${title}: mean + bonus`, rows);
    }

    tally(title, counts) {
      const all = Math.max(
        1,
        counts.reduce((a, b) => a + b, 0),
      );
      return panel(
        title,
        this.sorted((x) => [String(counts[x]), (100 * counts[x]) / all, 0]),
      );
    }

    sorted(row) {
      return this.order
        .map((arm, x) => [LETTERS[arm], ...row(x)])
        .sort((a, b) => (a[0] < b[0] ? -1 : 1));
    }
  }

  function panel(title, rows) {
    const bars = rows.map(([name, text, solid, light]) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, name),
        make(
          "td",
          {},
          make("i", { style: `width:${solid}%` }),
          make("i", { class: "is-light", style: `width:${light}%` }),
        ),
        make("td", {}, text),
      ),
    );
    return make(
      "table",
      { class: "play-bars" },
      make("caption", {}, title),
      make("tbody", {}, ...bars),
    );
  }

  function text(x, y, words, anchor) {
    return make("svg:text", { x, y, "text-anchor": anchor, class: "play-axis" }, String(words));
  }

  /* The film of a relapse: a long run of Sparring on 1good, whose number the chapter found. */
  class Relapse {
    constructor(box, run) {
      const frames = 128;
      const T = 2 ** 16;
      const checkpoints = Array.from({ length: frames }, (_, i) => ((i + 1) * T) / frames);
      this.scenario = utilities(GOOD, "linear", "1good/linear");
      this.found = play(this.scenario, "Sparring(UCB)", {
        T,
        seed: SEED,
        run,
        checkpoints,
        alpha: ALPHA,
      });
      this.curve = regret(this.scenario, this.found);
      const { line, say } = speaker();
      this.say = say;
      this.picture = make("svg:svg", { viewBox: "0 0 430 150", role: "img" });
      this.map = make("svg:svg", { viewBox: "0 0 200 150", role: "img", class: "play-pairs" });
      this.scrub = slider("time", {
        min: 0,
        max: frames - 1,
        step: 1,
        value: 0,
        shown: (i) => String(checkpoints[i]),
        input: (i) => this.show(i),
      });
      const head = make(
        "p",
        {},
        `The film of a relapse: run ${run} of Sparring on 1good, ${T} rounds. The curve is the regret. ` +
          `The squares are the pairs of the last ${T / frames} rounds, left arms by rows, right arms by columns; ` +
          "the stronger the colour, the more often they met.",
      );
      const every = { every: 150, first: 0, last: frames - 1 };
      const moments = { ...every, now: () => this.i, show: (i) => this.show(i) };
      box.append(
        head,
        make("div", { class: "play-panels" }, this.picture, this.map),
        make(
          "div",
          { class: "play-scrub", role: "group", "aria-label": "The film of a relapse" },
          ...film(line, moments),
          this.scrub,
        ),
        line,
      );
      this.show(0);
    }

    window(i) {
      const { history, order } = this.found;
      const pairs = Array.from({ length: 6 }, () => Array(6).fill(0));
      for (let code = 0; code < 72; code++) {
        const before = i ? history[72 * (i - 1) + code] : 0;
        pairs[order[Math.floor(code / 6) % 6]][order[code % 6]] += history[72 * i + code] - before;
      }
      return pairs;
    }

    show(i) {
      this.i = i;
      const { checkpoints } = this.found;
      const range = this.scrub.querySelector("input");
      [range.value, this.scrub.querySelector("output").textContent] = [i, checkpoints[i]];
      range.setAttribute("aria-valuetext", String(checkpoints[i]));
      const top = this.curve.at(-1);
      const points = this.curve.map(
        (value, c) => `${50 + (370 * c) / 127},${132 - (120 * value) / top}`,
      );
      const [cx, cy] = points[i].split(",");
      this.picture.replaceChildren(
        make("svg:polyline", { points: points.join(" "), "stroke-opacity": 0.3 }),
        make("svg:polyline", { points: points.slice(0, i + 1).join(" "), stroke: "#0072B2" }),
        make("svg:path", { d: "M50,12V132H420" }),
        text(44, 16, top.toFixed(0), "end"),
        text(44, 136, 0, "end"),
        text(56, 10, "regret", "start"),
        text(420, 148, `${checkpoints.at(-1)} rounds`, "end"),
        make("svg:circle", { cx, cy, r: 4, class: "filled" }),
      );
      this.picture.setAttribute(
        "aria-label",
        `Regret so far ${this.curve[i].toFixed(0)}, at the end ${top.toFixed(0)}.`,
      );
      const pairs = this.window(i);
      const each = checkpoints[0];
      const cells = pairs.flatMap((row, x) =>
        row.map((n, y) =>
          make("svg:rect", {
            x: 30 + 22 * y,
            y: 16 + 22 * x,
            width: 20,
            height: 20,
            class: "play-cell",
            "fill-opacity": n / each,
          }),
        ),
      );
      const names = [...Array(6).keys()].flatMap((x) => [
        make(
          "svg:text",
          { x: 40 + 22 * x, y: 12, "text-anchor": "middle", class: "play-small" },
          LETTERS[x],
        ),
        make(
          "svg:text",
          { x: 22, y: 31 + 22 * x, "text-anchor": "end", class: "play-small" },
          LETTERS[x],
        ),
      ]);
      this.map.replaceChildren(...names, ...cells);
      this.map.setAttribute(
        "aria-label",
        "Which pairs met in these rounds: the left arm by rows, the right arm by columns.",
      );
      const without = pairs
        .slice(1)
        .reduce((sum, row) => sum + row.slice(1).reduce((a, b) => a + b, 0), 0);
      const share = Math.round((100 * without) / each);
      this.say(
        `Rounds ${checkpoints[i] - each + 1} to ${checkpoints[i]}: the best arm A was on neither side in ${share} % of them. Regret so far ${this.curve[i].toFixed(0)}.`,
      );
    }
  }

  mount("steps", (box, { algorithm, run }) => {
    new Stepper(box, algorithm || "Sparring");
    if (!run) return;
    box.append(make("hr"));
    new Relapse(box, Number(run));
  });
})();
