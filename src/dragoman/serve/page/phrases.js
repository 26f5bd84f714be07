// The picture of a phrase-based derivation: source phrases above, their translations below, a band from each to each.

import { svg } from "./dom.js";
import { TINTS, widthOf } from "./drawing.js";

const SIZE = 15; // of the letters, in pixels as all lengths here
const PAD = 9;
const GAP = 10;
const BOX = 32;
const BAND = 58;
const BADGE = 18;

/** Shapes with their width and height. Numbers say in which order phrases are translated, if that is not theirs. */
export function drawPhrases(derivation, tokens, words) {
  const phrases = derivation.phrases;
  const inOrder = phrases.map((_, i) => i).sort((a, b) => phrases[a].source[0] - phrases[b].source[0]);
  const reordered = inOrder.some((phrase, place) => phrase !== place);
  const above = boxes(phrases, tokens.source, "source", inOrder);
  const below = boxes(phrases, tokens.target, "target", [...phrases.keys()]);
  const width = Math.max(above.width, below.width, 40);
  const top = reordered ? BADGE : 2;
  const rows = { source: top, target: top + BOX + BAND };
  const moved = { source: (width - above.width) / 2, target: (width - below.width) / 2 };

  const bands = [];
  const shapes = [];
  phrases.forEach((phrase, i) => {
    const tint = `tint-${i % TINTS}`;
    const [up, down] = [above.boxes[i], below.boxes[i]];
    bands.push(
      svg("path", {
        class: `band ${tint}`,
        d: bandPath(up, down, moved, rows.source + BOX, rows.target),
      }),
    );
    for (const [side, box] of [
      ["source", up],
      ["target", down],
    ]) {
      const left = box.left + moved[side];
      const group = svg("g", { class: `phrase ${tint}${phrase.unknown ? " is-unknown" : ""}` });
      group.append(svg("rect", { x: left, y: rows[side], width: box.width, height: BOX, rx: 7 }));
      for (const word of box.words) {
        const text = svg(
          "text",
          { x: moved[side] + word.middle, y: rows[side] + BOX / 2, class: "drawn-word" },
          word.text,
        );
        if (word.index !== null) words.add(side, word.index, text);
        group.append(text);
      }
      if (reordered && side === "source")
        group.append(svg("text", { class: "order", x: left + box.width / 2, y: BADGE / 2 - 1 }, String(i + 1)));
      shapes.push(group);
    }
  });
  return { shapes: [...bands, ...shapes], width: width + 2, height: rows.target + BOX + 2 };
}

function boxes(phrases, tokens, side, order) {
  const space = widthOf(" ", SIZE) + 1;
  const found = [];
  let left = 1;
  for (const i of order) {
    const [begin, end] = phrases[i][side];
    const words = [];
    let at = left + PAD;
    for (let index = begin; index < end; index += 1) {
      const wide = widthOf(tokens[index], SIZE);
      words.push({ text: tokens[index], index, middle: at + wide / 2 });
      at += wide + space;
    }
    if (begin === end) {
      words.push({ text: "∅", index: null, middle: at + SIZE / 2 });
      at += SIZE + space;
    }
    const width = at - space + PAD - left;
    found[i] = { left, width, words };
    left += width + GAP;
  }
  return { boxes: found, width: Math.max(0, left - GAP) };
}

function bandPath(up, down, moved, y1, y2) {
  const [a, b] = [up.left + moved.source + 3, up.left + up.width + moved.source - 3];
  const [c, d] = [down.left + moved.target + 3, down.left + down.width + moved.target - 3];
  const middle = (y1 + y2) / 2;
  return `M${a} ${y1}C${a} ${middle} ${c} ${middle} ${c} ${y2}L${d} ${y2}C${d} ${middle} ${b} ${middle} ${b} ${y1}Z`;
}
