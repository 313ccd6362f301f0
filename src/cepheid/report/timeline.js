"use strict";
// Draws a timeline into its section of the page; called again, it draws another in its place.
let drawnTimeline = null;
const showTimeline = (data) => {
  if (drawnTimeline) drawnTimeline.abort();
  drawnTimeline = new AbortController();
  const { signal } = drawnTimeline;
  const COLOURS = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#db2777", "#65a30d"];
  const LANE = 16;
  const PAD = 6;
  const MOST_ROWS = 200;
  const MOST_IN_TIP = 6;
  const NAMES_IN_TIP = 4;
  const byId = (name) => document.getElementById(name);
  const colourOf = Object.fromEntries(data.variables.map((name, ix) => [name, COLOURS[ix % COLOURS.length]]));
  const counts = byId("counts"), lanes = byId("lanes"), tip = byId("tip");
  let [low, high] = data.span;
  let chosen = -1;

  // All times have one format: with milliseconds if a match or an event needs them.
  const isWhole = (value) => value % 1000 === 0;
  const length = data.span.every(isWhole) && data.matches.every(
    (match) => isWhole(match.start) && isWhole(match.end) && match.events.every((event) => isWhole(event.time))
  ) ? 19 : 23;
  const shownTime = (value) => {
    if (!data.isDate) return Number(value.toPrecision(9)).toLocaleString("en");
    return new Date(value).toISOString().replace("T", " ").slice(0, length);
  };
  const shownValue = (value) => (value !== null && typeof value === "object" ? shownTime(value.at) : value ?? "");
  const element = (name, content, attributes = {}) => {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const dotOf = (name) => {
    const dot = element("i");
    dot.style.background = colourOf[name];
    return dot;
  };

  // A match gets the first lane that is free when it starts.
  const laneOf = [];
  const freeFrom = [];
  const gap = (data.span[1] - data.span[0]) / 400;
  data.matches.map((match, ix) => [match.start, ix]).sort((a, b) => a[0] - b[0]).forEach(([start, ix]) => {
    let lane = freeFrom.findIndex((end) => end <= start);
    if (lane < 0) lane = freeFrom.length;
    freeFrom[lane] = data.matches[ix].end + gap;
    laneOf[ix] = lane;
  });

  const prepare = (canvas, height) => {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    return [context, width];
  };
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const toX = (value, width) => PAD + ((value - low) / (high - low)) * (width - 2 * PAD);

  const DAY = 864e5;
  const TIMES = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 108e5,
    216e5, 432e5, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 30 * DAY, 61 * DAY, 122 * DAY, 365 * DAY,
  ];
  const ticks = () => {
    const rough = (high - low) / 6;
    const tens = 10 ** Math.floor(Math.log10(rough));
    const years = 365 * DAY * 10 ** Math.floor(Math.log10(Math.max(1, rough / (365 * DAY))));
    const steps = data.isDate ? [...TIMES, 2 * years, 5 * years, 10 * years] : [1, 2, 5, 10].map((each) => each * tens);
    const step = steps.find((each) => each >= rough) || rough;
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
    return [found, step];
  };

  const drawCounts = () => {
    const [context, width] = prepare(counts, 90);
    const most = Math.max(1, ...data.counts);
    const part = (data.span[1] - data.span[0]) / data.counts.length;
    context.fillStyle = style("--bar");
    data.counts.forEach((count, ix) => {
      if (!count) return;
      const left = toX(data.span[0] + ix * part, width), right = toX(data.span[0] + (ix + 1) * part, width);
      const tall = Math.max(1.5, (count / most) * 50);
      context.fillRect(left, 68 - tall, Math.max(1, right - left - 0.5), tall);
    });
    context.fillStyle = style("--soft");
    context.font = "12px system-ui, sans-serif";
    context.fillText(`most in one part: ${most.toLocaleString("en")}`, 4, 12);
    const [marks, step] = ticks();
    const labels = [];
    let free = 0;
    for (const at of marks) {
      const x = toX(at, width);
      context.fillRect(x, 68, 1, 5);
      const label = data.isDate && step >= DAY ? shownTime(at).slice(0, 10) : shownTime(at);
      const right = x + 3 + context.measureText(label).width;
      if (x < free || right > width) continue;
      context.fillText(label, x + 3, 85);
      labels.push(label);
      free = right + 8;
    }
    counts.dataset.labels = labels.join("|");
  };

  const drawLanes = () => {
    const height = Math.max(60, freeFrom.length * LANE + 10);
    const [context, width] = prepare(lanes, height);
    data.matches.forEach((match, ix) => {
      const left = toX(match.start, width), right = toX(match.end, width), y = laneOf[ix] * LANE + 5;
      if (right < -5 || left > width + 5) return;
      context.fillStyle = ix === chosen ? style("--strong") : style("--bar");
      context.fillRect(left, y + 3, Math.max(2, right - left), 5);
      for (const event of match.events) {
        context.fillStyle = colourOf[event.variable];
        context.beginPath();
        context.arc(toX(event.time, width), y + 5.5, 4, 0, 7);
        context.fill();
      }
    });
  };
  const draw = () => {
    drawCounts();
    drawLanes();
    byId("range").textContent = `${shownTime(low)} to ${shownTime(high)}`;
  };

  const matchAt = (event) => {
    const box = lanes.getBoundingClientRect();
    const x = event.clientX - box.left, lane = Math.floor((event.clientY - box.top - 2) / LANE);
    let best = -1, least = 8;
    data.matches.forEach((match, ix) => {
      if (laneOf[ix] !== lane) return;
      const left = toX(match.start, box.width), right = toX(match.end, box.width);
      const away = x < left ? left - x : x > right ? x - right : 0;
      if (away < least) [best, least] = [ix, away];
    });
    return best;
  };

  const eventTable = (match, most, mostNames) => {
    const table = element("table");
    const names = [...new Set(match.events.flatMap((event) => Object.keys(event.values)))].slice(0, mostNames);
    const header = element("tr");
    for (const name of ["variable", "time", "type", ...names]) header.append(element("th", name));
    table.append(header);
    for (const event of match.events.slice(0, most)) {
      const row = element("tr");
      const variable = element("td", event.variable);
      variable.prepend(dotOf(event.variable));
      row.append(variable, element("td", shownTime(event.time)), element("td", event.type));
      for (const name of names) row.append(element("td", shownValue(event.values[name])));
      table.append(row);
    }
    return table;
  };
  const described = (match, most = Infinity, mostNames = Infinity) => {
    const parts = [element("p", `${shownTime(match.start)} to ${shownTime(match.end)}`)];
    const values = Object.entries(match.values);
    if (values.length) parts.push(element("p", values.map(([name, value]) => `${name}: ${shownValue(value)}`).join(" · ")));
    if (match.events.length) parts.push(eventTable(match, most, mostNames));
    if (match.count > Math.min(match.events.length, most)) parts.push(element("p", `… ${match.count} events in all`));
    return parts;
  };

  const choose = (ix) => {
    chosen = ix;
    const detail = byId("detail");
    detail.replaceChildren();
    if (ix >= 0) detail.append(element("h3", `Match ${ix + 1} of those shown`), ...described(data.matches[ix]));
    document.querySelectorAll("#match-table tr[data-ix]").forEach((row) => {
      row.classList.toggle("chosen", Number(row.dataset.ix) === ix);
    });
    draw();
  };
  const zoom = (factor, centre) => {
    const whole = data.span[1] - data.span[0];
    const wide = Math.min(whole, Math.max(whole / 1e6, (high - low) * factor));
    const share = (centre - low) / (high - low);
    low = Math.min(Math.max(centre - share * wide, data.span[0]), data.span[1] - wide);
    high = low + wide;
    draw();
  };

  let dragged = null;
  lanes.addEventListener("mousedown", (event) => { dragged = { x: event.clientX, low, moved: false }; }, { signal });
  window.addEventListener("mouseup", (event) => {
    if (dragged && !dragged.moved && event.target === lanes) choose(matchAt(event));
    dragged = null;
  }, { signal });
  lanes.addEventListener("mousemove", (event) => {
    if (dragged) {
      const by = ((dragged.x - event.clientX) / lanes.clientWidth) * (high - low), wide = high - low;
      if (Math.abs(dragged.x - event.clientX) > 3) dragged.moved = true;
      if (dragged.moved) {
        low = Math.min(Math.max(dragged.low + by, data.span[0]), data.span[1] - wide);
        high = low + wide;
        draw();
      }
      return;
    }
    const ix = matchAt(event);
    tip.hidden = ix < 0;
    if (ix < 0) return;
    tip.replaceChildren(...described(data.matches[ix], MOST_IN_TIP, NAMES_IN_TIP));
    // Above the pointer, where it covers neither the match nor the details below.
    tip.style.maxHeight = Math.max(90, event.clientY - 20) + "px";
    const above = event.clientY - tip.offsetHeight - 14;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 10)) + "px";
    tip.style.top = Math.max(4, above) + "px";
  }, { signal });
  lanes.addEventListener("mouseleave", () => { tip.hidden = true; }, { signal });
  for (const canvas of [counts, lanes]) {
    canvas.addEventListener("wheel", (event) => {
      if (canvas === lanes && !event.ctrlKey && event.shiftKey) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, low + ((event.clientX - box.left) / box.width) * (high - low));
    }, { passive: false, signal });
  }
  byId("zoom-in").addEventListener("click", () => zoom(0.5, (low + high) / 2), { signal });
  byId("zoom-out").addEventListener("click", () => zoom(2, (low + high) / 2), { signal });
  byId("reset").addEventListener("click", () => { [low, high] = data.span; draw(); }, { signal });
  window.addEventListener("resize", draw, { signal });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });

  tip.hidden = true;
  byId("detail").replaceChildren();
  // Without matches there is no time to draw.
  for (const name of ["timeline", "matches"]) byId(name).classList.toggle("empty", !data.total);
  const legend = byId("legend");
  legend.replaceChildren();
  for (const name of data.variables) {
    const item = element("span", name);
    item.prepend(dotOf(name));
    legend.append(item);
  }
  const shown = data.matches.length;
  byId("summary").textContent = `${data.total.toLocaleString("en")} ${data.total === 1 ? "match" : "matches"}`
    + (data.total ? ` from ${shownTime(data.span[0])} to ${shownTime(data.span[1])}` : "")
    + (shown < data.total ? `; ${shown.toLocaleString("en")} of them, evenly chosen, are drawn and listed` : "");

  const table = byId("match-table");
  table.replaceChildren();
  const names = [...new Set(data.matches.flatMap((match) => Object.keys(match.values)))];
  const header = element("tr");
  for (const name of ["start", "end", "events", ...names]) header.append(element("th", name));
  if (shown) table.append(header);
  data.matches.slice(0, MOST_ROWS).forEach((match, ix) => {
    const row = element("tr", undefined, { "data-ix": ix });
    row.append(element("td", shownTime(match.start)), element("td", shownTime(match.end)));
    row.append(element("td", match.count ? match.count : "–"));
    for (const name of names) row.append(element("td", shownValue(match.values[name])));
    row.addEventListener("click", () => {
      choose(ix);
      byId("lanes-box").scrollTop = laneOf[ix] * LANE - 100;
    });
    table.append(row);
  });
  draw();
};
