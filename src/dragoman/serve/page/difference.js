// Which words of two texts differ, by their longest common subsequence.

import { el } from "./dom.js";

/** Whether each word of both lists is in the other as well, at its place in the order. */
export function common(first, second) {
  const lengths = Array.from({ length: first.length + 1 }, () => new Uint32Array(second.length + 1));
  for (let i = first.length - 1; i >= 0; i -= 1)
    for (let j = second.length - 1; j >= 0; j -= 1)
      lengths[i][j] =
        first[i] === second[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const same = [first.map(() => false), second.map(() => false)];
  for (let i = 0, j = 0; i < first.length && j < second.length;) {
    if (first[i] === second[j]) {
      same[0][i] = same[1][j] = true;
      i += 1;
      j += 1;
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) i += 1;
    else j += 1;
  }
  return same;
}

const split = (text) => text.split(/(\s+)/).filter((piece) => piece !== "");
const isWord = (piece) => /\S/.test(piece);

/** A text in which every word is marked that the other text does not have there. */
export function marked(text, other) {
  const pieces = split(text);
  const [same] = common(pieces.filter(isWord), split(other).filter(isWord));
  let word = 0;
  return pieces.map((piece) => {
    if (!isWord(piece)) return piece;
    word += 1;
    return same[word - 1] ? piece : el("mark", {}, piece);
  });
}
