// Translate: text in, translation out as one types; its words with their links, its derivations and its candidates.

import { ask, latest, whileBusy } from "../api.js";
import { picture } from "../derivation.js";
import { el, empty, failure, shown } from "../dom.js";
import { ModelChoice, languageName, textField } from "../fields.js";
import { nbestList } from "../nbest.js";
import { state } from "../state.js";
import { LinkedWords, placesIn, rulesOf, wordLine } from "../words.js";

const SIZE = 10; // of the n-best lists

export function translateView(panel, { models }) {
  const asking = latest();
  const choice = new ModelChoice(models, () => translate());
  const source = textField("Text", { rows: 5, onInput: () => translate() });
  const backdrop = el("div", { class: "backdrop", "aria-hidden": "true" });
  source.area.before(el("div", { class: "overlaid" }));
  source.area.previousSibling.append(backdrop, source.area);
  const output = el("div", { class: "output", "aria-live": "polite" });
  const caption = el("p", { class: "caption", role: "status" });
  const trouble = el("div", { class: "trouble" });
  const inside = el("div", { class: "inside" });
  const title = el("h2", { class: "label" }, "Translation");
  let sentences = [];

  panel.append(
    choice.element,
    el(
      "div",
      { class: "pair" },
      el("div", { class: "card" }, source.element, trouble),
      el("div", { class: "card" }, title, output, caption),
    ),
    inside,
  );

  async function translate() {
    const text = source.area.value;
    backdrop.textContent = "";
    if (!text.trim()) {
      asking.cancel();
      trouble.replaceChildren();
      return nothing();
    }
    const { result, error, cancelled } = await whileBusy(output, () =>
      asking((signal) => ask("translate", { body: { text, ...choice.request, details: true, nbest: SIZE }, signal })),
    );
    if (cancelled) return;
    trouble.replaceChildren(...(error ? [failure(error, `Translating with ${choice.phrase}`)] : []));
    if (error) clear();
    else showTranslation(text, result.translations[0]);
  }

  function clear() {
    sentences = [];
    output.replaceChildren();
    caption.textContent = "";
    inside.replaceChildren();
  }

  function nothing() {
    clear();
    const from = languageName(choice.model.source_language);
    inside.replaceChildren(
      empty(
        "Nothing to show yet",
        `Type a sentence${from ? ` in ${from}` : ""}. It is translated as you type. Below it you see the word alignment, ` +
          "the derivation, and the other candidates of the model.",
      ),
    );
  }

  function showTranslation(text, translation) {
    const onLook = (said) => (caption.textContent = said);
    sentences = translation.sentences.map((sentence) => ({
      ...sentence,
      words: new LinkedWords(sentence.derivation, { onLook }),
    }));
    const chosen = () => Math.min(Number(state.get("sentence", "0")) || 0, sentences.length - 1);
    output.replaceChildren(
      ...inPlace(translation.text, "text", (sentence, i) => {
        const line = wordLine(sentence.text, "target", sentence.words);
        line.classList.add("sentence");
        const choose = () => {
          state.set({ sentence: i || "" });
          if (sentences.length > 1) look(i);
        };
        line.addEventListener("click", choose);
        line.addEventListener("focusin", choose);
        return line;
      }),
    );
    backdrop.replaceChildren(...inPlace(text, "source", sourceLine), "\n");
    if (sentences.length) look(chosen());
    else inside.replaceChildren();
  }

  /** A whole text in pieces: its sentences as elements, and what is between them. */
  function inPlace(text, side, draw) {
    const pieces = [];
    let at = 0;
    sentences.forEach((sentence, i) => {
      const start = text.indexOf(sentence[side], at);
      if (start < 0) return;
      pieces.push(text.slice(at, start), draw(sentence, i, start));
      at = start + sentence[side].length;
    });
    return [...pieces, text.slice(at)];
  }

  /** A sentence behind the field of the text: what is lit or unknown there shines through. */
  function sourceLine(sentence, i, start) {
    const line = el("span", {});
    sentence.starts = [];
    let at = 0;
    placesIn(sentence.source, sentence.words.tokens.source).forEach((place, token) => {
      if (!place) return;
      const word = el("span", { class: "behind" }, sentence.source.slice(...place));
      sentence.words.add("source", token, word, { active: false });
      sentence.starts.push({ token, from: start + place[0], to: start + place[1], word });
      line.append(sentence.source.slice(at, place[0]), word);
      at = place[1];
    });
    line.append(sentence.source.slice(at));
    return line;
  }

  function lookAtSource(found) {
    for (const sentence of sentences) {
      const hit = sentence.starts?.find(found);
      sentence.words.look(hit ? "source" : null, hit?.token);
      if (hit) return;
    }
  }

  source.area.addEventListener("pointermove", ({ clientX, clientY }) =>
    lookAtSource(({ word }) =>
      [...word.getClientRects()].some(
        (box) => box.left <= clientX && clientX <= box.right && box.top <= clientY && clientY <= box.bottom,
      ),
    ),
  );
  source.area.addEventListener("pointerleave", () => lookAtSource(() => false));
  for (const event of ["keyup", "click"])
    source.area.addEventListener(event, () => {
      const at = source.area.selectionStart;
      lookAtSource(({ from, to }) => from <= at && at <= to);
    });
  source.area.addEventListener("scroll", () => (backdrop.scrollTop = source.area.scrollTop));

  function look(i) {
    if (inside.dataset.shown === String(i) && inside.sentence === sentences[i]) return;
    inside.dataset.shown = i;
    inside.sentence = sentences[i];
    const { derivation, words, nbest, score } = sentences[i];
    const which = sentences.length > 1 ? ` of sentence ${i + 1} of ${sentences.length}` : "";
    [...output.querySelectorAll(".sentence")].forEach((line, k) =>
      line.classList.toggle("chosen", k === i && sentences.length > 1),
    );
    const unknown = words.unknown.source.size;
    const count = derivation.tree ? `${rulesOf(derivation).length} rules` : `${derivation.phrases.length} phrases`;
    const facts = [`score ${shown(score)}`, count, unknown ? `${unknown} unknown` : null].filter(Boolean).join(" · ");
    inside.replaceChildren(
      el(
        "div",
        { class: "card" },
        el("h2", {}, `Derivation${which}`),
        el("p", { class: "note" }, facts),
        picture(derivation, words),
      ),
      el("div", { class: "card" }, el("h2", {}, `Best candidates${which}`), nbestList(nbest, choice.weights)),
    );
  }

  return {
    show() {
      choice.show();
      const to = languageName(choice.model.target_language);
      title.textContent = to ? `Translation, ${to}` : "Translation";
      const from = languageName(choice.model.source_language);
      source.element.querySelector("label").textContent = from ? `Text, ${from}` : "Text";
      source.show();
      translate();
    },
    hide: () => asking.cancel(),
  };
}
