/* Be the bandit: twenty duels between covered cards, then the cards turn. The four reductions play
   the same game on the same random numbers, as `simulate(..., runs=1, seed=...)` does, and go on. */
"use strict";
(() => {
  const { LETTERS, make, mount, python, speaker } = window.Board;
  const { PCG64, crc32, play, regret, utilities } = window.Dueling;
  const [ROUNDS, LATER] = [20, 2000];
  const MU = [0.8, 0.7, 0.575, 0.45, 0.325, 0.2];
  const REDUCTIONS = ["Sparring", "MultiSBM", "Doubler", "Champion"];
  const RULES =
    "Each card hides a utility. Twenty times, pick two, and you are told which one is preferred. " +
    "Then the cards turn. What your pairs lack to the best card is your regret: keep it small.";

  /* Gaps are multiples of 1/80: four digits say all, and Python rounds them alike. */
  const exact = (sum) => String(Number(sum.toFixed(4)));

  class Round {
    constructor(box, seed) {
      this.box = box;
      this.seed = seed;
      this.scenario = utilities(MU, "linear", "arith/linear");
      this.rng = new PCG64(seed, [crc32(this.scenario.name), 0]);
      this.order = this.rng.permutation(MU.length);
      this.wins = MU.map(() => MU.map(() => 0)); // wins[x][y]: how often x was preferred to y
      this.lost = 0;
      this.t = 0;
      this.first = null;
      this.draw();
    }

    draw() {
      const { line, say } = speaker();
      this.say = say;
      this.cards = MU.map((_, x) =>
        make(
          "button",
          {
            type: "button",
            class: "play-card",
            "aria-pressed": "false",
            onclick: () => this.pick(x),
          },
          make("b", {}, LETTERS[x]),
          make("span", { class: "play-tally" }, "no duel yet"),
        ),
      );
      this.after = make("div");
      const again = make(
        "button",
        { type: "button", class: "play-button", onclick: () => this.renew() },
        "New cards",
      );
      this.box.replaceChildren(
        make("p", { class: "play-rules" }, make("b", {}, "Be the bandit. "), RULES),
        make(
          "div",
          { class: "play-cards", role: "group", "aria-label": "Six covered cards" },
          ...this.cards,
        ),
        line,
        this.after,
        again,
      );
      this.box.dataset.seed = this.seed;
      say(`Game ${this.seed}, round 1 of ${ROUNDS}: pick two cards.`);
    }

    renew() {
      new Round(this.box, this.seed + 1);
      this.box.querySelector("button").focus();
    }

    pick(x) {
      if (this.t === ROUNDS) return;
      if (this.first === null) {
        this.first = x;
        this.cards[x].setAttribute("aria-pressed", "true");
        this.say(
          `Round ${this.t + 1} of ${ROUNDS}. ${LETTERS[x]} against which? The same card again loses its whole distance to the best, and teaches nothing.`,
        );
        return;
      }
      this.duel(this.first, x);
      this.first = null;
    }

    duel(x, y) {
      const { P, gaps } = this.scenario;
      const [a, b] = [this.order[x], this.order[y]];
      const won = this.rng.random() < P[a][b] ? y : x;
      this.lost += (gaps[a] + gaps[b]) / 2;
      this.t += 1;
      if (x !== y) this.wins[won][won === x ? y : x] += 1;
      this.cards.forEach((card, i) => {
        card.setAttribute("aria-pressed", "false");
        card.classList.toggle("is-winner", i === won);
        const [wins, duels] = this.tally(i);
        if (duels) card.querySelector(".play-tally").textContent = `${wins} of ${duels} won`;
      });
      const left = ROUNDS - this.t;
      const told = `Round ${this.t}: ${LETTERS[x]} against ${LETTERS[y]}, ${LETTERS[won]} is preferred.`;
      if (left) this.say(`${told} ${left} to go; pick two cards.`);
      else this.turn(told);
    }

    tally(x) {
      const wins = this.wins[x].reduce((sum, n) => sum + n, 0);
      const losses = this.wins.reduce((sum, row) => sum + row[x], 0);
      return [wins, wins + losses];
    }

    /* The cards that won the largest share of their duels. */
    favourites() {
      const shares = this.cards.map((_, x) => this.tally(x)).map(([wins, n]) => (n ? wins / n : 0));
      return [...LETTERS].filter((_, x) => shares[x] === Math.max(...shares) && shares[x]);
    }

    turn(told) {
      const best = this.order.indexOf(0);
      this.cards.forEach((card, x) => {
        card.classList.remove("is-winner");
        card.classList.add("is-turned");
        card.classList.toggle("is-best", x === best);
        card.style.setProperty("--utility", `${100 * MU[this.order[x]]}%`);
        card.append(make("span", { class: "play-utility" }, `utility ${MU[this.order[x]]}`));
        card.setAttribute("aria-disabled", "true"); // it keeps the focus, which `disabled` would drop
      });
      const code = python();
      code.show(this.code());
      this.after.replaceChildren(this.table(), code.box);
      const seen = this.favourites();
      this.say(
        `${told} The cards turn: ${LETTERS[best]} is best` +
          (seen.length ? `; in your duels the largest share was won by ${seen.join(" and ")}. ` : ". ") +
          `Your regret is ${exact(this.lost)}: in each round, the best utility less the mean of your two. ` +
          "The reductions met the same cards and the same random numbers. Twenty rounds are few: they " +
          "still explore, and may lose more than a player who picks at random. The last column shows what " +
          "that buys.",
      );
    }

    /* The regrets, least first: after the game, and of those who go on later too. */
    table() {
      const settings = { T: LATER, seed: this.seed, run: 0, checkpoints: [ROUNDS, LATER] };
      const rows = REDUCTIONS.map((name) => [
        `${name} over UCB`,
        ...regret(this.scenario, play(this.scenario, `${name}(UCB)`, settings)),
      ]);
      const random = this.scenario.gaps.reduce((sum, gap) => sum + gap, 0) / MU.length;
      rows.push(["You", this.lost]);
      rows.push(["Random pairs, on average", ROUNDS * random, LATER * random]);
      rows.sort((a, b) => a[1] - b[1]);
      const body = rows.map(([who, ...sums]) =>
        make(
          "tr",
          { class: who === "You" ? "is-you" : "" },
          make("td", {}, who),
          make("td", {}, exact(sums[0])),
          make("td", {}, sums.length > 1 ? sums[1].toFixed(0) : "–"),
        ),
      );
      const head = ["Regret after", `${ROUNDS} rounds`, `${LATER} rounds`].map((name) =>
        make("th", { scope: "col" }, name),
      );
      return make(
        "table",
        { class: "play-table" },
        make("thead", {}, make("tr", {}, ...head)),
        make("tbody", {}, ...body),
      );
    }

    code() {
      return [
        "from dueling import UCB, Champion, Doubler, MultiSBM, Sparring, simulate",
        "",
        "for reduction in (Sparring, MultiSBM, Doubler, Champion):",
        `    game = dict(T=${LATER}, runs=1, seed=${this.seed}, checkpoints=[${ROUNDS}, ${LATER}])`,
        '    result = simulate("arith/linear", reduction(UCB), **game)',
        "    print(reduction.__name__, *result.regret[0].round(4))",
      ].join("\n");
    }
  }

  mount("bandit", (box, { game }) => {
    new Round(box, Number(game) || 1 + Math.floor(9999 * Math.random()));
  });
})();
