/* The package in the page. kernels.js holds the algorithms' own texts, compiled to WebAssembly
   (edition/wasm), and the shapes of the objects that they take. Here is what surrounds a run:
   NumPy's seeds, the order of the arms, the objects in memory, and the regret of a result.
   Everything is reached as `Dueling`; a classic script, so that pages work from the file system. */
"use strict";
window.Dueling = (() => {
  const MASK64 = (1n << 64n) - 1n;
  const MASK128 = (1n << 128n) - 1n;
  const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;

  /* numpy.random.SeedSequence(seed, spawn_key=key).generate_state(4, uint64) */
  function seedWords(seed, key) {
    const words = (n) => {
      const parts = [];
      for (let rest = BigInt(n); rest > 0n || !parts.length; rest >>= 32n) {
        parts.push(Number(rest & 0xffffffffn));
      }
      return parts;
    };
    const entropy = words(seed);
    while (key.length && entropy.length < 4) entropy.push(0);
    entropy.push(...key.flatMap(words));
    const stir = (value) => (value ^ (value >>> 16)) >>> 0;
    let constant = 0x43b0d7e5;
    const hash = (value) => {
      const mixed = value ^ constant;
      constant = Math.imul(constant, 0x931e8875) >>> 0;
      return stir(Math.imul(mixed, constant));
    };
    const mix = (x, y) => stir(Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y));
    const pool = [0, 1, 2, 3].map((i) => hash(entropy[i] ?? 0));
    for (let from = 0; from < 4; from++) {
      for (let to = 0; to < 4; to++) {
        if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
      }
    }
    for (const word of entropy.slice(4)) {
      for (let to = 0; to < 4; to++) pool[to] = mix(pool[to], hash(word));
    }
    constant = 0x8b51f9dd;
    const state = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => {
      const mixed = pool[i % 4] ^ constant;
      constant = Math.imul(constant, 0x58f38ded) >>> 0;
      return BigInt(stir(Math.imul(mixed, constant)));
    });
    return [0, 2, 4, 6].map((i) => state[i] | (state[i + 1] << 32n));
  }

  /* numpy.random.PCG64 of a seed and a key, as far as the order of the arms asks for it. */
  class PCG64 {
    constructor(seed, key) {
      const [high, low, incrementHigh, incrementLow] = seedWords(seed, key);
      this.increment = ((((incrementHigh << 64n) | incrementLow) << 1n) | 1n) & MASK128;
      this.state = 0n;
      this.step();
      this.state = (this.state + ((high << 64n) | low)) & MASK128;
      this.step();
      this.half = null; // the other 32 bits of the last draw
    }

    step() {
      this.state = (this.state * MULTIPLIER + this.increment) & MASK128;
    }

    next64() {
      this.step();
      const mixed = (this.state >> 64n) ^ (this.state & MASK64);
      const turn = this.state >> 122n;
      return ((mixed >> turn) | (mixed << (64n - turn))) & MASK64;
    }

    next32() {
      if (this.half !== null) {
        const kept = this.half;
        this.half = null;
        return kept;
      }
      const bits = this.next64();
      this.half = Number(bits >> 32n);
      return Number(bits & 0xffffffffn);
    }

    random() {
      return Number(this.next64() >> 11n) / 2 ** 53;
    }

    permutation(K) {
      const order = [...Array(K).keys()];
      for (let i = K - 1; i > 0; i--) {
        const mask = 2 ** (32 - Math.clz32(i)) - 1;
        let j = i + 1;
        while (j > i) j = (this.next32() & mask) >>> 0;
        [order[i], order[j]] = [order[j], order[i]];
      }
      return order;
    }
  }

  function crc32(text) {
    let sum = ~0;
    for (const byte of new TextEncoder().encode(text)) {
      sum ^= byte;
      for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
    }
    return ~sum >>> 0;
  }

  const state = {}; // of the module: its exports, its memory, and where the arrays of a run begin

  /* Make the kernels callable. At once: a promise would be kept only after the page's other scripts,
     of which the one for formulas takes longest. */
  function ready() {
    if (state.exports) return;
    const { wasm, stack } = window.duelingKernels;
    const letters = atob(wasm);
    const bytes = new Uint8Array(letters.length); // filled in a loop: `from` takes ten times as long
    for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
    const memory = new WebAssembly.Memory({ initial: 64 });
    const env = {
      __linear_memory: memory,
      __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, stack),
      __indirect_function_table: new WebAssembly.Table({ initial: 16, element: "anyfunc" }),
    };
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env });
    const logs = new Float64Array(memory.buffer, stack, 1 << 15);
    logs.forEach((_, t) => (logs[t] = exports.libm_log(t)));
    Object.assign(api, { log: exports.libm_log, exp: exports.libm_exp });
    Object.assign(state, { exports, memory, logs: stack, free: stack + logs.byteLength });
  }

  /* The objects of one run in the memory of the module, and what a run leaves in them: until the
     next run, which takes the same memory. */
  class Run {
    constructor(algorithm, settings, arrays, rng) {
      this.view = new DataView(state.memory.buffer);
      this.top = state.free;
      this.settings = settings;
      this.arrays = arrays;
      this.places = new Map();
      this.generator = this.putGenerator(rng);
      this.blocks = window.duelingKernels.algorithms[algorithm].map((part) => this.putPart(part));
      state.exports.take_from(this.top);
      const status = state.exports[algorithm](...this.blocks.map(({ at }) => BigInt(at)));
      if (status) throw new Error(`${algorithm} ended with ${status}`);
    }

    take(bytes) {
      const at = this.top;
      this.top += (bytes + 15) & ~15;
      if (this.top + 65536 > state.memory.buffer.byteLength) throw new Error("too large a game");
      return at;
    }

    putWord(at, kind, value) {
      if (kind === "f") this.view.setFloat64(at, value, true);
      else this.view.setBigInt64(at, BigInt(value), true);
    }

    putGenerator(rng) {
      const at = this.take(32);
      const words = [rng.state, rng.increment].flatMap((n) => [n & MASK64, n >> 64n]);
      words.forEach((word, i) => this.view.setBigUint64(at + 8 * i, word, true));
      const { uint64_entry: bits, double_entry: unit } = state.exports;
      const block = this.take(32);
      [at, bits(), 0, unit()].forEach((word, i) => this.putWord(block + 8 * i, "i", word));
      return block;
    }

    putPart({ each, fields }) {
      const { K } = this.settings;
      const items = each ? K : 1;
      const words = fields.reduce((sum, [, , , shape = []]) => sum + 1 + shape.length, 0);
      const at = this.take(8 * (words * items + each));
      if (each) this.putWord(at, "i", K);
      const objects = [];
      for (let i = 0; i < items; i++)
        objects.push(this.putObject(at + 8 * (each + i * words), fields));
      return { at, each, objects };
    }

    /* Where each field of the object lies: [kind, address of the word or of the array, shape]. */
    putObject(at, fields) {
      const found = {};
      for (const [name, kind, value, shape] of fields) {
        if (kind === "g") this.putWord(at, "i", this.generator);
        else if (shape) {
          const sizes = shape.map((n) => this.settings[n] ?? n);
          found[name] = [kind, this.putArray(name, kind, value, sizes), sizes];
          [found[name][1], ...sizes].forEach((word, i) => this.putWord(at + 8 * i, "i", word));
          at += 8 * sizes.length;
        } else {
          this.putWord(at, kind, this.settings[name] ?? value);
          found[name] = [kind, at];
        }
        at += 8;
      }
      return found;
    }

    putArray(name, kind, fill, sizes) {
      if (name === "logs") return state.logs;
      const n = sizes.reduce((product, size) => product * size, 1);
      const at = this.take((kind === "b" ? 1 : 8) * n);
      for (let i = 0; i < n; i++) {
        const value = this.arrays[name]?.[i] ?? fill;
        if (kind === "b") this.view.setUint8(at + i, value);
        else this.putWord(at + 8 * i, kind, value);
      }
      return at;
    }

    /* A field after the run: of the object with this number in this part (-1 is the game). */
    read(part, name, item = 0) {
      const [kind, at, sizes] = this.blocks.at(part).objects[item][name];
      const one = (i) => {
        if (kind === "f") return this.view.getFloat64(at + 8 * i, true);
        return Number(this.view.getBigInt64(at + 8 * i, true));
      };
      if (!sizes) return one(0);
      return Array.from({ length: sizes.reduce((a, b) => a * b, 1) }, (_, i) => one(i));
    }
  }

  /* dueling.Utilities: the table P[x][y] of the chance that y is preferred to x, and the gaps. */
  const LINKS = {
    linear: (a, b) => (1 + (a - b)) / 2,
    natural: (a, b) => a / (a + b),
    logit: (a, b) => 1 / (1 + api.exp(b - a)),
  };

  function utilities(mu, link, name) {
    const best = Math.max(...mu);
    const P = mu.map(() => mu.map(() => 0.5));
    mu.forEach((u, x) =>
      mu.forEach((v, y) => {
        if (x < y) [P[x][y], P[y][x]] = [LINKS[link](v, u), 1 - LINKS[link](v, u)];
      }),
    );
    return { mu, link, name, K: mu.length, P, gaps: mu.map((m) => best - m) };
  }

  /* The checkpoints of dueling.simulate: 1, 2, 4, ... and T. */
  function doubling(T) {
    const rounds = [];
    for (let t = 1; t < T; t *= 2) rounds.push(t);
    return [...rounds, T];
  }

  /* One run, as dueling.simulate plays it; `settings` are the algorithm's own numbers, and L = T
     asks for the log of all duels. */
  function play(scenario, algorithm, { T, seed, run, checkpoints = doubling(T), ...settings }) {
    const { K, P } = scenario;
    const rng = new PCG64(seed, [crc32(scenario.name), run]);
    const order = rng.permutation(K);
    const horizon = settings.horizon ?? T;
    const defaults = {
      IF: { delta: 1 / (horizon * K ** 2) },
      BTMB: { delta: 1 / (2 * horizon * K) },
    };
    const words = { ...defaults[algorithm], L: 0, ...settings, K, T, C: checkpoints.length };
    const table = order.flatMap((x) => order.map((y) => P[x][y]));
    const arrays = { P: table, order, checkpoints };
    const played = new Run(algorithm, { ...words, due: checkpoints[0] }, arrays, rng);
    return { played, order, checkpoints, history: played.read(-1, "kept") };
  }

  /* The regret of a run at its checkpoints: the mean of the two gaps, summed over the duels. */
  function regret(scenario, { order, checkpoints, history }) {
    const { K, gaps } = scenario;
    return checkpoints.map((_, c) => {
      let sum = 0;
      for (let i = 0; i < 2 * K * K; i++) {
        const x = Math.floor(i / K) % K;
        sum += (history[2 * K * K * c + i] * (gaps[order[x]] + gaps[order[i % K]])) / 2;
      }
      return sum;
    });
  }

  /* numpy.quantile of some numbers, by linear interpolation. */
  function quantile(values, q) {
    const sorted = [...values].sort((a, b) => a - b);
    const at = q * (sorted.length - 1);
    const low = sorted[Math.floor(at)];
    return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at));
  }

  const api = { PCG64, crc32, doubling, play, quantile, ready, regret, utilities };
  return api;
})();
