// Lists: an n-best file of any format, its candidates, sliders that put them into another order, and a choice by MBR.

import { ask, debounced, latest, whileBusy } from "../api.js";
import { download, el, empty, failure, freshId } from "../dom.js";
import { groupOf } from "../features.js";
import { field } from "../fields.js";
import { movement, nbestList } from "../nbest.js";
import { Sliders } from "../sliders.js";

const PAUSE = 300; // milliseconds without typing
const EXAMPLE = [
  "0 ||| the house is blue ||| lm= -9.1 tm= -2.0 words= 4 ||| -4.95",
  "0 ||| blue is the house ||| lm= -11.0 tm= -1.9 words= 4 ||| -5.82",
  "0 ||| the blue house is ||| lm= -12.4 tm= -1.2 words= 4 ||| -5.96",
  "1 ||| a small cat sleeps ||| lm= -8.8 tm= -3.1 words= 4 ||| -5.68",
  "1 ||| a small cat is sleeping ||| lm= -8.2 tm= -4.0 words= 5 ||| -5.8",
  "",
].join("\n");

export function listsView(panel, { formats, metrics }) {
  const asking = latest();
  const choosing = latest();
  const file = el("input", { type: "file", id: freshId("file"), class: "offscreen" });
  const chooser = el("label", { for: file.id, class: "button primary" }, "Choose a file");
  const format = el(
    "select",
    {},
    el("option", { value: "" }, "guess from the first lines"),
    formats.map((name) => el("option", { value: name }, name)),
  );
  const pasted = el("textarea", { rows: 2, spellcheck: "false", placeholder: "0 ||| the house is blue ||| …" });
  const trouble = el("div", { class: "trouble" });
  const zone = el(
    "div",
    { class: "card drop" },
    el("div", {}, file, chooser, el("span", { class: "or" }, " or drop it here")),
    field("Format", format),
    el("div", { class: "paste" }, field("Or paste lists here", pasted)),
    trouble,
  );
  const result = el("div", { class: "result" });
  panel.append(zone, result);
  let content = null;
  let fileName = "";
  let answer = null;
  let sliders = null;
  let at = 0;
  let open = new Set();
  let agreed = null; // what MBR chose from each list
  // A few features are seen one by one.
  const by = (name) => (sliders.features.length <= 8 ? name : groupOf(name));

  function teach() {
    const example = el("button", { type: "button" }, "Try it with five lines");
    example.addEventListener("click", () => read(EXAMPLE, "example.nbest"));
    result.replaceChildren(
      empty(
        "N-best lists of any system",
        "Choose an n-best file of Moses, fairseq, Sockeye, OpenNMT, Marian, Hugging Face or vLLM, or a table. You see the " +
          "candidates of each sentence, rerank them by changing the weights of their features, or choose those that " +
          "agree most with the others (MBR).",
        example,
      ),
    );
  }

  async function read(text, name) {
    [content, fileName] = [text, name];
    const body = { content, ...(format.value ? { format: format.value } : {}) };
    const {
      result: found,
      error,
      cancelled,
    } = await whileBusy(result, () => asking((signal) => ask("lists", { body, signal })));
    if (cancelled) return;
    trouble.replaceChildren(...(error ? [failure(error, `Reading ${fileName}`)] : []));
    answer = found ?? null;
    if (error) return result.replaceChildren();
    at = 0;
    open = new Set();
    const names = Object.keys(answer.weights);
    const weightOf = (name_) => Number(answer.weights[name_].toFixed(4));
    sliders = new Sliders(
      names.map((feature) => ({ name: feature, group: groupOf(feature), weight: weightOf(feature) })),
      draw,
    );
    showLists();
    forget();
  }

  const scoreOf = ({ features }, weights) =>
    Object.entries(features).reduce((sum, [name, value]) => sum + (weights[name] ?? 0) * value, 0);

  const reranked = (list, weights) =>
    list.candidates
      .map((candidate, was) => ({ ...candidate, was, score: scoreOf(candidate, weights) }))
      .sort((a, b) => b.score - a.score || a.was - b.was);

  /** The place of the candidate that is best under some weights. */
  function bestOf(list, weights) {
    const scores = list.candidates.map((candidate) => scoreOf(candidate, weights));
    return scores.indexOf(Math.max(...scores));
  }

  const position = el("span", { class: "number" });
  const summary = el("p", { class: "note", role: "status" });
  const candidates = el("div", {});
  const step = (by, title) =>
    el(
      "button",
      { type: "button", on: { click: () => ((at = (at + by + answer.lists.length) % answer.lists.length), draw()) } },
      title,
    );
  const reset = el("button", { type: "button", on: { click: () => (sliders.place({}), draw()) } }, "Reset");
  const best = el("button", { type: "button", on: { click: () => save("best") } }, "Download the best");
  const all = el("button", { type: "button", on: { click: () => save("all") } }, "Download the lists");

  const metric = el(
    "select",
    { on: { change: forget } },
    metrics.map((name) => el("option", { value: name }, name)),
  );
  metric.value = metrics.includes("bleu") ? "bleu" : metrics[0];
  const weighing = el(
    "select",
    { on: { change: forget } },
    el("option", { value: "" }, "by their scores"),
    el("option", { value: "uniform" }, "equally (samples)"),
  );
  const agree = el("button", { type: "button", on: { click: choose } }, "Choose by MBR");
  const taken = el("button", { type: "button", on: { click: saveAgreed } }, "Download the choices");
  const agreement = el("p", { class: "note", role: "status" });
  const disagreement = el("div", { class: "trouble" });

  /** Other lists, or another metric: what was chosen before does not count any more. */
  function forget() {
    choosing.cancel();
    agreed = null;
    taken.hidden = true;
    agreement.textContent = "";
    disagreement.replaceChildren();
    if (answer && sliders) draw();
  }

  async function choose() {
    forget();
    const weights = weighing.value ? { weights_from: weighing.value } : {};
    const body = { content, format: answer.format, metric: metric.value, ...weights };
    const {
      result: found,
      error,
      cancelled,
    } = await whileBusy(agreement, () => choosing((signal) => ask("mbr", { body, signal })));
    if (cancelled) return;
    if (error) return disagreement.replaceChildren(failure(error, `Choosing by MBR with ${metric.value}`));
    agreed = found.chosen;
    taken.hidden = false;
    const others = answer.lists.filter((list, i) => list.candidates[0]?.text !== agreed[i]).length;
    agreement.textContent =
      `MBR with ${metric.value} chooses another candidate than the first in ${others} of ` +
      `${answer.lists.length} lists; the chosen one has a tick.`;
    draw();
  }

  function saveAgreed() {
    download(`${fileName}.mbr.txt`, agreed.map((text) => `${text}\n`).join(""));
  }

  function showLists() {
    result.replaceChildren(
      el(
        "div",
        { class: "bench" },
        el("div", { class: "card" }, el("div", { class: "actions" }, el("h2", {}, "Weights"), reset), sliders.element),
        el(
          "div",
          { class: "result" },
          el("div", { class: "card" }, summary, el("div", { class: "actions" }, best, all)),
          el(
            "div",
            { class: "card" },
            el("h2", {}, "Minimum Bayes risk"),
            el(
              "p",
              { class: "note" },
              "Chooses the candidate that agrees most with the others of its list, by a metric. Sliders have no effect.",
            ),
            el(
              "div",
              { class: "choices" },
              field("Metric", metric),
              field("Weight candidates", weighing),
              el("div", { class: "actions" }, agree, taken),
            ),
            agreement,
            disagreement,
          ),
          el(
            "div",
            { class: "card" },
            el(
              "div",
              { class: "actions" },
              el("h2", {}, "Candidates"),
              step(-1, "Previous"),
              position,
              step(1, "Next"),
            ),
            candidates,
          ),
        ),
      ),
    );
    draw();
  }

  function draw() {
    const weights = sliders.values();
    const { id } = answer.lists[at];
    position.textContent = `${at + 1} of ${answer.lists.length}${String(id) === String(at) ? "" : ` (${id})`}`;
    const chosen = agreed === null ? -1 : answer.lists[at].candidates.findIndex(({ text }) => text === agreed[at]);
    const marks = ({ was }, place) =>
      was === chosen
        ? el("span", { class: "agreed", role: "img", "aria-label": "chosen by MBR" }, "✓ ")
        : movement(was, place);
    candidates.replaceChildren(nbestList(reranked(answer.lists[at], weights), weights, { marks, open, by }));
    const changed = answer.lists.filter((list) => bestOf(list, weights) > 0).length;
    summary.textContent =
      `${answer.format}: ${answer.lists.length} lists; these weights choose another best candidate ` +
      `in ${changed}.`;
  }

  async function save(what) {
    const body = { content, format: answer.format, weights: sliders.values() };
    const { result: found, error, cancelled } = await asking((signal) => ask("rerank", { body, signal }));
    if (cancelled) return;
    trouble.replaceChildren(...(error ? [failure(error, `Reranking ${fileName}`)] : []));
    if (error) return;
    if (what === "best") download(`${fileName}.best.txt`, found.chosen.map((text) => `${text}\n`).join(""));
    else download(`reranked.${fileName}`, found.content);
  }

  async function take(files) {
    if (files.length) read(await files[0].text(), files[0].name);
  }
  file.addEventListener("change", () => take(file.files));
  const readPasted = debounced(() => pasted.value.trim() && read(pasted.value, "pasted.nbest"), PAUSE);
  pasted.addEventListener("input", readPasted);
  format.addEventListener("change", () => content === null || read(content, fileName));
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    take(event.dataTransfer.files);
  });

  return { show: () => answer || teach() };
}
