// The picture of a hierarchical derivation: words in the middle, the rules around them above and below.
//
// A rule is a bar along the words that it covers, one row further out than what fills its holes. It has its own words
// where they stand in the sentence, and in the place of a hole the colour of the rule that fills it. Both sides of a
// rule have the same colour, and light up together.

import { svg } from "./dom.js";
import { TINTS, widthOf } from "./drawing.js";
import { rulesOf } from "./words.js";

const SIZE = 15; // of the letters, in pixels as all lengths here
const SMALL = 11;
const PAD = 7;
const GAP = 8;
const BOX = 28;
const ROW = 30; // from a rule to the one around it
const BAR = 20;
const BAND = 56;
const MOST_ROWS = 24; // of a very deep tree the outermost rules are left out, and counted

/** Shapes with their width and height. */
export function drawTrees(derivation, tokens, words) {
  const rules = rulesOf(derivation);
  const heights = heightsOf(rules);
  const deepest = Math.max(0, ...heights.values());
  const rows = Math.min(deepest, MOST_ROWS);
  const left = rules.filter((rule) => heights.get(rule) > rows).length;
  const columns = { source: columnsOf(tokens.source), target: columnsOf(tokens.target) };
  const width = Math.max(40, columns.source.width, columns.target.width);
  for (const side of ["source", "target"]) {
    const move = (width - columns[side].width) / 2;
    columns[side].places = columns[side].places.map(([from, to]) => [from + move, to + move]);
  }
  const top = rows * ROW + (left ? ROW : 0) + 2;
  const lines = { source: top, target: top + BOX + BAND };
  const height = lines.target + BOX + rows * ROW + 3;
  const shapes = [];
  if (left) shapes.push(svg("text", { class: "left-out", x: 2, y: ROW / 2 }, `… ${left} more rules around these`));
  const tints = new Map(rules.map((rule, i) => [rule, `tint-${i % TINTS}`]));
  const bands = rules.flatMap((rule) => rule.links.map(([from, to]) => link(columns, lines, from, to, rule.unknown)));
  for (const rule of rules) {
    const sides = ["source", "target"].map((side) =>
      drawSide(rule, side, { tokens, columns, lines, heights, rows, tints, words }),
    );
    const look = (on) => () => sides.forEach((group) => group.classList.toggle("lit", on));
    for (const group of sides) {
      group.addEventListener("pointerenter", look(true));
      group.addEventListener("pointerleave", look(false));
      shapes.push(group);
    }
  }
  return { shapes: [...bands, ...shapes], width: width + 2, height };
}

/** How many rules there are below each rule, on the longest way. */
function heightsOf(rules) {
  const heights = new Map();
  for (const rule of [...rules].reverse())
    heights.set(rule, Math.max(0, ...rule.children.map((child) => 1 + (heights.get(child) ?? 0))));
  return heights;
}

function columnsOf(tokens) {
  let at = 1;
  const places = tokens.map((token) => {
    const from = at;
    at += Math.max(widthOf(token, SIZE), SIZE) + 2 * PAD + GAP;
    return [from, at - GAP];
  });
  return { places, width: Math.max(0, at - GAP) };
}

/** One side of a rule: positions of its words, and its children in the place of holes, from left to right. */
function symbolsOf(rule, side) {
  const symbols = [];
  let at = rule[side][0];
  const children = rule.children.map((child, k) => ({ child, k }));
  children.sort((a, b) => a.child[side][0] - b.child[side][0] || a.child[side][1] - b.child[side][1]);
  for (const { child, k } of children) {
    for (; at < child[side][0]; at += 1) symbols.push({ word: at });
    symbols.push({ child, k });
    at = child[side][1];
  }
  for (; at < rule[side][1]; at += 1) symbols.push({ word: at });
  return symbols;
}

function drawSide(rule, side, { tokens, columns, lines, heights, rows, tints, words }) {
  const group = svg("g", { class: `rule ${tints.get(rule)}${rule.unknown ? " is-unknown" : ""}` });
  const [begin, end] = rule[side];
  if (begin === end) return group;
  const places = columns[side].places;
  const height = heights.get(rule);
  const hasBar = height > 0 && height <= rows;
  const line = lines[side];
  const bar = side === "source" ? line + (BOX - BAR) / 2 - height * ROW : line + (BOX - BAR) / 2 + height * ROW;
  const [from, to] = [places[begin][0], places[end - 1][1]];
  const whole = height === 0 ? { y: line, height: BOX, rx: 5 } : { y: bar, height: BAR, rx: 4 };
  if (height === 0 || hasBar) group.append(svg("rect", { class: "own", x: from, width: to - from, ...whole }));
  for (const symbol of symbolsOf(rule, side)) {
    if (symbol.child) {
      const [first, last] = symbol.child[side];
      if (first === last || !hasBar) continue;
      const [a, b] = [places[first][0], places[last - 1][1]];
      group.append(
        svg("rect", { class: `hole ${tints.get(symbol.child)}`, x: a, y: bar, width: b - a, height: BAR }),
        svg("text", { class: "hole-name", x: (a + b) / 2, y: bar + BAR / 2 }, `X${symbol.k + 1}`),
      );
      continue;
    }
    const [a, b] = places[symbol.word];
    const middle = (a + b) / 2;
    if (hasBar) {
      group.append(
        svg("line", { class: "stem", x1: middle, x2: middle, y1: bar + BAR / 2, y2: line + BOX / 2 }),
        svg(
          "text",
          { class: "small-word", x: middle, y: bar + BAR / 2, "font-size": SMALL },
          tokens[side][symbol.word],
        ),
      );
    }
    if (height > 0) group.append(svg("rect", { class: "own", x: a, y: line, width: b - a, height: BOX, rx: 5 }));
    group.append(
      words.add(
        side,
        symbol.word,
        svg("text", { class: "drawn-word", x: middle, y: line + BOX / 2 }, tokens[side][symbol.word]),
      ),
    );
  }
  if (height === 0 || hasBar) group.append(svg("rect", { class: "outline", x: from, width: to - from, ...whole }));
  return group;
}

function link(columns, lines, from, to, unknown) {
  const middle = ([a, b]) => (a + b) / 2;
  const [x1, x2] = [middle(columns.source.places[from]), middle(columns.target.places[to])];
  const [y1, y2] = [lines.source + BOX, lines.target];
  const half = (y1 + y2) / 2;
  const d = `M${x1} ${y1}C${x1} ${half} ${x2} ${half} ${x2} ${y2}`;
  return svg("path", { class: `link${unknown ? " is-unknown" : ""}`, d });
}
