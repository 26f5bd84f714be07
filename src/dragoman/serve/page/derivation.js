// A derivation as a picture: phrases with their order, or the trees of both sides of a hierarchical one.

import { el, svg } from "./dom.js";
import { drawPhrases } from "./phrases.js";
import { drawTrees } from "./trees.js";
import { tokensOf } from "./words.js";

/** Draw a derivation. `words` (LinkedWords) gets to know the words in the picture. */
export function picture(derivation, words) {
  const tokens = tokensOf(derivation);
  const drawn = derivation.tree ? drawTrees(derivation, tokens, words) : drawPhrases(derivation, tokens, words);
  const image = svg(
    "svg",
    {
      class: "derivation",
      viewBox: `0 0 ${drawn.width} ${drawn.height}`,
      width: drawn.width,
      height: drawn.height,
      role: "img",
      "aria-label": `The derivation: ${inWords(derivation, tokens)}`,
    },
    drawn.shapes,
  );
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Derivation" }, image);
}

function inWords(derivation, tokens) {
  return derivation.phrases
    .map((phrase) => {
      const sides = ["source", "target"].map((side) => tokens[side].slice(...phrase[side]).join(" ") || "nothing");
      return `${sides.join(" becomes ")}${phrase.unknown ? " (unknown)" : ""}`;
    })
    .join("; ");
}
