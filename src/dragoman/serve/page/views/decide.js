// Decide: how probable the translations of a sentence are by some evidence, and what each decision rule makes of it.

import { ask, debounced, latest, whileBusy } from "../api.js";
import { marked } from "../difference.js";
import { el, empty, failure, freshId, shown } from "../dom.js";
import { ModelChoice, textField } from "../fields.js";
import { state } from "../state.js";

const EVIDENCE = {
  nbest: ["Lists", "the best translations of the search"],
  hypergraph: ["Forest", "the hypergraph of the search"],
  samples: ["Samples", "derivations sampled from the model's distribution"],
};
const SHOWN = 20; // candidates
const PAUSE = 120; // milliseconds

export function decideView(panel, { models }) {
  const asking = latest();
  const choice = new ModelChoice(models, () => decide());
  const source = textField("Sentence", { rows: 2, onInput: () => decide() });
  const trouble = el("div", { class: "trouble" });
  const result = el("div", { class: "result two" });
  const group = freshId("evidence");
  const radios = Object.entries(EVIDENCE).map(([name, [title, hint]]) =>
    el(
      "label",
      { class: "radio" },
      el("input", {
        type: "radio",
        name: group,
        value: name,
        on: { change: () => (state.set({ evidence: name }), decide()) },
      }),
      el("span", {}, title, el("small", {}, hint)),
    ),
  );
  const scale = el("input", { type: "range", id: freshId("scale"), min: -1, max: 1, step: 0.02 });
  const scaleShown = el("output", { for: scale.id });

  panel.append(
    choice.element,
    el(
      "div",
      { class: "card" },
      source.element,
      el(
        "div",
        { class: "settings" },
        el("fieldset", { class: "radios" }, el("legend", {}, "Evidence"), radios),
        el(
          "div",
          { class: "field scale" },
          el("label", { for: scale.id }, "Scale ", scaleShown),
          scale,
          el(
            "small",
            {},
            "factor of the scores: small values give a flat distribution, large values a sharp one",
          ),
        ),
      ),
      trouble,
    ),
    result,
  );

  const value = () => Number((10 ** Number(scale.value)).toPrecision(2));
  const sayScale = () => (scaleShown.textContent = shown(value(), value() < 1 ? 2 : 1));
  const later = debounced(() => decide(), PAUSE);
  scale.addEventListener("input", () => {
    state.set({ scale: value() === 1 ? "" : value() });
    sayScale();
    later();
  });

  async function decide() {
    const text = source.area.value.trim().split("\n")[0] ?? "";
    if (!text) {
      asking.cancel();
      trouble.replaceChildren();
      result.replaceChildren(
        empty(
          "Compare decision rules",
          "Type a sentence. You see the probabilities of its translations and the choice of each decision rule: " +
            "the best derivation, the most probable string, or the string that agrees most with all others.",
        ),
      );
      return;
    }
    const evidence = radios.map((radio) => radio.firstChild).find((radio) => radio.checked).value;
    const body = { text, ...choice.request, evidence, scale: value() };
    const {
      result: answer,
      error,
      cancelled,
    } = await whileBusy(result, () => asking((signal) => ask("posterior", { body, signal })));
    if (cancelled) return;
    trouble.replaceChildren(...(error ? [failure(error, `Deciding with ${choice.phrase}`)] : []));
    if (error) result.replaceChildren();
    else showPosterior(answer);
  }

  function showPosterior(answer) {
    const candidates = answer.candidates.slice(0, SHOWN);
    const most = Math.max(...candidates.map((candidate) => candidate.probability), 1e-12);
    const chose = (text) => answer.choices.filter((made) => made.text === text).map((made) => made.decision);
    const usual = answer.choices.find((one) => one.decision === "max-derivation")?.text;
    const rest = 1 - candidates.reduce((sum, candidate) => sum + candidate.probability, 0);
    const rows = candidates.map(({ text, probability }) =>
      el(
        "li",
        { class: "probable" },
        el("span", { class: "candidate-text" }, text || "∅", chips(chose(text))),
        el(
          "span",
          { class: "share", "aria-hidden": "true" },
          el("i", { vars: { "--share": String(probability / most) } }),
        ),
        el("span", { class: "number" }, percent(probability)),
      ),
    );
    result.replaceChildren(
      el(
        "div",
        { class: "card" },
        el("h2", {}, "Posterior"),
        el("ol", { class: "candidates" }, rows),
        rest > 0.0005 ? el("p", { class: "note" }, `All other translations: ${percent(rest)}.`) : null,
      ),
      el(
        "div",
        { class: "card" },
        el("h2", {}, "Choices of the decision rules"),
        el(
          "dl",
          { class: "choices-made" },
          answer.choices.map((one) => made(one, usual)),
        ),
      ),
    );
  }

  function made({ decision, text, refused, evidence }, usual) {
    return el(
      "div",
      { class: refused ? "refused" : null },
      el("dt", {}, decision, evidence ? el("small", {}, ` by ${EVIDENCE[evidence][0].toLowerCase()}`) : null),
      el("dd", {}, refused ?? (usual && text !== usual ? marked(text, usual) : text || "∅")),
    );
  }

  return {
    show() {
      choice.show();
      source.show();
      const wanted = state.get("evidence", "nbest");
      for (const radio of radios)
        radio.firstChild.checked = radio.firstChild.value === (wanted in EVIDENCE ? wanted : "nbest");
      scale.value = Math.log10(Number(state.get("scale", "1")) || 1);
      sayScale();
      decide();
    },
    hide: () => asking.cancel(),
  };
}

function chips(rules) {
  return rules.length
    ? el(
        "span",
        { class: "chips" },
        rules.map((rule) => el("span", { class: "chip" }, rule)),
      )
    : null;
}

function percent(share) {
  if (share >= 0.9995) return "100 %";
  if (share >= 0.001) return `${shown(100 * share, 1)} %`;
  return share < 1e-6 ? "< 0.0001 %" : `${shown(100 * share, share < 1e-4 ? 4 : 3)} %`;
}
