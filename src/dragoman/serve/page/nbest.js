// An n-best list: each candidate with its score, a bar of what it loses by group, and its contributions on demand.

import { el, freshId, numbersTable, shown } from "./dom.js";
import { groupOf, groupTitle, meaning, weightOf } from "./features.js";

/** What each feature adds to the score of a candidate, the largest first. */
export function contributions(features, weights) {
  return Object.entries(features)
    .map(([name, value]) => {
      const weight = weightOf(name, weights);
      return { name, value, weight, contribution: weight * value };
    })
    .sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
}

function byGroup(features, weights, by) {
  const sums = new Map();
  for (const { name, contribution } of contributions(features, weights))
    sums.set(by(name), (sums.get(by(name)) ?? 0) + contribution);
  return sums;
}

/** For each candidate, what it loses in each group against the candidate that is best there.
 *
 * What all of them share goes out, and the lengths of the bars still tell the order: the losses of a candidate add up
 * to a constant minus its score.
 */
export function losses(candidates, weights, by) {
  const sums = candidates.map((candidate) => byGroup(candidate.features, weights, by));
  const groups = [...new Set(sums.flatMap((some) => [...some.keys()]))].sort();
  const best = new Map(groups.map((group) => [group, Math.max(...sums.map((some) => some.get(group) ?? 0))]));
  return {
    groups,
    rows: sums.map((some) => groups.map((group) => best.get(group) - (some.get(group) ?? 0))),
  };
}

/** The list as an element.
 *
 * `marks` gives words to put before a candidate (how far it moved, say). `open` has the texts of those whose
 * contributions are seen, and is kept up to date, so that a list that takes the place of this one can look the same.
 * `by` gives the group of a feature.
 */
export function nbestList(candidates, weights, { marks = null, open = new Set(), by = groupOf, limit = 50 } = {}) {
  const some = candidates.slice(0, limit);
  const { groups, rows } = losses(some, weights, by);
  const longest = Math.max(...rows.map((row) => row.reduce((a, b) => a + b, 0)), 1e-9);
  const used = groups.map((_, g) => rows.some((row) => row[g] > 1e-9));
  const items = some.map((candidate, i) =>
    item(candidate, weights, open, { loss: rows[i], groups, longest, mark: marks?.(candidate, i) }),
  );
  return el(
    "div",
    { class: "nbest" },
    el(
      "p",
      { class: "legend" },
      "Bars: the loss against the best candidate in each group of features; the shortest bar wins. ",
      groups.map((group, g) =>
        used[g]
          ? el("span", { class: "key-entry" }, el("i", { class: `swatch hue-${g % 8}` }), groupTitle(group))
          : null,
      ),
    ),
    el("ol", { class: marks ? "candidates with-moves" : "candidates" }, items),
    candidates.length > limit ? more(candidates, weights, { marks, open, by, limit }) : null,
  );
}

/** How many are left out, and a button that shows the whole list in the place of this one. */
function more(candidates, weights, { limit, ...options }) {
  const show = ({ currentTarget }) => {
    const whole = nbestList(candidates, weights, { ...options, limit: Infinity });
    currentTarget.closest(".nbest").replaceWith(whole);
    whole.querySelectorAll(".candidate")[limit].focus();
  };
  const title = `Show ${candidates.length - limit} more`;
  return el("div", { class: "actions" }, el("button", { type: "button", on: { click: show } }, title));
}

function item(candidate, weights, open, { loss, groups, longest, mark }) {
  const id = freshId("contributions");
  const total = loss.reduce((a, b) => a + b, 0);
  const described = groups.flatMap((group, g) => (loss[g] > 1e-9 ? `${groupTitle(group)} ${shown(loss[g], 2)}` : []));
  const bar = el(
    "span",
    { class: "loss", role: "img", "aria-label": total > 1e-9 ? `loses ${described.join(", ")}` : "loses nothing" },
    loss.map((part, g) =>
      part > 1e-9 ? el("i", { class: `hue-${g % 8}`, vars: { "--share": String(part / longest) } }) : null,
    ),
  );
  const body = el("div", { id, class: "contributions", hidden: true });
  const button = el(
    "button",
    { type: "button", class: "candidate", "aria-expanded": "false", "aria-controls": id },
    mark === undefined ? null : el("span", { class: "moved" }, mark ?? ""),
    el("span", { class: "candidate-text" }, candidate.text || "∅"),
    bar,
    el("span", { class: "number" }, shown(candidate.score)),
  );
  const show = (seen) => {
    body.hidden = !seen;
    button.setAttribute("aria-expanded", String(seen));
    if (seen && !body.firstChild) body.append(contributionTable(candidate.features, weights));
  };
  button.addEventListener("click", () => {
    show(body.hidden);
    if (body.hidden) open.delete(candidate.text);
    else open.add(candidate.text);
  });
  show(open.has(candidate.text));
  return el("li", { "data-text": candidate.text }, button, body);
}

/** Value × weight = contribution for each feature, as bars about zero. */
export function contributionTable(features, weights) {
  const rows = contributions(features, weights);
  if (!rows.length) return el("p", { class: "note" }, "This candidate has no features.");
  const longest = Math.max(...rows.map((row) => Math.abs(row.contribution)), 1e-9);
  const cells = rows.map(({ name, value, weight, contribution }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", title: meaning(name) }, name),
      el("td", {}, shown(value)),
      el("td", {}, shown(weight)),
      el("td", {}, shown(contribution)),
      el(
        "td",
        { class: "about-zero", "aria-hidden": "true" },
        el("i", {
          class: contribution < 0 ? "below" : "above",
          vars: { "--share": String(Math.abs(contribution) / longest) },
        }),
      ),
    ),
  );
  return el("div", { class: "scroll" }, numbersTable(["feature", "value", "weight", "adds", ""], cells));
}

/** How far a candidate went up or down, as a mark; none if it is where it was. */
export function movement(was, place) {
  return was === place ? null : was > place ? `▲ ${was - place}` : `▼ ${place - was}`;
}

/** Put a new list in the place of an old one, and let candidates be seen to move; returns the new one. */
export function exchanged(before, after) {
  const tops = new Map(
    [...before.querySelectorAll("li")].map((row) => [row.dataset.text, row.getBoundingClientRect().top]),
  );
  before.replaceWith(after);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return after;
  for (const row of after.querySelectorAll("li")) {
    const moved = (tops.get(row.dataset.text) ?? NaN) - row.getBoundingClientRect().top;
    if (moved)
      row.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], {
        duration: 220,
        easing: "ease-out",
      });
  }
  return after;
}
