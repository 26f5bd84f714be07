// Weights: a slider for each dense feature. What the search kept is weighted anew, so that everything moves at once.

import { ask, inTurn, whileBusy, ServiceError } from "../api.js";
import { picture } from "../derivation.js";
import { marked } from "../difference.js";
import { copyText, el, empty, failure, shown } from "../dom.js";
import { ModelChoice, textField } from "../fields.js";
import { exchanged, movement, nbestList } from "../nbest.js";
import { Sliders } from "../sliders.js";
import { state } from "../state.js";
import { LinkedWords } from "../words.js";

const SIZE = 12; // of the n-best list

// Shares of a mixture change the features of what the search kept, not their weights.
const canMove = (feature) => feature.dense && feature.group !== "mix";

export function weightsView(panel, { models }) {
  const choice = new ModelChoice(models, () => begin());
  const source = textField("Sentence", { rows: 2, onInput: () => begin() });
  const trouble = el("div", { class: "trouble" });
  const holder = el("div", { class: "holder" });
  const reset = el("button", { type: "button" }, "Reset");
  const copy = el("button", { type: "button" }, "Copy as weights.txt");
  const copied = el("span", { role: "status", class: "note" });
  const result = el("div", { class: "result" });
  let sliders = null;
  let now = null; // what belongs to one sentence, model and set of weights

  panel.append(
    choice.element,
    el("div", { class: "card" }, source.element, trouble),
    el(
      "div",
      { class: "bench moving" },
      el(
        "div",
        { class: "card" },
        el("div", { class: "actions" }, el("h2", {}, "Weights"), reset, copy),
        copied,
        holder,
      ),
      result,
    ),
  );

  function line() {
    return source.area.value.trim().split("\n")[0] ?? "";
  }

  /** Another sentence, model or set of weights: sliders where they belong, and a search. */
  function begin() {
    sliders = new Sliders(choice.features.filter(canMove), moved);
    const kept = Object.entries(state.all("w.")).filter(([, value]) => Number.isFinite(Number(value)));
    sliders.place(Object.fromEntries(kept.map(([name, value]) => [name, Number(value)])));
    holder.replaceChildren(sliders.element);
    now = { sliders, first: null, list: null, open: new Set() };
    update();
  }

  function moved() {
    state.setAll("w.", sliders.changed());
    update();
  }

  const update = inTurn(async () => {
    const text = line();
    if (!text) {
      trouble.replaceChildren();
      result.replaceChildren(
        empty(
          "Change a weight and see the translation change",
          "Type a sentence. It is decoded once; its hypergraph is then rescored with every move of a " +
            "slider, so that the translation and the order of the candidates change at once.",
        ),
      );
      return;
    }
    const [mine, model, values] = [now, choice.model.name, sliders.values()];
    const request = (weights) => ask("reweight", { body: { text, model, weights, size: SIZE } });
    try {
      await whileBusy(result, async () => {
        mine.first ??= await request(mine.sliders.initial());
        const began = performance.now();
        const answer = await request(values);
        if (mine !== now) return; // another sentence waits for its turn
        trouble.replaceChildren();
        showAnswer(answer, { ...choice.weights, ...values }, performance.now() - began);
      });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (mine !== now) return;
      trouble.replaceChildren(failure(error, `Rescoring with ${choice.phrase}`));
      mine.list = null;
      result.replaceChildren();
    }
  });

  function showAnswer(answer, weights, milliseconds) {
    const before = now.first.nbest.map((candidate) => candidate.text);
    const same = answer.text === now.first.text;
    const marks = (candidate, place) => {
      const was = before.indexOf(candidate.text);
      return was < 0 ? "new" : movement(was, place);
    };
    const next = nbestList(answer.nbest, weights, { marks, open: now.open });
    if (!now.list) {
      now.list = next;
      result.replaceChildren(
        el(
          "div",
          { class: "card stays" },
          el("h2", {}, "Translation"),
          el("p", { class: "output", "aria-live": "polite" }),
          el("p", { class: "note" }),
        ),
        el("div", { class: "card" }, el("h2", {}, "Derivation"), el("div", { class: "drawn" })),
        el("div", { class: "card" }, el("h2", {}, "Candidates"), now.list),
      );
    } else {
      now.list = exchanged(now.list, next);
    }
    result.querySelector(".output").replaceChildren(...marked(answer.text, now.first.text));
    const change = same
      ? "the same as under the initial weights"
      : "words that differ from the initial weights' translation are marked";
    result.querySelector(".note").textContent =
      `score ${shown(answer.score)} · rescored in ${Math.max(1, Math.round(milliseconds))} ms · ${change}`;
    const words = new LinkedWords(answer.derivation);
    result.querySelector(".drawn").replaceChildren(picture(answer.derivation, words));
  }

  reset.addEventListener("click", () => {
    sliders.place({});
    moved();
  });
  copy.addEventListener("click", async () => {
    const weights = { ...choice.weights, ...sliders.values() };
    await copyText(
      Object.entries(weights)
        .map(([name, weight]) => `${name} ${weight}\n`)
        .join(""),
    );
    copied.textContent = "Copied. Save it to a file, and use that with --weights.";
    setTimeout(() => (copied.textContent = ""), 4000);
  });

  return {
    show() {
      choice.show();
      source.show();
      begin();
    },
  };
}
