"use strict";
// The layout of the biplot: its frame, the blocks of bars next to the axes, and the names at the tips of arrows.
// Lengths are in pixels; a box is [left, top, right, bottom].
const blocks = (() => {
  const LINE = 16; // height of a line of a block
  const BAR = 41, BAR_SHARE = 0.08; // length of the longest bar, and its largest share of the width
  const GAP = 5, BETWEEN = 14; // gaps between bar, value and name; between columns, and between the axes and a block
  const ARROW = 18; // width of the small arrow after a name
  const INDENT = 10; // indent of the second line of a name
  const NARROW = 440; // on pages narrower than this, both blocks are below the axes
  const SHARE = 0.42; // largest share of the width for a block next to the axes
  const LINES_BELOW = 10, LINES_UNDER = 24; // lines of a block below the axes, and of two side by side
  const NARROWEST = 60; // smallest width of a name if a block has several columns
  const AXES = { left: 38, top: 6, ticks: 40 }; // margins for ticks and labels

  const paper = document.createElement("canvas").getContext("2d");
  function width(text, bold = false) {
    paper.font = `${bold ? "600 " : ""}12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, `
      + '"Noto Sans", sans-serif';
    return paper.measureText(text).width;
  }

  // A name, whose middle is omitted if it is wider than the limit.
  function fit(name, limit, bold = false) {
    if (width(name, bold) <= limit) return name;
    for (let kept = name.length - 1; kept > 4; kept--) {
      const front = Math.ceil(kept / 2);
      const short = `${name.slice(0, front)}…${name.slice(name.length - (kept - front))}`;
      if (width(short, bold) <= limit) return short;
    }
    return `${name.slice(0, 3)}…`;
  }

  // A name in one or two lines, broken after spaces or underscores; null if it does not fit.
  function wrapped(name, room) {
    const lines = [""];
    for (const piece of name.match(/[^\s_]*[\s_]+|[^\s_]+/g) ?? [name]) {
      const at = lines.length - 1;
      if (lines[at] === "" || width((lines[at] + piece).trimEnd()) <= room - (at && INDENT)) lines[at] += piece;
      else lines.push(piece);
    }
    const texts = lines.map(line => line.trimEnd());
    return texts.length <= 2 && texts.every((line, i) => width(line) <= room - (i && INDENT)) ? texts : null;
  }

  // A loading as ".50" or "−.26"; a nonzero loading is never shown as zero.
  function signed(value) {
    const text = Math.abs(value).toFixed(2).replace(/^0/, "");
    return (value < 0 ? "−" : "") + (text === ".00" ? "<.01" : text);
  }

  // --- a block ----------------------------------------------------------------------------------

  // The layout of the rows of a block, each { name, full, value, direction }, the largest first, in columns: the
  // position of each row, and the rows that are hidden. Null if names do not fit in several columns.
  function columned(rows, { unit, room, lines, heading }, columns, values) {
    const capacity = (lines - (heading ? 1 : 0)) * columns;
    const shown = rows.length <= capacity ? rows : rows.slice(0, capacity - 1);
    const ends = [0, ...shown.map(row => row.value)];
    const zero = -unit * Math.min(...ends);
    const numbers = values ? GAP + Math.max(0, ...shown.map(row => width(signed(row.value)))) : 0;
    const start = zero + unit * Math.max(...ends) + GAP + numbers;
    const column = (room - BETWEEN * (columns - 1)) / columns - start;
    if (columns > 1 && column - ARROW < NARROWEST) return null;
    let cut = 0;
    const entries = shown.map(row => {
      const space = column - (row.direction ? ARROW : 0);
      const whole = wrapped(row.full, space), label = whole ?? wrapped(row.name, space);
      cut += (whole === null) + (label === null);
      return { ...row, texts: label ?? [fit(row.name, space)], number: values ? signed(row.value) : "" };
    });
    const heights = [...entries.map(entry => entry.texts.length), ...(shown === rows ? [] : [1])];
    const depth = Math.ceil(Math.max(heights.reduce((a, b) => a + b, 0) / columns, ...heights));
    const places = filled(heights, depth, columns);
    const wide = Math.max(0, ...entries.map(({ texts, direction }) => (direction ? ARROW : 0)
      + Math.max(...texts.map((text, i) => width(text) + (i && INDENT)))));
    const pitch = start + wide + BETWEEN, first = heading ? 1 : 0;
    entries.forEach((entry, i) => Object.assign(entry, { x: places[i][0] * pitch, y: (places[i][1] + first) * LINE }));
    const rest = rows.slice(shown.length), end = places[places.length - 1];
    const text = `and ${rest.length} more`;
    const title = heading && fit(heading, room - ARROW, true);
    return {
      rows: entries, unit, zero, start, heading: title, cut, rest,
      more: rest.length ? { text, x: Math.max(0, Math.min(end[0] * pitch + start, room - width(text))),
        y: (end[1] + first) * LINE } : null,
      wide: Math.max(pitch * (1 + Math.max(0, ...places.map(place => place[0]))) - BETWEEN, width(title, true) + ARROW),
      high: LINE * (first + Math.max(0, ...places.map(([, line], i) => line + heights[i]))),
    };
  }

  // The column and line of rows with these heights, in columns of the smallest depth for which all fit.
  function filled(heights, least, columns) {
    for (let depth = least; ; depth++) {
      const places = [];
      let column = 0, line = 0;
      for (const height of heights) {
        if (line + height > depth) [column, line] = [column + 1, 0];
        places.push([column, line]);
        line += height;
      }
      if (column < columns) return places;
    }
  }

  // The layout that cuts the fewest names and hides the fewest variables; each line adds a small cost.
  function block(rows, space, columns, values) {
    let best = null;
    for (let count = 1; count <= columns; count++) {
      const layout = columned(rows, space, count, values);
      if (layout === null) continue;
      layout.cost = layout.cut + layout.rest.length + layout.high / (20 * LINE);
      if (best === null || layout.cost < best.cost) best = layout;
    }
    return best;
  }

  // --- the frame and the blocks -----------------------------------------------------------------

  // The second component is next to the axes and the first below them. On narrow pages, and if the variables of the
  // second do not fit, both are below: side by side, or stacked if names would be cut otherwise. Values are written
  // if no name is cut for them.
  function arranged(pair, headings, wide, framed) {
    const largest = Math.max(1e-12, ...pair.flat().map(row => Math.abs(row.value)));
    const unit = Math.min(BAR, BAR_SHARE * wide) / largest;
    const best = options => options.reduce((a, b) => (b.cost < a.cost ? b : a));
    if (framed && wide >= NARROW) {
      const layout = best([true, false].map(values => corner(pair, headings, unit, wide, values)));
      if (!layout.rest) return layout;
    }
    const frame = { left: AXES.left, right: wide - 6, top: AXES.top, bottom: AXES.top + (framed ? 0.8 * wide : 0) };
    const top = framed ? frame.bottom + AXES.ticks + 6 : 0;
    return { frame, ...best([2, 1].flatMap(columns =>
      [true, false].map(values => under(pair, headings, unit, wide, top, columns, values)))) };
  }

  function corner([across, up], headings, unit, wide, values) {
    const high = 0.62 * wide;
    const space = { unit, room: SHARE * wide, lines: Math.floor(high / LINE), heading: headings[1] };
    const beside = block(up, space, 1, values);
    const below = block(across, { unit, room: wide, lines: LINES_BELOW, heading: "" }, 4, values);
    const frame = { left: AXES.left, right: wide - beside.wide - BETWEEN, top: AXES.top, bottom: AXES.top + high };
    const top = frame.bottom + AXES.ticks + 6;
    return { frame, high: top + below.high + 4, cost: beside.cost + below.cost, rest: beside.rest.length,
      blocks: [[below, 0, top], [beside, frame.right + BETWEEN, frame.top]] };
  }

  function under(pair, headings, unit, wide, top, columns, values) {
    const room = columns === 1 ? wide : (wide - BETWEEN) / 2;
    const both = pair.map((rows, i) =>
      block(rows, { unit, room, lines: LINES_UNDER, heading: headings[i] }, 1, values));
    const [first, second] = both.map(layout => layout.high);
    const at = columns === 1 ? [0, top + first + 6] : [room + BETWEEN, top];
    return { high: Math.max(top + first, at[1] + second) + 4, cost: both[0].cost + both[1].cost + (columns === 1),
      blocks: [[both[0], 0, top], [both[1], ...at]] };
  }

  // --- the points and names within the frame ----------------------------------------------------

  // Both axes have the same scale, so that angles and distances are not distorted.
  function scaled(frame, positions) {
    const [xs, ys] = [0, 1].map(i => [0, ...positions.map(position => position[i])]);
    const [west, east, south, north] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const unit = Math.min((frame.right - frame.left - 24) / (east - west || 1),
      (frame.bottom - frame.top - 24) / (north - south || 1));
    return { unit, X: v => (frame.left + frame.right) / 2 + (v - (west + east) / 2) * unit,
      Y: v => (frame.top + frame.bottom) / 2 - (v - (south + north) / 2) * unit };
  }

  const inside = (box, [x, y]) => x > box[0] && x < box[2] && y > box[1] && y < box[3];
  const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

  // Names at the tips of arrows, placed to cover as little as possible, as in fit.biplot(); a name that would cover
  // much is omitted.
  function names(arrows, frame, { X, Y }, points) {
    const origin = [X(0), Y(0)], dots = points.map(([a, b]) => [X(a), Y(b)]);
    const pieces = arrows.flatMap(({ x, y }) => {
      const steps = Math.max(2, Math.hypot(X(x) - origin[0], Y(y) - origin[1]) / 5);
      return Array.from({ length: steps }, (_, i) => [0, 1].map(j => origin[j] + ([X(x), Y(y)][j] - origin[j]) * i / steps));
    });
    const taken = [];
    const cost = box => box[0] < frame.left || box[2] > frame.right || box[1] < frame.top || box[3] > frame.bottom
      || taken.some(other => meet(box, other)) ? Infinity
      : dots.filter(dot => inside(box, dot)).length + 3 * pieces.filter(piece => inside(box, piece)).length;
    return arrows.flatMap(({ name, full, x, y }) => {
      const [w, h] = [width(name) + 3, 14], angle = Math.atan2(Y(y) - origin[1], X(x) - origin[0]);
      let best = [8, null];
      [0, 0.4, -0.4, 0.8, -0.8, 1.2, -1.2, 1.7, -1.7].forEach((turn, rank) => {
        for (const away of [3, 8]) {
          const cx = X(x) + Math.cos(angle + turn) * (away + w / 2), cy = Y(y) + Math.sin(angle + turn) * (away + h / 2);
          const box = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], covered = cost(box) + 0.2 * rank + 0.1 * away;
          if (covered < best[0]) best = [covered, { x: cx, y: cy + 4, text: name, full, box }];
        }
      });
      if (best[1] === null) return [];
      taken.push(best[1].box);
      return [best[1]];
    });
  }

  return { LINE, arranged, fit, inside, names, scaled, width };
})();
