(() => {
  const start = JSON.parse(document.getElementById("start").textContent);
  const byId = (name) => document.getElementById(name);
  const text = byId("text"), colours = byId("colours"), words = byId("words");
  const LINE = 21, PAD_X = 12, PAD_Y = 10, WAIT = 250;
  let faults = [], offered = [], picked = 0, asked = 0, opened = "";

  const ask = async (path, said) => {
    const sent = await fetch(path, {
      method: "POST", body: JSON.stringify(said),
      headers: { "Content-Type": "application/json", "X-Cepheid-Token": start.token },
    });
    return sent.json();
  };
  const element = (name, content, className = "") => {
    const made = document.createElement(name);
    if (content) made.textContent = content;
    if (className) made.className = className;
    return made;
  };
  // Offsets count code points in Python, and UTF-16 units here.
  const toPoints = (units) => [...text.value.slice(0, units)].length;
  const toUnits = (points) => [...text.value].slice(0, points).join("").length;
  const plural = (count, noun, nouns = noun + "s") => `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
  const sampled = (known) => `${known.isWhole ? "all" : "the first"} ${plural(known.events, "event")} of ${known.source}`;

  // --- colours

  const TOKEN = new RegExp([
    "(?<c>--[^\\n]*|/\\*[\\s\\S]*?\\*/)", "(?<s>'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?)",
    "(?<n>\\b\\d+(?:\\.\\d+)?%?)", "(?<a>\\.\\s*[A-Za-z_]\\w*)",
    "(?<k>\\b(?:PATTERN|EVENT|FROM|WHERE|WITHIN|WITHOUT|RETURN|OUTPUT|SEQ|AND|OR|NOT|ANY|IN|BETWEEN|LIKE|IS|NULL|TRUE|FALSE|AS|EVENTS|PER|PARTITION|BY|ORDER|MEASURES|DEFINE|SUBSET|MATCH_RECOGNIZE|SELECT|ONE|ALL|ROW|ROWS|MATCH|AFTER|SKIP|CASE|WHEN|THEN|ELSE|END|skip_till_(?:any|next)_match|(?:strict|partition)_contiguity)\\b)",
    "(?<f>\\b[A-Za-z_]\\w*(?=\\s*\\())",
  ].join("|"), "gi");
  const paint = () => {
    const value = text.value;
    const marks = faults.map((each) => [toUnits(each.start), toUnits(each.end), each.is_warning ? "warning" : "fault"]);
    const kinds = new Array(value.length).fill("");
    for (const found of value.matchAll(TOKEN)) {
      const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
      if (kind !== "a") kinds.fill(kind, found.index, found.index + found[0].length);
    }
    for (const [from, to, kind] of marks) {
      for (let at = from; at < to; at += 1) if (!kinds[at].includes(kind)) kinds[at] += ` ${kind}`;
    }
    colours.replaceChildren();
    for (let from = 0; from < value.length;) {
      let to = from + 1;
      while (to < value.length && kinds[to] === kinds[from]) to += 1;
      colours.append(kinds[from] ? element("span", value.slice(from, to), kinds[from].trim()) : value.slice(from, to));
      from = to;
    }
    colours.append("\n");
    colours.scrollTop = text.scrollTop;
    colours.scrollLeft = text.scrollLeft;
  };

  // --- faults and results, always for the last text

  const shownFaults = () => {
    byId("faults").replaceChildren(...faults.map((each) => {
      const item = element("li", "", each.is_warning ? "warning" : "fault");
      item.append(element("b", each.message), each.advice ? ` ${each.advice}` : "");
      item.addEventListener("click", () => { text.focus(); text.setSelectionRange(toUnits(each.start), toUnits(each.end)); });
      return item;
    }));
  };
  const say = (message, isBad = false) => {
    byId("state").textContent = message;
    byId("state").classList.toggle("bad", isBad);
  };
  const showRows = (table) => {
    byId("rows").hidden = !table;
    for (const name of ["timeline", "matches"]) byId(name).hidden = Boolean(table);
    if (!table) return;
    const rows = [element("tr"), ...table.rows.map(() => element("tr"))];
    table.columns.forEach((name) => rows[0].append(element("th", name)));
    table.rows.forEach((row, ix) => row.forEach((value) => rows[ix + 1].append(element("td", value))));
    byId("row-table").replaceChildren(...rows);
    byId("summary").textContent = plural(table.total, "row") + (table.rows.length < table.total ? `, the first ${table.rows.length} below` : "");
  };
  const show = (found) => {
    const others = Object.entries(found.counts || {}).map(([name, count]) => `${name}: ${plural(count, "match", "matches")}`);
    say(`On ${sampled(found)}, in ${found.seconds.toFixed(2)} s.${others.length ? ` ${others.join(", ")}; the last query is shown.` : ""}`);
    byId("warnings").replaceChildren(...found.warnings.map((each) => element("li", each)));
    showRows(found.table);
    if (found.timeline) showTimeline(found.timeline);
    byId("drawing").innerHTML = found.automaton || "";
    byId("funnel-content").innerHTML = found.funnel;
    byId("plan-text").textContent = found.plan;
    byId("results").classList.remove("old");
  };
  let running = false, again = false, timer = 0;
  const update = async () => {
    if (running) { again = true; return; }
    running = true;
    const tried = text.value;
    try {
      faults = (await ask("/api/faults", { text: tried })).faults || [];
      if (tried === text.value) { paint(); shownFaults(); }
      if (tried.trim() && !faults.some((each) => !each.is_warning)) {
        say("running …");
        const slow = setTimeout(() => say("running … If native code must be compiled first, this takes several seconds, once per version."), 3000);
        const found = await ask("/api/run", { text: tried }).finally(() => clearTimeout(slow));
        if (found.error) { say(found.error, true); byId("results").classList.add("old"); } else show(found);
      } else {
        byId("results").classList.add("old");
        say(tried.trim() ? "The results below are those of the last query without faults." : "Write a query.");
      }
    } catch {
      say("cepheid studio does not answer: was it ended?", true);
    }
    running = false;
    document.body.dataset.done = String(Number(document.body.dataset.done || 0) + 1);
    if (again) { again = false; update(); }
  };
  const changed = () => {
    faults = [];
    paint();
    clearTimeout(timer);
    timer = setTimeout(update, WAIT);
  };

  // --- completion and hover texts

  const width = () => {
    const probe = element("span", "0".repeat(100));
    colours.append(probe);
    const one = probe.getBoundingClientRect().width / 100;
    probe.remove();
    return one;
  };
  const closeWords = () => { words.hidden = true; offered = []; asked += 1; };
  const choose = (ix) => {
    picked = (ix + offered.length) % offered.length;
    [...words.children].forEach((item, at) => item.classList.toggle("chosen", at === picked));
    words.children[picked].scrollIntoView({ block: "nearest" });
  };
  const accept = (ix) => {
    const word = offered[ix], from = toUnits(word.start);
    text.setRangeText(word.insert, from, text.selectionStart, "end");
    closeWords();
    text.focus();
    changed();
  };
  const complete = async () => {
    asked += 1;
    const at = text.selectionStart, tried = text.value, mine = asked;
    const found = await ask("/api/complete", { text: tried, offset: toPoints(at) });
    // Only the last request counts, in whatever order the answers come.
    if (mine !== asked || tried !== text.value || at !== text.selectionStart) return;
    if (!(found.words || []).length) { closeWords(); return; }
    offered = found.words;
    words.replaceChildren(...offered.map((each, ix) => {
      const item = element("li");
      item.setAttribute("role", "option");
      item.append(element("b", each.label), element("span", each.detail));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); accept(ix); });
      return item;
    }));
    const before = text.value.slice(0, toUnits(offered[0].start)).split("\n");
    const x = PAD_X + before[before.length - 1].length * width() - text.scrollLeft;
    words.style.top = `${PAD_Y + before.length * LINE - text.scrollTop}px`;
    words.hidden = false;
    words.style.left = `${Math.max(0, Math.min(x, text.clientWidth - words.offsetWidth))}px`;
    choose(0);
  };
  text.addEventListener("input", (event) => {
    changed();
    const typed = event.data || "";
    if (/[\w.[(]$/.test(typed)) complete(); else closeWords();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); complete(); return; }
    if (words.hidden) {
      if (event.key === "Tab" && !event.shiftKey) { event.preventDefault(); text.setRangeText("  ", text.selectionStart, text.selectionEnd, "end"); changed(); }
      return;
    }
    const keys = { ArrowDown: () => choose(picked + 1), ArrowUp: () => choose(picked - 1), Tab: () => accept(picked), Enter: () => accept(picked), Escape: closeWords };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  text.addEventListener("blur", closeWords);
  text.addEventListener("click", async () => {
    closeWords();
    const found = await ask("/api/hover", { text: text.value, offset: toPoints(text.selectionStart) });
    byId("hint").textContent = found.text ? found.text.replace(/[*`]/g, "") : "Ctrl+Space completes, a click on a word explains it.";
  });
  text.addEventListener("scroll", () => { colours.scrollTop = text.scrollTop; colours.scrollLeft = text.scrollLeft; closeWords(); });

  // --- rules

  const tell = (message, isBad = false) => {
    byId("saved").textContent = message;
    byId("saved").classList.toggle("bad", isBad);
  };
  const listRules = (rules) => {
    const first = element("option", rules.length ? "Open …" : "no rules yet");
    first.value = "";
    byId("open").replaceChildren(first, ...rules.map((name) => element("option", name)));
    byId("open").disabled = !rules.length;
  };
  const save = async (path, said) => {
    const name = byId("name").value.trim();
    if (!name) { tell("Give the rule a name first.", true); byId("name").focus(); return; }
    let done = await ask(path, { name, text: text.value, replaces: name === opened });
    if (done.error && done.error.includes("already") && window.confirm(`${done.error}. Replace it?`)) {
      done = await ask(path, { name, text: text.value, replaces: true });
    }
    if (done.error) { tell(done.error, true); return; }
    opened = name;
    listRules(done.rules);
    tell(said(done));
  };
  byId("save-rule").addEventListener("click", () => save("/api/save-rule", (done) => `Saved ${done.file}`));
  byId("save-test").addEventListener("click", () => save("/api/save-test", (done) => `Saved ${done.test}, which expects ${plural(done.matches, "match", "matches")}`));
  byId("format").addEventListener("click", async () => {
    const done = await ask("/api/format", { text: text.value });
    if (done.error) { tell(done.error.split("\n")[0], true); return; }
    text.value = done.text;
    tell("");
    changed();
  });
  byId("open").addEventListener("change", async () => {
    const found = await ask("/api/open", { name: byId("open").value });
    byId("open").value = "";
    if (found.error) { tell(found.error, true); return; }
    text.value = found.text;
    byId("name").value = opened = found.name;
    tell("");
    changed();
  });

  listRules(start.rules);
  byId("sample").textContent = start.sample
    ? `Queries run on ${sampled(start.sample)}. Types: ${Object.entries(start.sample.types).slice(0, 8).map(([name, count]) => `${name} (${count.toLocaleString("en")})`).join(", ") || "none"}.`
    : "Write a line -- events: PATH above a query to say which events it is about.";
  text.value = start.text;
  paint();
  update();
})();
