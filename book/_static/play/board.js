/* What the things to play share: elements, sentences for screen readers, work in small pieces. */
"use strict";
window.Board = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = {
    Sparring: "#0072B2",
    MultiSBM: "#D55E00",
    Doubler: "#009E73",
    Champion: "#B8860B",
    IF: "#CC79A7",
    BTMB: "#8A8A8A",
  };
  const LETTERS = "ABCDEFGHIJ";

  /* An element with attributes (on... are listeners) and children. */
  function make(tag, attributes = {}, ...children) {
    const element = tag.startsWith("svg:")
      ? document.createElementNS(SVG, tag.slice(4))
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== undefined));
    return element;
  }

  /* A line that screen readers speak when it changes. */
  function speaker() {
    const line = make("p", { class: "play-said", "aria-live": "polite" });
    return { line, say: (text) => line.textContent !== text && (line.textContent = text) };
  }

  /* A slider with its name and value; `input` is called with the number. */
  function slider(name, { min, max, step, value, shown = String, input }) {
    const output = make("output", {}, shown(value));
    const range = make("input", {
      type: "range",
      min,
      max,
      step,
      value,
      "aria-label": name,
      "aria-valuetext": shown(value),
      oninput: () => {
        output.textContent = shown(Number(range.value));
        range.setAttribute("aria-valuetext", output.textContent);
        input(Number(range.value));
      },
    });
    return make("label", { class: "play-slider" }, make("span", {}, name), range, output);
  }

  function choice(name, values, chosen, input) {
    const options = values.map((v) => make("option", { value: v, selected: v === chosen }, v));
    const select = make(
      "select",
      { "aria-label": name, onchange: () => input(select.value) },
      ...options,
    );
    return make("label", { class: "play-choice" }, make("span", {}, name), select);
  }

  /* Python that does the same, and a button that copies it. */
  function python() {
    const code = make("code");
    const button = make("button", { type: "button", class: "play-button" }, "Copy as Python");
    button.addEventListener("click", async () => {
      fold.open = true;
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        getSelection().selectAllChildren(code); // no clipboard here: it is selected instead
      }
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy as Python"), 1500);
    });
    const pre = make("pre", { tabindex: "0" }, code);
    const fold = make("details", {}, make("summary", {}, "The same in Python"), pre);
    const show = (text) => (code.textContent = text);
    return { box: make("div", { class: "play-python" }, button, fold), show };
  }

  /* Run a generator in pieces of some milliseconds, so that the page stays awake, the first one short,
     so that there is something to see; a later call with the same key ends an earlier one. */
  const latest = new WeakMap();
  function inPieces(key, steps, after) {
    const ticket = {};
    let length = 6;
    latest.set(key, ticket);
    const piece = () => {
      if (latest.get(key) !== ticket) return;
      const end = performance.now() + length;
      let done = false;
      length = 24;
      while (!done && performance.now() < end) done = steps.next().done;
      after(done);
      if (!done) setTimeout(piece, 0);
    };
    piece();
  }

  /* Give every box of this name its contents; where the kernels cannot run, the picture stays. */
  function mount(name, fill) {
    if (!window.duelingKernels || !window.WebAssembly) return;
    try {
      window.Dueling.ready();
    } catch (refusal) {
      if (refusal instanceof RangeError) return; // an old browser compiles small modules only
      throw refusal;
    }
    for (const box of document.querySelectorAll(`.play[data-play="${name}"]`)) {
      const live = make("div", { class: "play-live" });
      fill(live, box.dataset);
      box.querySelector(".play-still").after(live);
      box.classList.add("is-live");
      requestAnimationFrame(() => setTimeout(() => performance.mark("play-first"))); // painted
    }
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  return { COLOURS, LETTERS, choice, inPieces, make, mount, python, slider, speaker, still };
})();
