/* The page of search: sections and statements that hold all words (or their beginnings), titles
   first, each with a line around the first word found. edition/sphinx/search.py writes SECTIONS. */
(() => {
  const plain = (text) => text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "");
  const inside = (text, word) => text.search(new RegExp(`(^|[^a-z0-9])${word}`));

  function score([, page, title, text], words) {
    let sum = 0;
    for (const word of words) {
      const own = inside(plain(title), word) >= 0;
      const above = inside(plain(page), word) >= 0;
      const here = inside(plain(text), word) >= 0;
      if (!own && !above && !here) return 0;
      sum += 10 * own + 3 * above + here;
    }
    const phrase = words.join(" ");
    const about = plain(title).replace(/^[a-z]+ \d+ \((.*?)\).*$/, "$1"); // of "Lemma 7 (Tapes)"
    return sum + (about.includes(phrase) ? (20 * phrase.length) / about.length : 0);
  }

  /* The words around the first hit, with every hit marked. */
  function context(text, words) {
    const at = Math.max(0, Math.min(...words.map((word) => {
      const found = inside(plain(text), word);
      return found < 0 ? Infinity : found;
    }), text.length) - 60);
    const start = at && at < text.length - 60 ? text.indexOf(" ", at) + 1 : 0;
    const line = document.createElement("p");
    line.className = "context";
    const shown = text.slice(start, start + 180);
    for (const part of shown.split(/(\s+)/)) {
      const hit = words.some((word) => inside(plain(part), word) >= 0);
      line.append(hit ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
    }
    if (start) line.prepend("… ");
    if (start + 180 < text.length) line.append(" …");
    return line;
  }

  function item([address, page, title, text], words) {
    const row = document.createElement("li");
    const link = row.appendChild(document.createElement("a"));
    link.href = address;
    link.textContent = title && title !== page ? `${page} › ${title}` : page;
    row.append(context(text, words));
    return row;
  }

  Search.query = (query) => {
    const words = plain(query).match(/[a-z0-9]+/g) ?? [];
    const scored = SECTIONS.map((entry) => [words.length ? score(entry, words) : 0, entry]);
    const found = scored.filter(([sum]) => sum).sort((a, b) => b[0] - a[0]);
    Search.stopPulse();
    Search.title.innerText = "Search results";
    Search.status.innerText = found.length
      ? `${found.length} sections and statements hold ${words.length > 1 ? "these words" : "this word"}.`
      : "No section holds these words. A beginning of a word is enough.";
    Search.output.append(...found.slice(0, 60).map(([, entry]) => item(entry, words)));
  };
})();
