// What several views ask for: a text, a model, and a set of its weights. They are the same in all views.

import { debounced } from "./api.js";
import { el, freshId } from "./dom.js";
import { state } from "./state.js";

const PAUSE = 180; // milliseconds without typing

/** A labelled control. */
export function field(label, control, hint) {
  const id = (control.id ||= freshId("field"));
  return el("div", { class: "field" }, el("label", { for: id }, label), control, hint ? el("small", {}, hint) : null);
}

/** A field for text that grows with it; `onInput` is called after a pause. */
export function textField(label, { name = "text", placeholder = "", rows = 3, onInput }) {
  const area = el("textarea", {
    rows,
    vars: { "--rows": String(rows) },
    placeholder,
    dir: "auto",
    spellcheck: "false",
    autocapitalize: "off",
    "data-setting": name,
  });
  const pause = debounced(() => onInput(area.value), PAUSE);
  area.addEventListener("input", () => {
    state.set({ [name]: area.value });
    pause();
  });
  return { area, element: field(label, area), show: () => (area.value = state.get(name)) };
}

/** The choice of a model and, if it has some, of one of its sets of weights.
 *
 * `suffix` tells two choices apart; one that is `unlike` another begins with something else than that, if there is any.
 */
export class ModelChoice {
  constructor(models, onChange, { suffix = "", label = "Model", unlike = null } = {}) {
    this.models = models;
    this.unlike = unlike;
    this.names = { model: `model${suffix}`, weights: `weights${suffix}` };
    this.model_ = el(
      "select",
      {},
      models.map((model) => el("option", { value: model.name }, titleOf(model))),
    );
    this.weights_ = el("select", {});
    this.weightsField = field("Weights", this.weights_);
    this.element = el("div", { class: "choices" }, field(label, this.model_), this.weightsField);
    this.model_.addEventListener("change", () => {
      state.set({ [this.names.model]: this.model_.value, [this.names.weights]: "" });
      this.show();
      onChange();
    });
    this.weights_.addEventListener("change", () => {
      state.set({ [this.names.model]: this.model_.value, [this.names.weights]: this.weights_.value });
      onChange();
    });
  }

  /** Show what the address says, as far as there are such models and weights. */
  show() {
    let [wanted, weights] = [state.get(this.names.model), state.get(this.names.weights)];
    if (this.unlike && !wanted && !weights) [wanted, weights] = this.unlike.another();
    this.model_.value = this.models.some((model) => model.name === wanted) ? wanted : this.models[0].name;
    const sets = this.model.weight_sets;
    this.weights_.replaceChildren(
      el("option", { value: "" }, "the model's own"),
      ...sets.map((name) => el("option", { value: name }, name)),
    );
    this.weights_.value = sets.includes(weights) ? weights : "";
    this.weightsField.hidden = !sets.length;
  }

  /** A model and weights that are not the chosen ones: other weights of it, or another model, if there is one. */
  another() {
    const { name, weight_sets: sets } = this.model;
    if (this.weights_.value) return [name, ""];
    if (sets.length) return [name, sets[0]];
    return [this.models.find((model) => model.name !== name)?.name ?? name, ""];
  }

  /** The chosen model, as the service describes it. */
  get model() {
    return this.models.find((model) => model.name === this.model_.value) ?? this.models[0];
  }

  /** What a request says of it. */
  get request() {
    return { model: this.model.name, ...(this.weights_.value ? { weights: this.weights_.value } : {}) };
  }

  /** All features `{name, group, weight, dense}` under the chosen weights. */
  get features() {
    const set = this.model.set_weights?.[this.weights_.value];
    return set
      ? this.model.features.map((feature) => ({ ...feature, weight: set[feature.name] ?? 0 }))
      : this.model.features;
  }

  /** The weights by name. */
  get weights() {
    return Object.fromEntries(this.features.map((feature) => [feature.name, feature.weight]));
  }

  /** How it is called beside another. */
  get title() {
    return this.weights_.value ? `${this.model.name}, ${this.weights_.value}` : this.model.name;
  }

  /** How it is called in a sentence. */
  get phrase() {
    return this.weights_.value ? `model ${this.model.name}, weights ${this.weights_.value}` : `model ${this.model.name}`;
  }
}

function titleOf(model) {
  const pair = model.source_language && model.target_language;
  const kind = model.kind === "chart" ? "hierarchical" : "phrase-based";
  return `${model.name} (${pair ? `${model.source_language}–${model.target_language}, ` : ""}${kind})`;
}

/** A language's name, or nothing where it is not known. */
export function languageName(code) {
  try {
    return code ? new Intl.DisplayNames(["en"], { type: "language" }).of(code) : "";
  } catch {
    return code;
  }
}
