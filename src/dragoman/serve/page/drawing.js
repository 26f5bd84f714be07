// What pictures have in common: their colours, and how wide words are.

/** How many soft colours there are for phrases and rules, `tint-0` and on in the style sheet. */
export const TINTS = 6;

let pen = null;

/** The width of words as the picture writes them. */
export function widthOf(text, size) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
