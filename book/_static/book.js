/* What scrolls inside itself can be reached with the keyboard, and nothing else of its kind: long
   formulas and wide ledgers here, code and tables by the theme, which looks after a resize. */
(() => {
  const kinds = "mjx-container[display='true'], span.math, div.ledger, div.drawing, figure";
  const look = () => {
    for (const box of document.querySelectorAll(kinds)) {
      // Inside a line the hidden copy for screen readers may be wider than the formula itself.
      const formula = box.matches("span") && box.querySelector("mjx-math");
      const width = formula ? formula.getBoundingClientRect().width : box.scrollWidth;
      if (width > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  let timer = 0;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 300);
  };
  window.addEventListener("resize", soon);
  window.addEventListener("load", () => {
    (window.MathJax?.startup?.promise ?? Promise.resolve()).then(soon);
  });
  document.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")), true);
})();

/* On a narrow screen each row of a table of sentences becomes a card (custom.css): every entry is
   told the name of its column, and a screen reader that it is still a table. */
document.addEventListener("DOMContentLoaded", () => {
  const SENTENCES = ".tag_wide-table table, div.ledger table, table.autosummary";
  const roles = { THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TH: "columnheader", TD: "cell" };
  for (const table of document.querySelectorAll(SENTENCES)) {
    const names = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
    table.setAttribute("role", "table");
    for (const part of table.querySelectorAll("thead, tbody, tr, th, td")) {
      part.setAttribute("role", roles[part.tagName]);
    }
    for (const row of table.tBodies[0]?.rows ?? []) {
      const filled = [...row.cells].filter((entry) => entry.textContent.trim());
      if (filled.length < 2 || !names.length) continue; // the heading of a group, or no heads
      for (const entry of filled) entry.dataset.column = names[entry.cellIndex];
    }
  }
});

/* How much of the evidence a reader sees: the text alone, the checks as lines that open, or all
   code. The choice is kept for all pages, where the browser allows it. */
(() => {
  const KEY = "dueling-layer";
  const LAYERS = { text: "Text", checks: "Checks", code: "Code" };
  const kept = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const keep = (layer) => {
    try {
      localStorage.setItem(KEY, layer);
    } catch {
      /* then it holds for this page */
    }
  };
  const root = document.documentElement;
  root.dataset.layer = kept() in LAYERS ? kept() : "checks";

  function show(layer) {
    const was = root.dataset.layer;
    root.dataset.layer = layer;
    for (const button of document.querySelectorAll("div.layers button")) {
      button.setAttribute("aria-pressed", String(button.value === layer));
    }
    if (layer === "code" || was === "code") {
      for (const fold of document.querySelectorAll("details.fold")) fold.open = layer === "code";
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector(".article-header-buttons");
    if (!place || !document.querySelector("details.fold")) return;
    const box = document.createElement("div");
    box.className = "layers";
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "How much of the evidence is shown");
    for (const [layer, label] of Object.entries(LAYERS)) {
      const button = document.createElement("button");
      button.type = "button";
      button.value = layer;
      button.textContent = label;
      button.addEventListener("click", () => {
        keep(layer);
        show(layer);
      });
      box.append(button);
    }
    place.prepend(box);
    show(root.dataset.layer);
  });
})();

/* The ledger of claims: a colour for each verdict, and buttons that show the claims of one. */
document.addEventListener("DOMContentLoaded", () => {
  const rows = [];
  for (const strong of document.querySelectorAll(".tag_claims tbody td:nth-child(2) strong")) {
    const [, verdict] = strong.textContent.match(/^\S+\s+(.*)$/) ?? [];
    if (!verdict) continue;
    strong.className = `verdict ${verdict.replaceAll(" ", "-")}`;
    rows.push([strong.closest("tr"), strong.textContent]);
  }
  const first = document.querySelector(".tag_claims");
  if (!first || !rows.length) return;
  const box = document.createElement("div");
  box.className = "filters";
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Claims with this verdict");
  const defined = [...document.querySelectorAll("dt strong")].map((name) => name.textContent);
  const kinds = ["all", ...defined.filter((name) => rows.some(([, verdict]) => verdict === name))];
  const show = (kind) => {
    for (const [row, verdict] of rows) row.hidden = kind !== "all" && kind !== verdict;
    for (const button of box.children) {
      button.setAttribute("aria-pressed", String(button.value === kind));
    }
  };
  for (const kind of kinds) {
    const button = document.createElement("button");
    const count = rows.filter(([, verdict]) => kind === "all" || kind === verdict).length;
    button.type = "button";
    button.value = kind;
    button.textContent = `${kind} (${count})`;
    button.addEventListener("click", () => show(kind));
    box.append(button);
  }
  first.closest("section").before(box);
  show("all");
});

/* Shows what a reference points to (a statement, an equation, a citation, a figure's caption)
   when the reader hovers over it or reaches it with the keyboard. Escape closes it.
   edition/sphinx/previews.py writes one script for each page; it is loaded when first needed. */
(() => {
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const known = {};
  const waiting = {};
  let tip = null;
  let owner = null;
  let timer = 0;

  window.previews = (page, pieces) => {
    known[page] = pieces;
  };

  function load(page) {
    waiting[page] ??= new Promise((done) => {
      const script = document.createElement("script");
      script.src = new URL(`_previews/${page}.js`, root);
      script.onload = script.onerror = done;
      document.head.append(script);
    });
    return waiting[page];
  }

  function target(link) {
    const url = new URL(link.href);
    if (!url.hash || !url.href.startsWith(root.href)) return null;
    const page = url.href.slice(root.href.length).split(/[?#]/)[0].replace(/\.html$/, "");
    return { page, id: decodeURIComponent(url.hash.slice(1)) };
  }

  function close() {
    clearTimeout(timer);
    tip?.remove();
    owner?.removeAttribute("aria-describedby");
    tip = owner = null;
  }

  function place() {
    const at = owner.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = at.bottom + tip.offsetHeight + 8 < window.innerHeight;
    const top = below ? at.bottom + 4 : Math.max(8, at.top - tip.offsetHeight - 4);
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${top}px`;
  }

  async function open(link) {
    const to = target(link);
    if (!to) return;
    await load(to.page);
    const piece = known[to.page]?.[to.id];
    if (!piece || owner !== link) return;
    tip = document.createElement("div");
    tip.className = "preview";
    tip.id = "preview";
    tip.setAttribute("role", "tooltip");
    tip.innerHTML = piece;
    tip.addEventListener("mouseenter", () => clearTimeout(timer));
    tip.addEventListener("mouseleave", later);
    document.body.append(tip);
    link.setAttribute("aria-describedby", "preview");
    place();
    await window.MathJax?.typesetPromise?.([tip]);
    if (owner === link) place();
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(close, 250);
  }

  function soon(event) {
    const link = event.target.closest?.("article a.reference.internal[href*='#']");
    if (!link || link === owner) return;
    close();
    owner = link;
    timer = setTimeout(() => open(link), event.type === "focusin" ? 0 : 150);
  }

  function leave(event) {
    if (owner && event.target.closest?.("a") === owner) later();
  }

  document.addEventListener("mouseover", soon);
  document.addEventListener("focusin", soon);
  document.addEventListener("mouseout", leave);
  document.addEventListener("focusout", leave);
  document.addEventListener("keydown", (event) => event.key === "Escape" && close());
})();
