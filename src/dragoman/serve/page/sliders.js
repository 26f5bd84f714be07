// A slider and a number for each weight, in groups.

import { el, freshId } from "./dom.js";
import { groupTitle, grouped, meaning } from "./features.js";

const STEPS = 200;

/** The weights of some features `{name, group, weight}`; `onChange` is called with all of them as they are moved. */
export class Sliders {
  constructor(features, onChange) {
    this.features = features;
    this.onChange = onChange;
    this.rows = new Map();
    const groups = [...grouped(features)].map(([group, members]) =>
      el(
        "fieldset",
        { class: "slider-group" },
        el("legend", {}, groupTitle(group)),
        members.map((feature) => this.#row(feature)),
      ),
    );
    this.element = el("div", { class: "sliders" }, groups);
  }

  #row(feature) {
    const id = freshId("weight");
    const reach = reachOf(feature.weight);
    const range = el("input", {
      type: "range",
      id,
      min: -reach,
      max: reach,
      step: reach / STEPS,
      value: feature.weight,
      "data-feature": feature.name,
    });
    const number = el("input", {
      type: "number",
      step: "any",
      value: feature.weight,
      "aria-label": `${feature.name}, exactly`,
    });
    const row = el(
      "div",
      { class: "slider" },
      el("label", { for: id }, el("span", { class: "name" }, feature.name), el("small", {}, meaning(feature.name))),
      range,
      number,
    );
    const moved = (value) => {
      this.#place(feature.name, value);
      this.onChange(this.values());
    };
    range.addEventListener("input", () => moved(rounded(Number(range.value))));
    number.addEventListener("input", () => {
      if (number.value !== "" && Number.isFinite(Number(number.value))) moved(Number(number.value));
    });
    this.rows.set(feature.name, { feature, range, number, row, value: feature.weight });
    return row;
  }

  #place(name, value) {
    const entry = this.rows.get(name);
    entry.value = value;
    if (Math.abs(value) > Number(entry.range.max)) {
      entry.range.max = Math.abs(value) * 2;
      entry.range.min = -entry.range.max;
    }
    entry.range.value = value;
    if (Number(entry.number.value) !== value) entry.number.value = value;
    entry.row.classList.toggle("changed", value !== entry.feature.weight);
  }

  /** All weights by name. */
  values() {
    return Object.fromEntries([...this.rows].map(([name, { value }]) => [name, value]));
  }

  /** All weights as they were at first. */
  initial() {
    return Object.fromEntries(this.features.map(({ name, weight }) => [name, weight]));
  }

  /** Those that are not what they were at first. */
  changed() {
    return Object.fromEntries(
      [...this.rows]
        .filter(([, { value, feature }]) => value !== feature.weight)
        .map(([name, { value }]) => [name, value]),
    );
  }

  /** Put some weights where they are said to be, and all others back. */
  place(values) {
    for (const [name, { feature }] of this.rows) this.#place(name, values[name] ?? feature.weight);
  }
}

/** How far a slider goes to both sides: twice the weight and more, to a round number. */
function reachOf(weight) {
  const wanted = Math.max(1, 2.5 * Math.abs(weight));
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].find((factor) => factor * power >= wanted) * power;
}

function rounded(value) {
  return Number(value.toFixed(4));
}
