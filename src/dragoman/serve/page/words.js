// Words that know their partners: where tokens stand in a text, and which light up together.

import { el } from "./dom.js";

const LONGEST_GAP = 12; // characters that may stand between two tokens and belong to neither

/** Where each token stands in a text, as [start, end], or null where it cannot be found (case does not matter). */
export function placesIn(text, tokens) {
  const folded = text.toLowerCase();
  if (folded.length !== text.length) return tokens.map(() => null);
  let at = 0;
  return tokens.map((token) => {
    const start = folded.indexOf(token.toLowerCase(), at);
    if (start < 0 || start - at > LONGEST_GAP) return null;
    at = start + token.length;
    return [start, at];
  });
}

/** A text in pieces `{text, token}`: tokens, and what is between them (`token` is null). A lost token loses nothing. */
export function piecesOf(text, tokens) {
  const pieces = [];
  let at = 0;
  placesIn(text, tokens).forEach((place, token) => {
    if (!place || place[0] === place[1]) return;
    if (place[0] > at) pieces.push({ text: text.slice(at, place[0]), token: null });
    pieces.push({ text: text.slice(...place), token });
    at = place[1];
  });
  if (at < text.length) pieces.push({ text: text.slice(at), token: null });
  return pieces;
}

/** The rules of a derivation's tree from the outside in, without the glue; none where there is no tree. */
export function rulesOf(derivation) {
  const found = [];
  const waiting = derivation.tree ? [derivation.tree] : [];
  while (waiting.length) {
    const node = waiting.pop();
    if (!node.glue) found.push(node);
    for (let i = node.children.length - 1; i >= 0; i -= 1) waiting.push(node.children[i]);
  }
  return found;
}

/** The tokens of both sides of a derivation. */
export function tokensOf(derivation) {
  const split = (text) => text.split(" ").filter((token) => token !== "");
  return { source: split(derivation.source), target: split(derivation.text) };
}

/** The links of a derivation, and the elements that stand for its words; looking at one lights up its partners. */
export class LinkedWords {
  constructor(derivation, { onLook } = {}) {
    const parts = derivation.tree ? rulesOf(derivation) : derivation.phrases;
    this.tokens = tokensOf(derivation);
    this.links = parts.flatMap((part) => part.links);
    this.phrases = derivation.phrases;
    this.unknown = { source: new Set(), target: new Set() };
    for (const part of parts.filter((some) => some.unknown)) {
      for (const side of ["source", "target"])
        for (let i = part[side][0]; i < part[side][1]; i += 1) this.unknown[side].add(i);
    }
    this.elements = { source: new Map(), target: new Map() };
    this.onLook = onLook;
  }

  /** The words of the other side that a word is linked with; those of its phrase, where it has no links. */
  partners(side, index) {
    const [here, there, other] = side === "source" ? [0, 1, "target"] : [1, 0, "source"];
    const linked = this.links.filter((link) => link[here] === index).map((link) => link[there]);
    if (linked.length) return [...new Set(linked)].sort((a, b) => a - b);
    const phrase = this.phrases.find((some) => some[side][0] <= index && index < some[side][1]);
    if (!phrase) return [];
    return Array.from({ length: phrase[other][1] - phrase[other][0] }, (_, i) => phrase[other][0] + i);
  }

  /** Let an element stand for a word; `active` elements are looked at by pointer and focus. */
  add(side, index, element, { active = true } = {}) {
    const known = this.elements[side];
    known.set(index, [...(known.get(index) ?? []), element]);
    if (this.unknown[side].has(index)) element.classList.add("unknown");
    if (!active) return element;
    for (const event of ["pointerenter", "focus"]) element.addEventListener(event, () => this.look(side, index));
    for (const event of ["pointerleave", "blur"]) element.addEventListener(event, () => this.look(null));
    return element;
  }

  /** Light up a word and its partners; without a side, nothing. */
  look(side, index) {
    for (const map of Object.values(this.elements))
      for (const elements of map.values()) for (const element of elements) element.classList.remove("lit", "looked-at");
    if (side === null || side === undefined) return this.onLook?.("");
    const other = side === "source" ? "target" : "source";
    const partners = this.partners(side, index);
    for (const element of this.elements[side].get(index) ?? []) element.classList.add("looked-at");
    for (const partner of partners)
      for (const element of this.elements[other].get(partner) ?? []) element.classList.add("lit");
    return this.onLook?.(this.say(side, index, partners));
  }

  /** A word and its partners, in words. */
  say(side, index, partners) {
    const other = side === "source" ? "target" : "source";
    const word = this.tokens[side][index];
    if (this.unknown[side].has(index)) return `${word}: unknown to the model, copied`;
    const there = partners.map((partner) => this.tokens[other][partner]).join(" ") || "nothing";
    return side === "source" ? `${word} → ${there}` : `${word} ← ${there}`;
  }
}

/** A text as a line of words that light up; the line is one stop for the Tab key, arrows go from word to word. */
export function wordLine(text, side, words) {
  const line = el("span", { class: "word-line" });
  const stops = [];
  for (const piece of piecesOf(text, words.tokens[side])) {
    if (piece.token === null) {
      line.append(piece.text);
      continue;
    }
    const word = el("span", { class: "word", tabindex: stops.length ? "-1" : "0" }, piece.text);
    words.add(side, piece.token, word);
    stops.push(word);
    line.append(word);
  }
  line.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = stops.indexOf(document.activeElement);
    const next = stops[at + step];
    if (!step || at < 0 || !next) return;
    event.preventDefault();
    stops[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  return line;
}
