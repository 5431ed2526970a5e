"use strict";
// The explorer of a path of sparse PCA. All texts of the data are set by textContent, so none becomes markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NS = "http://www.w3.org/2000/svg";
  const COLOURS = ["var(--accent)", "var(--second)", "var(--third)"];
  const DASHES = ["", "6 3", "2 3"];
  const MOST_ARROWS = 12; // as in fit.biplot()
  const MOST_ROWS = 200;
  // The colours of the page; saved figures have the colours for paper.
  const ACCENT = "var(--accent)", PAPER = "var(--paper)";
  const inked = { fill: "currentColor", stroke: PAPER, "stroke-width": 3, "paint-order": "stroke" };
  const last = data.positions.length - 1;
  const state = { at: Math.min(data.start, last), pin: null, pair: [0, 1], raw: false, all: false };
  const $ = id => document.getElementById(id);

  // --- elements ---------------------------------------------------------------------------------

  function make(name, given = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(given)) {
      if (value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  function draw(name, given = {}, ...children) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(given)) {
      element.setAttribute(key, typeof value === "number" ? +value.toFixed(2) : value);
    }
    element.append(...children);
    return element;
  }

  // --- words ------------------------------------------------------------------------------------

  const percent = share => share === null ? "NA" : (100 * share).toFixed(2);
  // A blank is exactly zero, and a nonzero value is never shown as zero.
  function cell(value) {
    if (value === 0) return "";
    const text = value.toFixed(3);
    if (/[1-9]/.test(text)) return text;
    return value < 0 ? ">-.001" : "<.001";
  }
  const whole = variable => data.full[variable] ?? data.variables[variable];
  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const describe = i => `${data.positions[i].card} (${plural(data.positions[i].nonzeros, "nonzero")})`;

  // --- the curve --------------------------------------------------------------------------------

  function ticks(low, high, count) {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough * 0.999);
    const found = [];
    for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) {
      found.push(+t.toPrecision(12));
    }
    return found;
  }

  function curve() {
    const wide = $("curve").clientWidth || 600, high = Math.min(280, Math.max(200, wide * 0.4));
    const box = { left: 46, right: wide - 12, top: 10, bottom: high - 40 };
    const places = data.positions.map(p => p.place);
    const least = Math.min(...places), most = Math.max(...places), log = most > 40 * least;
    const turn = v => log ? Math.log(v) : v;
    const span = turn(most) - turn(least) || 1;
    const x = v => box.left + 10 + (turn(v) - turn(least)) / span * (box.right - box.left - 20);
    const values = [...data.measures.flatMap(m => m.values), data.pca[0]].filter(v => v !== null);
    const top = Math.max(...values) * 1.06 || 1;
    const y = v => box.bottom - v / top * (box.bottom - box.top);
    const svg = draw("svg", { class: "chart", viewBox: `0 0 ${wide} ${high}`, height: high, role: "img" });
    const grey = { stroke: "currentColor", "stroke-opacity": 0.25 };
    for (const t of ticks(0, 100 * top, 4)) {
      svg.append(draw("line", { x1: box.left, x2: box.right, y1: y(t / 100), y2: y(t / 100), ...grey }));
      svg.append(draw("text", { x: box.left - 6, y: y(t / 100) + 4, "text-anchor": "end", fill: "currentColor" },
        `${t} %`));
    }
    let end = -Infinity;
    for (const place of places) {
      svg.append(draw("line", { x1: x(place), x2: x(place), y1: box.bottom, y2: box.bottom + 4, stroke: "currentColor" }));
      const half = blocks.width(String(place)) / 2;
      if (x(place) - half > end + 6) {
        svg.append(draw("text", { x: x(place), y: box.bottom + 17, "text-anchor": "middle", fill: "currentColor" },
          String(place)));
        end = x(place) + half;
      }
    }
    const name = data.by === "card" ? "Cardinality of each component" : "Nonzero loadings";
    svg.append(draw("text", { x: (box.left + box.right) / 2, y: high - 5, "text-anchor": "middle",
      fill: "currentColor" }, name + (log ? " (logarithmic)" : "")));
    svg.append(draw("line", { x1: box.left, x2: box.right, y1: y(data.pca[state.at]), y2: y(data.pca[state.at]),
      stroke: "currentColor", "stroke-dasharray": "1 3", class: "pca" }));
    const marks = [[state.at, false], ...(state.pin === null ? [] : [[state.pin, true]])];
    for (const [i, pinned] of marks) {
      svg.append(draw("line", { x1: x(places[i]), x2: x(places[i]), y1: box.top, y2: box.bottom,
        stroke: "currentColor", "stroke-opacity": 0.6, ...(pinned ? { "stroke-dasharray": "5 4" } : {}) }));
    }
    data.measures.forEach((measure, m) => {
      const known = places.map((place, i) => [place, measure.values[i]]).filter(([, v]) => v !== null);
      svg.append(draw("polyline", { points: known.map(([p, v]) => `${x(p).toFixed(2)},${y(v).toFixed(2)}`).join(" "),
        fill: "none", stroke: COLOURS[m], "stroke-width": 1.8, "stroke-dasharray": DASHES[m] }));
      for (const [p, v] of known) svg.append(draw("circle", { cx: x(p), cy: y(v), r: 1.8, fill: COLOURS[m] }));
      for (const [i, pinned] of marks) {
        if (measure.values[i] === null) continue;
        const given = { cx: x(places[i]), cy: y(measure.values[i]), r: 5, stroke: COLOURS[m], "stroke-width": 2 };
        svg.append(draw("circle", { ...given, fill: pinned ? "none" : COLOURS[m], class: pinned ? "pinned" : "now",
          "data-measure": measure.name }));
      }
    });
    const told = data.measures.map(m => `${m.label} ${percent(m.values[state.at])} %`).join(", ");
    svg.setAttribute("aria-label", `Explained variance against ${name.toLowerCase()}. At ${describe(state.at)}: ${told}, `
      + `dense PCA ${percent(data.pca[state.at])} %.`);
    svg.addEventListener("click", event => {
      const at = (event.clientX - svg.getBoundingClientRect().left) * wide / svg.getBoundingClientRect().width;
      const away = places.map(p => Math.abs(x(p) - at));
      go(away.indexOf(Math.min(...away)));
    });
    $("curve").replaceChildren(svg);
    key();
  }

  function key() {
    const lines = data.measures.map((measure, m) => [measure.label, measure.values, COLOURS[m], DASHES[m]]);
    lines.push(["dense PCA", data.pca, "currentColor", "1 3"]);
    $("key").replaceChildren(...lines.map(([label, values, colour, dash]) => {
      const sample = draw("svg", { width: 26, height: 8, "aria-hidden": "true" }, draw("line", { x1: 0, x2: 26, y1: 4,
        y2: 4, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }));
      const pinned = state.pin === null ? "" : ` (pinned ${percent(values[state.pin])} %)`;
      return make("span", { class: "line" }, sample, `${label} ${percent(values[state.at])} %${pinned}`);
    }));
  }

  // --- the biplot -------------------------------------------------------------------------------

  const pairKey = ([i, j]) => `${Math.min(i, j)}-${Math.max(i, j)}`;

  // The stretch of a pair of components, in either order.
  function stretchOf(position, [i, j]) {
    return position.stretch[pairKey([i, j])] ?? 1;
  }

  // The variables with nonzero loadings on both components, whose arrows are drawn.
  function arrowsOf(position, pair) {
    const scale = position.sd, stretch = stretchOf(position, pair);
    return position.loadings.filter(([, ...loadings]) => pair.every(j => loadings[j] !== 0))
      .map(([variable, ...loadings]) => {
        const [x, y] = pair.map(j => loadings[j] * scale[j] * stretch);
        return { variable, name: data.variables[variable], full: whole(variable), x, y, length: Math.hypot(x, y) };
      });
  }

  // The variables of a component, the largest loading first, each with the direction of its arrow, if it has one.
  function barsOf(position, j, arrows) {
    const directions = new Map(arrows.map(({ variable, x, y, length }) => [variable, [x / length, -y / length]]));
    return position.loadings.filter(([, ...loadings]) => loadings[j] !== 0)
      .map(([variable, ...loadings]) => ({ name: data.variables[variable], full: whole(variable), value: loadings[j],
        direction: directions.get(variable) }))
      .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  }

  // The arrows to draw, the longest first, as in fit.biplot(): if there are more, the components take turns, and each
  // chooses the longest of the remaining arrows.
  function chosen(arrows) {
    const longest = values => values.map((_, i) => i).sort((i, j) => values[j] - values[i]);
    const place = arrows.map(() => arrows.length);
    for (const along of ["x", "y"]) {
      longest(arrows.map(arrow => Math.abs(arrow[along]))).forEach((i, at) => {
        if (arrows[i][along] !== 0) place[i] = Math.min(place[i], at);
      });
    }
    const drawn = new Set(longest(place.map(at => -at)).slice(0, MOST_ARROWS).map(i => arrows[i]));
    return longest(arrows.map(arrow => arrow.length)).map(i => arrows[i]).filter(arrow => drawn.has(arrow));
  }

  function biplot(holder, position) {
    const note = make("p", { class: "note" });
    if (data.components.length < 2) {
      note.textContent = "A biplot needs two components, and this path has one.";
      holder.replaceChildren(note);
      return;
    }
    const pair = state.pair, flat = pair.filter(j => !(position.sd[j] > 0));
    if (flat.length) {
      note.textContent = `No biplot: the scores of ${flat.map(j => position.components[j]).join(" and ")} are constant.`;
      holder.replaceChildren(note);
      return;
    }
    const wide = Math.min(holder.clientWidth || 480, 620);
    const all = arrowsOf(position, pair), arrows = chosen(all), far = new Set(position.far?.[pairKey(pair)] ?? []);
    const points = (position.scores || []).map((row, i) => [row[pair[0]], row[pair[1]], i])
      .filter(([a, b]) => a !== null && b !== null).map(([a, b, i]) => [a / 1000, b / 1000, i]);
    const framed = points.length + arrows.length > 0;
    const bars = pair.map(j => barsOf(position, j, arrows));
    const { frame, high, blocks: placed } = blocks.arranged(bars, pair.map(j => position.components[j]), wide, framed);
    const svg = draw("svg", { class: "chart biplot", viewBox: `0 0 ${wide} ${high}`, height: high, role: "img" });
    const outer = framed ? within(svg, frame, position, pair, points, arrows, far) : 0;
    placed.forEach(([layout, x, y], i) => block(svg, layout, x, y, i ? [0, -1] : [1, 0]));
    const r = position.correlation[pair[0]][pair[1]];
    svg.setAttribute("aria-label", `Biplot of ${position.components[pair[0]]} and ${position.components[pair[1]]}: `
      + `${plural(points.length, "row")}, ${pair.map((j, i) => `${plural(bars[i].length, "variable")} on `
        + position.components[j]).join(", ")}`
      + `${r === null ? "" : `, correlation of the scores ${r.toFixed(2)}`}. The table contains the loadings.`);
    note.textContent = sentences(position, pair, all.length, arrows.length, points.length, outer).join(" ");
    const save = make("button", { type: "button", class: "save" }, "Save the biplot as SVG");
    save.addEventListener("click", () => saved(svg, `biplot-${position.card}`));
    holder.replaceChildren(svg, note, save);
  }

  // Draws the axes with points and arrows; returns the number of points outside the frame, marked at its edge.
  function within(svg, frame, position, pair, points, arrows, far) {
    const scale = blocks.scaled(frame, [...points.filter(([, , i]) => !far.has(i)), ...arrows.map(({ x, y }) => [x, y])]);
    const { X, Y, unit } = scale, box = [frame.left, frame.top, frame.right, frame.bottom];
    svg.append(draw("rect", { x: frame.left, y: frame.top, width: frame.right - frame.left,
      height: frame.bottom - frame.top, fill: "none", stroke: "currentColor" }));
    const grey = { stroke: "currentColor", "stroke-opacity": 0.25 };
    svg.append(draw("line", { x1: frame.left, x2: frame.right, y1: Y(0), y2: Y(0), ...grey }));
    svg.append(draw("line", { x1: X(0), x2: X(0), y1: frame.top, y2: frame.bottom, ...grey }));
    axes(svg, frame, X, Y, unit, position, pair);
    const cloud = draw("g", { class: "points", fill: ACCENT, "fill-opacity": 0.6 });
    const near = points.filter(([a, b]) => blocks.inside(box, [X(a), Y(b)]));
    for (const [a, b, i] of near) {
      cloud.append(draw("circle", { cx: X(a), cy: Y(b), r: points.length > 400 ? 1.8 : 2.6 },
        draw("title", {}, data.rows[i])));
    }
    svg.append(cloud, edge(frame, X, Y, points.filter(point => !near.includes(point))));
    const shafts = draw("g", { class: "arrows", stroke: "currentColor", fill: "currentColor" });
    for (const { x, y } of arrows) shaft(shafts, X(0), Y(0), X(x), Y(y));
    const texts = blocks.names(arrows, frame, scale, near).map(({ x, y, text, full }) =>
      draw("text", { x, y, "text-anchor": "middle" }, text, draw("title", {}, full)));
    svg.append(shafts, draw("g", { class: "names", ...inked }, ...texts));
    return points.length - near.length;
  }

  // Rows outside the frame: triangles at its edge that point to them.
  function edge(frame, X, Y, points) {
    const clamp = (v, low, high) => Math.max(low + 8, Math.min(high - 8, v)), digits = v => Number(v.toPrecision(3));
    return draw("g", { class: "far", fill: ACCENT }, ...points.map(([a, b, i]) => {
      const [x, y] = [clamp(X(a), frame.left, frame.right), clamp(Y(b), frame.top, frame.bottom)];
      const turn = Math.atan2(Y(b) - y, X(a) - x) * 180 / Math.PI;
      return draw("path", { d: "M 6 0 L -4 5 L -4 -5 Z", transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) `
        + `rotate(${turn.toFixed(1)})` }, draw("title", {}, `${data.rows[i]} (${digits(a)}, ${digits(b)})`));
    }));
  }

  // Bars with values and names; negative bars are hollow and to the left of the zero line.
  function block(svg, layout, left, top, direction) {
    const group = draw("g", { class: "block", fill: "currentColor" }), { LINE } = blocks;
    const text = (x, y, words, given = {}, full = undefined) => group.append(draw("text",
      { x: left + x, y: top + y + 12, ...given }, words, ...(full ? [draw("title", {}, full)] : [])));
    if (layout.heading) {
      text(0, 0, layout.heading, { "font-weight": 600 });
      pointer(group, left + blocks.width(layout.heading, true) + 11, top + 8, direction);
    }
    for (const { x, y, value, texts, number, full, direction: arrow } of layout.rows) {
      const zero = left + x + layout.zero, length = Math.abs(layout.unit * value), middle = top + y + 8;
      group.append(draw("rect", { class: "bar", x: value < 0 ? zero - length + 0.5 : zero, y: middle - 2.5, height: 5,
        width: Math.max(value < 0 ? length - 1 : length, 0.5), stroke: "currentColor",
        "stroke-width": value < 0 ? 1 : 0, fill: value < 0 ? PAPER : "currentColor" }));
      group.append(draw("line", { x1: zero, x2: zero, y1: top + y, y2: top + y + LINE * texts.length,
        stroke: "currentColor", "stroke-width": 0.8 }));
      if (number) text(x + layout.start - 5, y, number, { "text-anchor": "end", "fill-opacity": 0.8 });
      texts.forEach((line, i) => text(x + layout.start + (i && 10), y + LINE * i, line, {}, i ? "" : full));
      const end = Math.max(...texts.map((line, i) => blocks.width(line) + (i && 10)));
      if (arrow) pointer(group, left + x + layout.start + end + 10, middle, arrow);
    }
    if (layout.more) {
      text(layout.more.x, layout.more.y, layout.more.text, { "font-style": "italic" },
        layout.rest.map(row => row.full).join(", "));
    }
    svg.append(group);
  }

  // A small arrow around (x, y).
  function pointer(group, x, y, [a, b]) {
    const turn = Math.atan2(b, a) * 180 / Math.PI;
    group.append(draw("path", { class: "pointer", d: "M -5 0 H 5 M 1.5 -3 L 5 0 L 1.5 3", fill: "none",
      stroke: "currentColor", transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${turn.toFixed(1)})` }));
  }

  function axes(svg, frame, X, Y, unit, position, pair) {
    const text = { fill: "currentColor", "text-anchor": "middle" };
    const reach = (low, high, zero, to) => ticks((low - zero) / unit, (high - zero) / unit, 6).map(t => [t, to(t)]);
    if (position.scores) {
      for (const [t, at] of reach(frame.left, frame.right, X(0), X)) {
        svg.append(draw("line", { x1: at, x2: at, y1: frame.bottom, y2: frame.bottom + 4, stroke: "currentColor" }));
        svg.append(draw("text", { x: at, y: frame.bottom + 16, ...text }, String(t).replace("-", "−")));
      }
      for (const [t, at] of reach(-frame.bottom, -frame.top, -Y(0), v => Y(v))) {
        svg.append(draw("line", { x1: frame.left - 4, x2: frame.left, y1: at, y2: at, stroke: "currentColor" }));
        svg.append(draw("text", { x: frame.left - 6, y: at + 4, fill: "currentColor", "text-anchor": "end" }, String(t).replace("-", "−")));
      }
    }
    const named = (j, room) => {
      const share = ` (${(100 * position.shares[j]).toFixed(1)} %)`;
      return blocks.fit(position.components[j], room - blocks.width(share)) + share;
    };
    const middle = (frame.top + frame.bottom) / 2;
    svg.append(draw("text", { x: (frame.left + frame.right) / 2, y: frame.bottom + 33, ...text },
      named(pair[0], frame.right - frame.left)));
    svg.append(draw("text", { x: 11, y: middle, transform: `rotate(-90 11 ${middle.toFixed(2)})`, ...text },
      named(pair[1], frame.bottom - frame.top)));
  }

  function shaft(group, x, y, to, up) {
    const length = Math.hypot(to - x, up - y);
    group.append(draw("line", { class: "shaft", x1: x, y1: y, x2: to, y2: up, "stroke-width": 1.3 }));
    if (length < 4) return;
    const [a, b] = [(to - x) / length, (up - y) / length];
    group.append(draw("path", { d: `M ${to.toFixed(2)} ${up.toFixed(2)} L ${(to - 8 * a + 3 * b).toFixed(2)} `
      + `${(up - 8 * b - 3 * a).toFixed(2)} L ${(to - 8 * a - 3 * b).toFixed(2)} ${(up - 8 * b + 3 * a).toFixed(2)} Z` }));
  }

  function sentences(position, pair, all, drawn, points, outer) {
    const notes = [];
    if (position.scores) {
      notes.push("Points: scores / sd.");
      if (data.rows.length < data.n) notes.push(`${data.rows.length} of ${data.n} rows are drawn.`);
      else if (points < data.n) notes.push(`${plural(data.n - points, "row")} with missing values have no scores.`);
    } else {
      notes.push(data.norows);
    }
    const stretch = position.scores ? ` × ${Number(stretchOf(position, pair).toPrecision(3))}` : "";
    if (drawn) notes.push(`Arrows: loadings × sd${stretch}, of variables on both components.`);
    notes.push("Bars: loadings; hollow: negative.");
    const r = position.correlation[pair[0]][pair[1]];
    if (drawn && r !== null && Math.abs(r) > 0.1) {
      notes.push(`Correlated scores: r = ${r.toFixed(2).replace("-", "−")}.`);
    }
    if (drawn < all) notes.push(`${drawn} of ${all} arrows are drawn: the longest of each component.`);
    if (outer) notes.push(`Triangles at the edge: ${plural(outer, "row")} farther out.`);
    if (drawn + points) notes.push("%: adjusted variance.");
    return notes;
  }

  function saved(svg, name) {
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", NS);
    copy.setAttribute("width", copy.getAttribute("viewBox").split(" ")[2]);
    copy.setAttribute("style", "background: #fff; font: 12px sans-serif");
    const text = new XMLSerializer().serializeToString(copy).replaceAll('"currentColor"', '"#000"')
      .replaceAll(`"${ACCENT}"`, '"#0072b2"').replaceAll(`"${PAPER}"`, '"#fff"');
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    make("a", { href: address, download: `${name.replace(/[^\w-]+/g, "-")}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    say("The biplot was saved.");
  }

  // --- tables and equations ---------------------------------------------------------------------

  function framed(name, table) {
    const region = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Table: ${name}` });
    region.append(make("div", { class: "spcastat" }, table));
    return region;
  }

  function loadingsTable(position, other) {
    const here = new Map(position.loadings.map(([v, ...l]) => [v, l]));
    const there = other ? new Map(other.loadings.map(([v, ...l]) => [v, l])) : new Map();
    const union = [...new Set([...here.keys(), ...there.keys()])].sort((a, b) => a - b);
    const size = v => Math.max(...(here.get(v) ?? there.get(v)).map(Math.abs));
    const shown = state.all || union.length <= MOST_ROWS ? union
      : new Set([...union].sort((a, b) => size(b) - size(a)).slice(0, MOST_ROWS));
    const table = make("table", { class: "spcastat loadings" },
      make("caption", { class: "unseen" }, `Loadings at cardinality ${position.card}; a blank is exactly zero`));
    const head = make("tr", { class: "head" }, make("th", { scope: "col", class: "stub" }, "Loadings"));
    for (const name of position.components) head.append(make("th", { scope: "col" }, name));
    const body = make("tbody", {}, head);
    const zeros = Array(position.components.length).fill(0);
    for (const v of union) {
      if (shown !== union && !shown.has(v)) continue;
      const row = make("tr", {}, make("th", { scope: "row" }, whole(v)));
      (here.get(v) ?? zeros).forEach((value, j) => {
        const own = other && value !== 0 && (there.get(v) ?? zeros)[j] === 0;
        const entry = make("td", { class: own ? "own" : undefined }, cell(value));
        if (own) entry.append(make("span", { class: "unseen" }, " zero at the other position"));
        row.append(entry);
      });
      body.append(row);
    }
    table.append(body);
    const parts = [framed("Loadings", table)];
    const said = ["A blank is exactly zero."];
    if (other) said.push("Tinted: zero at the other position.");
    const without = data.p - here.size;
    if (without) said.push(`${plural(without, "variable")} of ${data.p} ${without === 1 ? "is" : "are"} zero in all components.`);
    parts.push(make("p", { class: "note" }, said.join(" ")));
    if (shown !== union) {
      const more = make("button", { type: "button" }, `Show all ${union.length} rows`);
      more.addEventListener("click", () => { state.all = true; show(); });
      parts.push(make("p", { class: "note" }, `${MOST_ROWS} rows with the largest loadings. `, more));
    }
    return parts;
  }

  function varianceTable(position) {
    const table = make("table", { class: "spcastat variance" }, make("caption", { class: "unseen" }, "Variance"));
    const [heading, names, rows] = position.variance;
    const head = make("tr", { class: "head" }, make("th", { scope: "col", class: "stub" }, heading));
    for (const name of names) head.append(make("th", { scope: "col" }, name));
    const body = make("tbody", {}, head);
    let group = "";
    for (const [of, label, cells] of rows) {
      if (of && of !== group) {
        body.append(make("tr", {}, make("th", { scope: "rowgroup", colspan: names.length + 1 }, of)));
      }
      group = of;
      const row = make("tr", {}, make("th", { scope: "row" }, (of ? "\u2003" : "") + label));
      for (const text of cells) row.append(make("td", {}, text));
      body.append(row);
    }
    table.append(body);
    return framed("Variance", table);
  }

  function equations(position) {
    const lines = state.raw && position.raw ? position.raw : position.equations;
    return make("pre", { class: "equations" }, ...lines.map(line => make("span", {}, line)));
  }

  // --- panels -----------------------------------------------------------------------------------

  function panel(i, pinned, other) {
    const position = data.positions[i];
    const id = pinned ? "pinned" : "now";
    const heading = make("h2", { id: `${id}-heading` }, `${pinned ? "Pinned: cardinality" : "Cardinality"} ${describe(i)}`);
    const plot = make("div", { class: "plot" });
    const tables = make("div", { class: "tables" }, make("h3", {}, "Loadings and variance"),
      ...loadingsTable(position, other), varianceTable(position));
    if (position.note) tables.append(make("p", { class: "note" }, position.note));
    const words = make("div", { class: "words" }, make("h3", {}, "Equations"), equations(position),
      make("h3", {}, "The Python call"), make("pre", { class: "call" }, position.call));
    const section = make("section", { class: `panel ${id}`, id, "aria-labelledby": `${id}-heading` }, heading,
      make("div", { class: "drawn" }, make("h3", {}, "Biplot"), plot), tables, words);
    return [section, () => biplot(plot, position)];
  }

  function say(text) {
    $("said").textContent = text;
  }

  function show() {
    const { at, pin } = state;
    $("slider").value = at;
    $("slider").setAttribute("aria-valuetext", `${describe(at)}, ${data.measures.map(m =>
      `${m.label} ${percent(m.values[at])} percent`).join(", ")}`);
    $("at").textContent = describe(at);
    $("back").disabled = at === 0;
    $("on").disabled = at === last;
    $("pin").setAttribute("aria-pressed", pin !== null);
    $("pin").textContent = pin === null ? "Pin this position" : "Unpin";
    curve();
    const parts = pin === null ? [panel(at, false)]
      : [panel(pin, true, data.positions[at]), panel(at, false, data.positions[pin])];
    $("panels").className = pin === null ? "" : "two";
    $("panels").replaceChildren(...parts.map(([section]) => section));
    for (const [, fill] of parts) fill();
    try {
      history.replaceState(null, "", `#at=${at}${pin === null ? "" : `&pin=${pin}`}`);
    } catch { /* a page within another may have no address of its own */ }
  }

  function go(to) {
    const next = Math.max(0, Math.min(last, to));
    if (next === state.at) return;
    state.at = next;
    show();
  }

  async function copy() {
    const text = data.positions[state.at].call;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      $("copy").focus();
      if (!done) {
        say("The browser does not allow this page to copy; the call is shown below the equations.");
        return;
      }
    }
    say(`The call for cardinality ${data.positions[state.at].card} was copied.`);
  }

  function begin() {
    $("title").textContent = data.title;
    $("about").textContent = data.about;
    $("slider").max = last;
    $("slider").addEventListener("input", () => go(+$("slider").value));
    $("back").addEventListener("click", () => go(state.at - 1));
    $("on").addEventListener("click", () => go(state.at + 1));
    $("pin").addEventListener("click", () => {
      state.pin = state.pin === null ? state.at : null;
      show();
      say(state.pin === null ? "Unpinned." : `Cardinality ${describe(state.pin)} is pinned; the slider changes the other position.`);
    });
    $("copy").addEventListener("click", copy);
    $("raw").addEventListener("change", () => { state.raw = $("raw").checked; show(); });
    $("unit").hidden = !data.positions[0].raw;
    $("pair").hidden = data.components.length < 3;
    for (const [which, id] of [[0, "first"], [1, "second"]]) {
      $(id).append(...data.components.slice(0, data.offered).map((name, j) => make("option", { value: j }, name)));
      $(id).value = which;
      $(id).addEventListener("change", () => {
        const other = state.pair[1 - which];
        if (+$(id).value === other) { // both would be the same, so they are exchanged
          state.pair[1 - which] = state.pair[which];
          $(which ? "first" : "second").value = state.pair[which];
        }
        state.pair[which] = +$(id).value;
        show();
      });
    }
    const asked = new URLSearchParams(location.hash.slice(1));
    const number = name => /^\d+$/.test(asked.get(name) ?? "") && +asked.get(name) <= last ? +asked.get(name) : null;
    state.at = number("at") ?? state.at;
    state.pin = number("pin");
    show();
    let drawn = $("content").clientWidth;
    new ResizeObserver(() => {
      const now = $("content").clientWidth;
      if (now !== drawn) {
        drawn = now;
        show();
      }
    }).observe($("content"));
  }

  begin();
})();
