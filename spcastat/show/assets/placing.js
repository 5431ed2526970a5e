"use strict";
// Where the names of the biplot's arrows stand: in lists at the ends of the axes, at tips, or in the note below.
// Lengths are in pixels, and a box is [left, top, right, bottom].
const placing = (() => {
  const LINE = 14; // from one line of a list to the next
  const EDGE = 5; // between a list and the frame
  const ROOM = [1, 0.7, 0.45, 0.25]; // of the lines that a list may have; then all names go into the note
  const HEADS = { right: "→", left: "←", top: "↑", bottom: "↓" };

  const paper = document.createElement("canvas").getContext("2d");
  function width(text, bold = false) {
    paper.font = `${bold ? "600 " : ""}12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, `
      + '"Noto Sans", sans-serif';
    return paper.measureText(text).width;
  }

  const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

  // Whether a segment from (x, y) to (to, up) passes through a box.
  function crosses(box, x, y, to, up) {
    let enter = 0, leave = 1;
    for (const [start, step, low, high] of [[x, to - x, box[0], box[2]], [y, up - y, box[1], box[3]]]) {
      if (step === 0) {
        if (start < low || start > high) return false;
        continue;
      }
      const [a, b] = [(low - start) / step, (high - start) / step];
      enter = Math.max(enter, Math.min(a, b));
      leave = Math.min(leave, Math.max(a, b));
    }
    return enter <= leave;
  }

  // A name without its middle where it is wider than the limit.
  function fit(name, limit, bold = false) {
    if (width(name, bold) <= limit) return name;
    for (let kept = name.length - 1; kept > 4; kept--) {
      const front = Math.ceil(kept / 2);
      const short = `${name.slice(0, front)}…${name.slice(name.length - (kept - front))}`;
      if (width(short, bold) <= limit) return short;
    }
    return `${name.slice(0, 3)}…`;
  }

  // A weight that is not zero never reads as zero.
  function signed(value) {
    const text = Math.abs(value).toFixed(2);
    const sign = value > 0 ? "+" : value < 0 ? "−" : "";
    return sign + (value !== 0 && text === "0.00" ? "<.01" : text);
  }

  // Variables with a loading on one of both components lie on an axis: a list at its end, the largest first.
  function listsOf(arrows, names, wide, high, room) {
    const found = [];
    for (const [side, head] of Object.entries(HEADS)) {
      const here = arrows.filter(a => a.side === side);
      if (!here.length) continue;
      const across = side === "left" || side === "right";
      const limit = wide * (across ? 0.42 : 0.7);
      const most = Math.floor(high * (across ? 0.5 : 0.24) * room / LINE) - 1;
      const shown = here.length <= most ? here : here.slice(0, Math.max(most - 1, 0));
      const rest = here.slice(shown.length);
      const entry = ({ name, weight }) => {
        const value = signed(weight), short = fit(name, limit - width(`${value}  `));
        return side === "left" ? `${short}  ${value}` : `${value}  ${short}`;
      };
      const lines = shown.map(a => [entry(a), a.full]);
      if (lines.length) {
        const whole = names[across ? 0 : 1];
        lines.unshift([`${head} ${fit(whole, limit - width(`${head}  alone`, true), true)} alone`, whole]);
        if (rest.length) lines.push([`and ${rest.length} more`, rest.map(a => a.full).join(", ")]);
      }
      const widths = lines.map(([line], i) => width(line, i === 0));
      found.push({ side, lines, w: Math.max(0, ...widths), h: lines.length * LINE,
        note: rest.length ? told(head, names[across ? 0 : 1], rest, shown.length > 0) : "" });
    }
    return found;
  }

  function told(head, component, arrows, further) {
    const names = arrows.map(({ full, weight }) => `${full} ${signed(weight)}`);
    return `${head} ${component} alone${further ? ", further" : ""}: ${names.join(", ")}.`;
  }

  // The largest scale, and the longest lists, at which no list meets another or an arrow, and next to no point is
  // hidden. One unit is as long across as up: angles and distances are what they seem.
  function laidOut(frame, arrows, names, points, wide, high) {
    const xs = [0, ...points.map(p => p[0]), ...arrows.map(a => a.x)];
    const ys = [0, ...points.map(p => p[1]), ...arrows.map(a => a.y)];
    const [west, east, south, north] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const full = Math.min((frame.right - frame.left - 24) / (east - west || 1),
      (frame.bottom - frame.top - 24) / (north - south || 1));
    const scaled = unit => ({ unit, X: v => (frame.left + frame.right) / 2 + (v - (west + east) / 2) * unit,
      Y: v => (frame.top + frame.bottom) / 2 - (v - (south + north) / 2) * unit });
    let best = null;
    for (const room of ROOM) {
      const lists = listsOf(arrows, names, wide, high, room), boxed = lists.filter(list => list.lines.length);
      for (let share = 1; share > 0.5; share -= 0.06) {
        const scale = scaled(full * share);
        const found = spots(boxed, frame, scale, points, arrows);
        if (found === null) continue;
        const placed = { ...scale, lists, boxes: new Map(boxed.map((list, i) => [list, found.boxes[i]])) };
        if (found.hidden <= 0.01 * points.length) return placed;
        if (best === null || found.hidden < best[0]) best = [found.hidden, placed];
      }
    }
    if (best !== null && best[0] <= 0.05 * points.length) return best[1];
    return { ...scaled(full), lists: listsOf(arrows, names, wide, high, 0), boxes: new Map() };
  }

  // A box for each list, and how many points the worst of them hides; null where lists would meet.
  function spots(lists, frame, { X, Y }, points, arrows) {
    const dots = points.map(([a, b]) => [X(a), Y(b)]), tips = arrows.map(a => [X(a.x), Y(a.y)]);
    const boxes = [];
    let hidden = 0;
    for (const list of lists) {
      const found = spot(list, frame, X(0), Y(0), dots, tips, boxes);
      if (found === null) return null;
      boxes.push(found[0]);
      hidden = Math.max(hidden, found[1]);
    }
    return { boxes, hidden };
  }

  // Where a list at an edge of the frame stands best: near its axis, over few points, no arrow and no other list.
  function spot({ side, w, h }, frame, x, y, dots, tips, taken) {
    const across = side === "left" || side === "right";
    const [low, high, centre] = across ? [frame.top + EDGE, frame.bottom - h - EDGE, y - h / 2]
      : [frame.left + EDGE, frame.right - w - EDGE, x - w / 2];
    if (low > high) return null;
    let best = null;
    for (let step = 0; step < 40; step++) {
      const at = Math.max(low, Math.min(high, centre + (step % 2 ? 1 : -1) * Math.ceil(step / 2) * 8));
      const [left, top] = across ? [side === "right" ? frame.right - w - EDGE : frame.left + EDGE, at]
        : [at, side === "top" ? frame.top + EDGE : frame.bottom - h - EDGE];
      const box = [left, top, left + w, top + h];
      if (taken.some(other => meet(wider(box), other)) || tips.some(([a, b]) => crosses(box, x, y, a, b))) continue;
      const hidden = dots.filter(([a, b]) => a > left && a < box[2] && b > top && b < box[3]).length;
      if (best === null || hidden < best[1]) best = [box, hidden];
      if (hidden === 0) break;
    }
    return best;
  }

  const wider = ([left, top, right, bottom]) => [left - 4, top - 4, right + 4, bottom + 4];

  // A name stands nearer to its own tip than to another and across no shaft, or is a number with its key below.
  // Returns the texts with the places of their middles, and what the note says.
  function namesOf(free, frame, { X, Y, boxes }, arrows) {
    const taken = [...boxes.values()], tips = arrows.map(a => [X(a.x), Y(a.y), a]), texts = [], keys = [];
    const away = (box, x, y) => Math.hypot(Math.max(box[0] - x, 0, x - box[2]), Math.max(box[1] - y, 0, y - box[3]));
    const put = (text, arrow) => {
      const w = width(text) + 2, h = 13, x = X(arrow.x), y = Y(arrow.y);
      const angle = Math.atan2(y - Y(0), x - X(0));
      for (const far of [4, 9, 15]) {
        for (const turn of [0, 0.5, -0.5, 1, -1, 1.6, -1.6]) {
          const [a, b] = [Math.cos(angle + turn), Math.sin(angle + turn)];
          const [cx, cy] = [x + a * (far + w / 2), y + b * (far + h / 2)];
          const box = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2];
          const inside = box[0] >= frame.left && box[2] <= frame.right && box[1] >= frame.top && box[3] <= frame.bottom;
          if (!inside || taken.some(other => meet(box, other))) continue;
          if (tips.some(([tx, ty, other]) => other !== arrow && away(box, tx, ty) <= away(box, x, y))) continue;
          if (tips.some(([tx, ty]) => crosses(box, X(0), Y(0), tx, ty))) continue;
          taken.push(box);
          texts.push({ x: cx, y: cy + 4, text, full: arrow.full });
          return true;
        }
      }
      return false;
    };
    let number = 0;
    for (const arrow of free) {
      if (put(arrow.name, arrow)) continue;
      number += 1;
      if (put(String(number), arrow)) keys.push(`${number} ${arrow.full}`);
      else {
        number -= 1;
        keys.push(`${arrow.full} (${signed(arrow.x)}, ${signed(arrow.y)})`);
      }
    }
    return { texts, note: keys.length ? `Names without room: ${keys.join("; ")}.` : "" };
  }

  return { LINE, fit, laidOut, namesOf, width };
})();
