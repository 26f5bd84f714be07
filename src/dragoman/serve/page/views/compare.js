// Compare: two models, or two sets of weights, side by side; what differs is marked, and references give scores.

import { ask, during, latest, whileBusy } from "../api.js";
import { marked } from "../difference.js";
import { el, empty, failure, numbersTable, shown } from "../dom.js";
import { ModelChoice, textField } from "../fields.js";

const FEWEST = 20; // lines of which a test says anything
const linesOf = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line);

export function compareView(panel, { models, metrics }) {
  const asking = latest();
  const scored = metrics.includes("chrf") ? ["bleu", "chrf"] : metrics.slice(0, 1);
  const sides = [
    new ModelChoice(models, () => (sides[1].show(), compare()), { label: "First model" }),
  ];
  sides.push(new ModelChoice(models, () => compare(), { label: "Second model", suffix: "2", unlike: sides[0] }));
  const source = textField("Text, one sentence per line", { rows: 4, onInput: () => compare() });
  const reference = textField("Reference, one line per sentence (optional)", {
    name: "reference",
    rows: 4,
    onInput: () => compare(),
  });
  const trouble = el("div", { class: "trouble" });
  const result = el("div", { class: "result" });

  panel.append(
    el(
      "div",
      { class: "versus" },
      sides[0].element,
      el("span", { "aria-hidden": "true" }, "against"),
      sides[1].element,
    ),
    el("div", { class: "card" }, el("div", { class: "pair plain" }, source.element, reference.element), trouble),
    result,
  );

  async function compare() {
    const texts = linesOf(source.area.value);
    const references = linesOf(reference.area.value);
    if (!texts.length) {
      asking.cancel();
      trouble.replaceChildren();
      result.replaceChildren(
        empty(
          "Two systems, one text",
          "Choose two models, or two sets of weights, and type some sentences. Words that only one of them " +
            "chooses are marked. With a reference, each line has scores, and several lines a significance test.",
        ),
      );
      return;
    }
    const {
      result: found,
      error,
      cancelled,
    } = await whileBusy(result, () => asking((signal) => askBoth(texts, references, signal)));
    if (cancelled) return;
    trouble.replaceChildren(...(error ? [failure(error, error.work)] : []));
    if (error) result.replaceChildren();
    else showBoth(texts, references, found);
  }

  async function askBoth(texts, references, signal) {
    const both = await Promise.all(
      sides.map((side) =>
        during(
          `Translating with ${side.phrase}`,
          ask("translate", { body: { texts, split: false, ...side.request }, signal }),
        ),
      ),
    );
    const [outputs, others] = both.map((answer) => answer.translations.map((translation) => translation.text));
    if (!references.length) return { outputs, others };
    const scores = await during(
      "Scoring against the reference",
      ask("score", { body: { outputs, others, references, metrics: scored }, signal }),
    );
    return { outputs, others, scores };
  }

  function showBoth(texts, references, { outputs, others, scores }) {
    const differing = outputs.filter((text, i) => text !== others[i]).length;
    const head = `${differing} of ${texts.length} ${texts.length === 1 ? "line differs" : "lines differ"}`;
    result.replaceChildren(
      el("div", { class: "card scroll" }, el("p", {}, head), ...(scores ? summary(scores, texts.length) : [])),
      ...texts.map((text, i) =>
        el(
          "article",
          { class: "card compared" },
          el("p", { class: "source-line" }, text),
          el(
            "div",
            { class: "pair plain" },
            oneSide(sides[0].title, outputs[i], others[i], scores?.scores, scores?.others, i),
            oneSide(sides[1].title, others[i], outputs[i], scores?.others, scores?.scores, i),
          ),
          scores ? el("p", { class: "reference-line" }, el("small", {}, "reference "), references[i]) : null,
        ),
      ),
    );
  }

  function oneSide(title, text, other, own, theirs, line) {
    return el(
      "div",
      {},
      el("h3", { class: "label" }, title),
      el("p", { class: "output" }, text === other ? text : marked(text, other)),
      own
        ? el(
            "p",
            { class: "chips" },
            own.map((score, k) => badge(score, theirs[k], line)),
          )
        : null,
    );
  }

  function badge(score, other, line) {
    const [mine, yours] = [score.sentences[line], other.sentences[line]];
    const better = mine !== null && yours !== null && mine > yours;
    return el("span", { class: better ? "chip better" : "chip" }, `${score.metric} ${shown(mine, 1)}`);
  }

  function summary({ scores, others, comparisons }, lines) {
    const rows = scores.map((score, k) => {
      const test = lines < FEWEST ? null : comparisons?.find((some) => some.metric === score.metric);
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, score.metric),
        el("td", {}, shown(score.score, 2)),
        el("td", {}, shown(others[k].score, 2)),
        el("td", {}, test ? `p = ${shown(test.p_bootstrap)}` : "too few lines"),
      );
    });
    const head = ["whole text", sides[0].title, sides[1].title, "paired bootstrap"];
    const how = scores.flatMap((score) => [score.signature, score.note]).filter(Boolean);
    return [numbersTable(head, rows), ...how.map((line) => el("p", { class: "note signature" }, line))];
  }

  return {
    show() {
      for (const side of sides) side.show();
      source.show();
      reference.show();
      compare();
    },
    hide: () => asking.cancel(),
  };
}
