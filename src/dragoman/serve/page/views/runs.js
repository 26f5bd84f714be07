// Runs: the learning curves of all runs in the folder, live while they go on, and the weights of one by iteration.

import { ServiceError, ask, askBlob, events, latest, named, whileBusy } from "../api.js";
import { lineChart, lineStyle, swatch } from "../chart.js";
import { el, empty, failure, shown } from "../dom.js";
import { state } from "../state.js";

const FIRST = 12; // runs whose curves are drawn before anyone chose
const MOST_LIVE = 3; // a browser opens some six connections to one service, and others are needed
const AGAIN = 5000; // milliseconds, after a stream broke off

export function runsView(panel) {
  const asking = latest();
  const holder = el("div", {});
  panel.append(holder);
  const loaded = new Map(); // what is known of each run that was looked at
  let hiddenRuns = null; // until the first look
  let runs = [];
  let streams = null;

  async function load() {
    const { result, error, cancelled } = await whileBusy(holder, () => asking((signal) => ask("runs", { signal })));
    if (cancelled) return;
    if (error) return holder.replaceChildren(failure(error, "Listing the runs"));
    runs = result.runs;
    if (!runs.length) {
      return holder.replaceChildren(
        empty(
          "No runs to show",
          "Start the service with --runs FOLDER, a folder with the outputs (--out) of `dragoman tune` or `dragoman " +
            "experiment`. Curves of unfinished runs grow as they go on.",
        ),
      );
    }
    const curves = runs.filter(drawable);
    hiddenRuns ??= new Set(curves.slice(FIRST).map((run) => run.name));
    holder.replaceChildren(
      el(
        "div",
        { class: "bench runs" },
        el("div", { class: "card" }, el("h2", {}, "Runs"), list),
        el("div", { class: "result" }, curve, one),
      ),
    );
    await fetchRuns(curves.filter((run) => !hiddenRuns.has(run.name)));
    draw();
    choose(state.get("run") || curves[0]?.name);
    listen();
  }

  const list = el("ul", { class: "run-list" });
  const curve = el("div", {});
  const one = el("div", {});

  async function fetchRuns(wanted) {
    for (const run of wanted) {
      if (loaded.has(run.name)) continue;
      try {
        loaded.set(run.name, await ask(named("runs", run.name)));
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        loaded.set(run.name, { ...run, events: [], weights: [], trouble: error });
      }
    }
  }

  function style(name) {
    return lineStyle(runs.filter(drawable).findIndex((run) => run.name === name));
  }

  function draw() {
    list.replaceChildren(...runs.map(runEntry));
    const seen = [...loaded.values()].filter((run) => run.kind === "run" && !hiddenRuns.has(run.name));
    const byMetric = groupBy(seen, (run) => run.metric);
    curve.replaceChildren(
      ...[...byMetric].map(([metric, some]) =>
        el(
          "div",
          { class: "card" },
          el("h2", {}, `Learning curves, ${metric ?? "score"}`),
          el("p", { class: "note" }, some[0].signature ?? ""),
          lineChart(
            some.map((run) => ({
              name: run.name,
              points: run.events.map((event) => [event.iteration, event.score]),
              style: style(run.name),
            })),
            {
              x: "iteration",
              y: metric ?? "score",
              label: `${metric ?? "Score"} by iteration of ${some.map((run) => run.name).join(", ")}`,
            },
          ),
        ),
      ),
    );
  }

  function runEntry(run) {
    const report = run.report ? reportLink(run.name) : null;
    if (run.damaged)
      return el(
        "li",
        { class: "damaged" },
        el("span", { class: "run-name" }, run.name),
        el("small", {}, `damaged: ${run.damaged}`),
      );
    if (run.kind === "experiment")
      return el(
        "li",
        {},
        el("span", { class: "run-name" }, run.name),
        el("small", {}, `experiment, ${run.runs?.length ?? 0} runs`),
        report,
      );
    const now = loaded.get(run.name) ?? run;
    const box = el("input", { type: "checkbox", "aria-label": `draw ${run.name}` });
    box.checked = !hiddenRuns.has(run.name);
    box.addEventListener("change", async () => {
      hiddenRuns[box.checked ? "delete" : "add"](run.name);
      await fetchRuns(box.checked ? [run] : []);
      draw();
      listen();
    });
    const going = !now.stopped;
    const facts = [now.method, now.best === null ? null : `best ${shown(now.best, 2)}`, going ? null : now.stopped];
    return el(
      "li",
      { class: state.get("run") === run.name ? "chosen" : null },
      box,
      swatch(style(run.name)),
      el("button", { type: "button", class: "plain run-name", on: { click: () => choose(run.name) } }, run.name),
      el("small", {}, going ? el("span", { class: "live" }, "going on ") : null, facts.filter(Boolean).join(" · ")),
      report,
    );
  }

  function reportLink(name) {
    const path = named("runs", name, "report");
    const link = el("a", { href: `api/v1/${path}`, target: "_blank", rel: "noopener" }, "report");
    link.addEventListener("click", async (event) => {
      if (!sessionStorage.getItem("key")) return;
      event.preventDefault(); // A link has no key.
      const page = URL.createObjectURL(await askBlob(path));
      window.open(page, "_blank", "noopener");
    });
    return link;
  }

  async function choose(name) {
    const run = runs.find((some) => some.name === name && drawable(some));
    if (!run) return one.replaceChildren();
    state.set({ run: name });
    await whileBusy(one, () => fetchRuns([run]));
    list.replaceChildren(...runs.map(runEntry));
    showRun(loaded.get(name));
    listen();
  }

  function showRun(run) {
    if (run.trouble) return one.replaceChildren(failure(run.trouble, `Reading the run ${run.name}`));
    const names = Object.keys(run.weights[0] ?? {});
    const lines = names.map((name, i) => ({
      name,
      points: run.weights.map((weights, k) => [k + 1, weights[name] ?? 0]), // measured in the next iteration
      style: lineStyle(i),
    }));
    one.replaceChildren(
      el(
        "div",
        { class: "card" },
        el("h2", {}, `Weights of ${run.name} by iteration`),
        lineChart(lines, { x: "iteration", y: "weight", label: `Weights of ${run.name} by iteration`, legend: true }),
        el(
          "details",
          {},
          el("summary", {}, "Options of the run"),
          el("pre", { class: "scroll" }, JSON.stringify(run.options, null, 2)),
        ),
      ),
    );
  }

  /** Follow the runs that are drawn and go on, the chosen one first. */
  function listen() {
    streams?.abort();
    streams = new AbortController();
    const going = [...loaded.values()].filter(
      (run) => run.kind === "run" && !run.stopped && !run.trouble && !hiddenRuns.has(run.name),
    );
    going.sort((a, b) => (b.name === state.get("run")) - (a.name === state.get("run")));
    for (const run of going.slice(0, MOST_LIVE)) follow(run, streams.signal);
  }

  async function follow(run, signal) {
    try {
      for await (const { event, data } of events(`${named("runs", run.name)}/events`, signal)) {
        if (signal.aborted) return;
        if (event !== "message" && event !== "iteration") continue;
        if (!data.iteration || data.iteration <= run.events.length) continue;
        loaded.set(run.name, await ask(named("runs", run.name), { signal }));
        run = loaded.get(run.name);
        draw();
        if (state.get("run") === run.name) showRun(run);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      setTimeout(() => signal.aborted || follow(run, signal), AGAIN);
    }
  }

  return {
    show: load,
    hide() {
      asking.cancel();
      streams?.abort();
      loaded.clear();
    },
  };
}

/** Whether a run has a curve. */
function drawable(run) {
  return run.kind === "run" && !run.damaged;
}

function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}
