// Normalise: old spelling in, modern spelling out as one types; what changed is marked, and other forms are a click away.
// What is corrected by hand stays so for its form, whatever is typed, and can be saved as examples to train on.

import { ask, latest, whileBusy } from "../api.js";
import { copyText, download, el, empty, failure } from "../dom.js";
import { ModelChoice, textField } from "../fields.js";

const UNSURE = 0.8; // below this, a form is worth a look

const percent = (share) => `${share > 0.995 && share < 1 ? "> 99" : Math.round(100 * share)} %`;

export function normaliseView(panel, { models }) {
  const normalisers = models.filter((model) => model.normalises);
  if (!normalisers.length) {
    const command = "dragoman serve --model FOLDER";
    panel.append(
      empty(
        "This service has no normaliser",
        `A normaliser converts old spelling to modern spelling. Train one on pairs of words (dragoman normalise train) ` +
          `and serve its folder: ${command}.`,
      ),
    );
    return { show() {} };
  }
  const asking = latest();
  const choice = new ModelChoice(normalisers, () => normalise(), { label: "Normaliser" });
  const source = textField("Text in old spelling", { rows: 5, onInput: () => normalise() });
  const trouble = el("div", { class: "trouble" });
  const output = el("div", { class: "output", "aria-label": "Text in modern spelling" });
  const summary = el("p", { class: "note", role: "status" });
  const forms = el("div", { class: "inside" });
  const copy = el("button", { type: "button", on: { click: () => copyText(text()) } }, "Copy");
  const save = el("button", { type: "button", on: { click: () => download("modern.txt", text()) } }, "Download");
  const saveCorrections = el(
    "button",
    {
      type: "button",
      hidden: true,
      title: "Table of your corrections, as examples for dragoman normalise train",
      on: { click: () => download("corrections.tsv", table()) },
    },
    "Save corrections",
  );
  const corrections = new Map(); // words as they stand in the text, and what they are by hand
  let lines = [];
  let words = [];
  let markup = false;

  panel.append(
    choice.element,
    el(
      "div",
      { class: "pair" },
      el("div", { class: "card" }, source.element, trouble),
      el(
        "div",
        { class: "card" },
        el("div", { class: "actions" }, el("h2", { class: "label" }, "Modern spelling"), copy, save, saveCorrections),
        output,
        summary,
      ),
    ),
    forms,
  );

  async function normalise() {
    const asked = source.area.value;
    if (!asked.trim()) {
      asking.cancel();
      trouble.replaceChildren();
      return nothing();
    }
    const { result, error, cancelled } = await whileBusy(output, () =>
      asking((signal) => ask("normalise", { body: { text: asked, model: choice.model.name }, signal })),
    );
    if (cancelled) return;
    trouble.replaceChildren(...(error ? [failure(error)] : []));
    output.classList.toggle("stale", Boolean(error));
    if (!error) draw(result);
  }

  function nothing() {
    lines = words = [];
    output.replaceChildren();
    output.classList.remove("stale");
    summary.textContent = "";
    copy.hidden = save.hidden = true;
    forms.replaceChildren(
      empty(
        "Nothing to normalise yet",
        "Type or paste old text. Words that change are marked, and uncertain words have dotted lines. " +
          "Press a word to see other forms and to choose one.",
      ),
    );
  }

  const text = () =>
    lines
      .map(({ between, shown }) => between.map((piece, i) => piece + (shown[i]?.form.text ?? "")).join(""))
      .join("\n");

  const table = () => [...corrections].map(([word, form]) => `${word.replace(/\s+/g, " ")}\t${form}\n`).join("");

  function draw(result) {
    markup = result.markup;
    lines = result.lines.map((line) => ({ ...line, shown: line.words.map(shownWord) }));
    words = lines.flatMap((line) => line.shown);
    copy.hidden = save.hidden = false;
    output.replaceChildren(
      ...lines.flatMap(({ between, shown }, i) => [
        ...between.flatMap((piece, k) => [piece, shown[k]?.element]).filter((part) => part !== undefined),
        i + 1 < lines.length ? "\n" : "",
      ]),
    );
    words.forEach(mark);
    if (words.length) words[0].element.tabIndex = 0;
    forms.replaceChildren();
    summarise();
  }

  /** A word as a button; its form may be chosen anew. */
  function shownWord({ word, modern, confidence, alternatives }) {
    const options = [{ text: modern, confidence }, ...alternatives];
    if (!options.some((option) => option.text === word)) options.push({ text: word, confidence: null });
    const one = { word, options, form: options[0], byHand: false };
    if (corrections.has(word)) write(one, corrections.get(word));
    one.element = el("button", { type: "button", class: "spelt", tabindex: "-1", on: { click: () => look(one) } });
    return one;
  }

  /** Give a word a form by hand, which may be one that nobody proposed. */
  function write(one, text) {
    if (!one.options.some((option) => option.text === text)) one.options.push({ text, confidence: null });
    one.form = one.options.find((option) => option.text === text);
    one.byHand = true;
  }

  /** Correct a form wherever it stands, or without a text, take its correction back. */
  function correct(one, text) {
    if (text) corrections.set(one.word, text);
    else corrections.delete(one.word);
    for (const same of words.filter(({ word }) => word === one.word)) {
      if (text) write(same, text);
      else Object.assign(same, { form: same.options[0], byHand: false });
      mark(same);
    }
    summarise();
    look(one);
  }

  function mark({ element, word, form, byHand }) {
    element.textContent = form.text;
    element.classList.toggle("changed", form.text !== word);
    element.classList.toggle("by-hand", byHand);
    element.classList.toggle("unsure", !byHand && form.confidence < UNSURE);
    element.title = byHand ? `${word}: your choice` : `${word}: ${percent(form.confidence)} sure`;
  }

  function summarise() {
    const changed = words.filter(({ word, form }) => form.text !== word).length;
    const unsure = words.filter(({ form, byHand }) => !byHand && form.confidence < UNSURE).length;
    summary.textContent =
      `${changed} of ${words.length} words changed; ${unsure} with confidence below ${percent(UNSURE)}.` +
      (corrections.size ? ` Your corrections: ${corrections.size}.` : "") +
      (markup ? " Tags do not change." : "");
    saveCorrections.hidden = !corrections.size;
  }

  /** Show what else a word may be. */
  function look(one) {
    for (const { element } of words) {
      element.classList.toggle("looked-at", element === one.element);
      element.tabIndex = element === one.element ? 0 : -1;
    }
    const rows = one.options.map((option) =>
      el(
        "li",
        {},
        el(
          "button",
          { type: "button", class: "probable", "aria-pressed": String(option === one.form), on: { click: choose } },
          el("span", { class: "candidate-text" }, option.text, option.text === one.word ? asItIs() : null),
          el(
            "span",
            { class: "share", "aria-hidden": "true" },
            el("i", { vars: { "--share": String(option.confidence ?? 0) } }),
          ),
          el("span", { class: "number" }, option.confidence === null ? "" : percent(option.confidence)),
        ),
      ),
    );
    function choose(event) {
      const at = rows.findIndex((row) => row.contains(event.currentTarget));
      correct(one, one.options[at].text);
      forms.querySelectorAll("button.probable")[at].focus();
    }
    const other = el("input", { type: "text", "aria-label": "Another form", placeholder: "another form" });
    const own = el(
      "form",
      {
        class: "actions",
        on: {
          submit: (event) => {
            event.preventDefault();
            const typed = other.value.replace(/\s+/g, " ").trim();
            if (typed) correct(one, typed);
          },
        },
      },
      other,
      el("button", { type: "submit" }, "Correct"),
      one.byHand &&
        el("button", { type: "button", on: { click: () => correct(one, null) } }, "Undo the correction"),
    );
    forms.replaceChildren(
      el(
        "div",
        { class: "card" },
        el("h2", {}, `Modern forms of “${one.word}”`),
        el("ul", { class: "candidates" }, rows),
        own,
      ),
    );
  }

  const asItIs = () => el("span", { class: "chips" }, el("span", { class: "chip" }, "unchanged"));

  // Words are one stop of the Tab key; arrows go from one to the next.
  output.addEventListener("keydown", (event) => {
    const at = words.findIndex(({ element }) => element === document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: words.length - 1 }[event.key];
    if (at < 0 || to === undefined || !words[to]) return;
    event.preventDefault();
    words[at].element.tabIndex = -1;
    words[to].element.tabIndex = 0;
    words[to].element.focus();
  });

  return {
    show() {
      choice.show();
      choice.element.hidden = normalisers.length < 2;
      source.show();
      normalise();
    },
    hide: () => asking.cancel(),
  };
}
