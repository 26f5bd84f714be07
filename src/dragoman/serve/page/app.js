// The page: its tabs, which view is shown, and the models that all of them know.

import { ServiceError, ask, useKey } from "./api.js";
import { el, empty } from "./dom.js";
import { VIEWS, state } from "./state.js";
import { compareView } from "./views/compare.js";
import { decideView } from "./views/decide.js";
import { listsView } from "./views/lists.js";
import { normaliseView } from "./views/normalise.js";
import { runsView } from "./views/runs.js";
import { translateView } from "./views/translate.js";
import { weightsView } from "./views/weights.js";

const MAKERS = {
  translate: translateView,
  weights: weightsView,
  decide: decideView,
  compare: compareView,
  runs: runsView,
  lists: listsView,
  normalise: normaliseView,
};
const TRANSLATING = ["translate", "weights", "decide", "compare"];
const TRY_AGAIN = 3000; // milliseconds

const notice = document.getElementById("notice");
const tabs = VIEWS.map((name) => document.getElementById(`tab-${name}`));
const panels = Object.fromEntries(VIEWS.map((name) => [name, document.getElementById(`view-${name}`)]));
const views = {};
let models = null;

// Not by scrollIntoView: after that, browsers let the next Tab key begin there, past the link that skips to the content.
function revealTab(tab) {
  const [strip, own] = [tab.parentElement.getBoundingClientRect(), tab.getBoundingClientRect()];
  tab.parentElement.scrollLeft += Math.max(own.right - strip.right, 0) || Math.min(own.left - strip.left, 0);
}

function showView() {
  for (const name of VIEWS) {
    const current = name === state.view;
    const tab = document.getElementById(`tab-${name}`);
    tab.setAttribute("aria-selected", String(current));
    tab.tabIndex = current ? 0 : -1;
    panels[name].hidden = !current;
    if (!current) views[name]?.hide?.();
  }
  const tab = document.getElementById(`tab-${state.view}`);
  revealTab(tab);
  document.title = `${tab.textContent} · Dragoman`;
  if (!models) return;
  views[state.view] ??= makeView(state.view);
  views[state.view].show();
}

function makeView(name) {
  if (!TRANSLATING.includes(name)) return MAKERS[name](panels[name], models);
  // The models of normalisers are of characters, and their own view knows what to do with them.
  const translators = models.models.filter((model) => !model.normalises);
  if (translators.length) return MAKERS[name](panels[name], { ...models, models: translators });
  const advice =
    "The service has normalisers only. To translate, start it with --model FOLDER, a model from " +
    "`dragoman train`.";
  panels[name].append(empty("This service has no translation model", advice));
  return { show() {} };
}

// Tabs by the pattern of WAI-ARIA: arrows, Home and End go from tab to tab, and what has the focus is shown.
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const at = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  const tab = tabs[(to + tabs.length) % tabs.length];
  state.go(tab.id.replace("tab-", ""));
  tab.focus();
});
for (const tab of tabs) tab.addEventListener("click", () => state.go(tab.id.replace("tab-", "")));
state.onGo(showView);

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("content").focus();
});

document.addEventListener("keyneeded", (event) => {
  const field = el("input", { type: "password", id: "key", autocomplete: "current-password", required: true });
  const form = el(
    "form",
    { class: "key" },
    el("label", { for: "key" }, event.detail),
    field,
    el("button", { type: "submit", class: "primary" }, "Use this key"),
  );
  form.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    useKey(field.value);
    start();
  });
  notice.replaceChildren(form);
  field.focus();
});

async function start() {
  try {
    const found = await ask("models");
    notice.replaceChildren();
    models = found;
    // A service with normalisers opens that view, unless the address says something else.
    if (!location.hash && found.models[0].normalises) state.go("normalise");
    else showView();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.status === 401) return; // The key is asked for.
    notice.replaceChildren(el("p", { class: "failure" }, error.message));
    setTimeout(start, TRY_AGAIN);
  }
}

showView();
start();
