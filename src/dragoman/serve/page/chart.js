// Line charts as SVG: a score by iteration for each run, or a weight by iteration for each feature.

import { el, shown, svg } from "./dom.js";

const MOST_WIDTH = 720;
const HEIGHT = 300;
const AROUND = 60; // pixels of a window that a chart on a phone does not get
const MARGIN = { left: 52, right: 14, top: 12, bottom: 34 };
const DASHES = ["", "7 4", "2 3"]; // after eight colours lines differ by these

/** Round numbers between two others, about as many as wanted. */
export function ticks(low, high, wanted) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-6; at += step)
    found.push(Number(at.toFixed(10)));
  return found;
}

/** How the n-th line looks: a class for its colour, and dashes. */
export function lineStyle(n) {
  return { hue: `hue-${n % 8}`, dashes: DASHES[Math.floor(n / 8) % DASHES.length] };
}

/** A chart of `series` `{name, points: [[x, y], …], style}`. Pointing at it says what is nearest; so does the table.
 *
 * With a legend, each line has a button that leaves only it in colour.
 */
export function lineChart(series, { x, y, label, legend = false }) {
  const points = series.flatMap((line) => line.points);
  if (!points.length) return el("p", { class: "note" }, "Nothing to draw yet.");
  const extent = (k) => [Math.min(...points.map((point) => point[k])), Math.max(...points.map((point) => point[k]))];
  const width = Math.min(MOST_WIDTH, Math.max(280, window.innerWidth - AROUND)); // so that its words are not shrunk
  const [left, right] = extent(0);
  let [low, high] = extent(1);
  const slack = (high - low || Math.abs(high) || 1) * 0.08;
  [low, high] = [low - slack, high + slack];
  const across = (value) => MARGIN.left + ((value - left) / (right - left || 1)) * (width - MARGIN.left - MARGIN.right);
  const up = (value) => HEIGHT - MARGIN.bottom - ((value - low) / (high - low)) * (HEIGHT - MARGIN.top - MARGIN.bottom);

  const shapes = [];
  for (const tick of ticks(low, high, 5)) {
    shapes.push(svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: up(tick), y2: up(tick) }));
    shapes.push(svg("text", { class: "tick y", x: MARGIN.left - 8, y: up(tick) }, String(tick).replace("-", "−")));
  }
  for (const tick of ticks(left, right, 8).filter(Number.isInteger))
    shapes.push(svg("text", { class: "tick x", x: across(tick), y: HEIGHT - MARGIN.bottom + 16 }, String(tick)));
  shapes.push(svg("text", { class: "axis", x: width - MARGIN.right, y: HEIGHT - 4 }, x));

  const dot = svg("circle", { class: "dot", r: 5, cx: -20, cy: -20 });
  for (const line of series) {
    const d = line.points
      .map(([px, py], i) => `${i ? "L" : "M"}${across(px).toFixed(1)} ${up(py).toFixed(1)}`)
      .join("");
    const dots = line.points.map(([px, py]) => svg("circle", { class: "point", cx: across(px), cy: up(py), r: 2.6 }));
    shapes.push(
      svg(
        "g",
        { class: `series ${line.style.hue}` },
        svg("path", { class: "line", d, "stroke-dasharray": line.style.dashes || null }),
        dots,
      ),
    );
  }
  shapes.push(dot);
  const image = svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label },
    shapes,
  );
  const said = el("p", { class: "pointed", "aria-hidden": "true" }, `${y} by ${x}`);
  image.addEventListener("pointermove", (event) => {
    const box = image.getBoundingClientRect();
    const [px, py] = [
      ((event.clientX - box.left) / box.width) * width,
      ((event.clientY - box.top) / box.height) * HEIGHT,
    ];
    const near = nearest(series, (point) => Math.hypot(across(point[0]) - px, up(point[1]) - py));
    dot.setAttribute("cx", across(near.point[0]));
    dot.setAttribute("cy", up(near.point[1]));
    said.textContent = `${near.name}: ${shown(near.point[1])} at ${x} ${near.point[0]}`;
  });
  return el("figure", { class: "plot" }, legend ? legendOf(series, image) : null, said, image, asTable(series, x));
}

function legendOf(series, image) {
  const groups = () => [...image.querySelectorAll(".series")];
  let chosen = null;
  const leave = (only) => groups().forEach((group, i) => group.classList.toggle("faded", only !== null && i !== only));
  const buttons = series.map((line, i) =>
    el(
      "button",
      {
        type: "button",
        class: "plain key-entry",
        "aria-pressed": "false",
        on: {
          pointerenter: () => leave(i),
          pointerleave: () => leave(chosen),
          click: () => {
            chosen = chosen === i ? null : i;
            buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === chosen)));
            leave(chosen);
          },
        },
      },
      swatch(line.style),
      line.name,
    ),
  );
  return el("div", { class: "legend", role: "group", "aria-label": "Lines" }, buttons);
}

/** A little line in the style of a line. */
export function swatch(style) {
  const line = svg("line", { class: "line", x1: 0, x2: 22, y1: 5, y2: 5, "stroke-dasharray": style.dashes || null });
  return svg("svg", { class: `line-swatch ${style.hue}`, width: 22, height: 10, "aria-hidden": "true" }, line);
}

function nearest(series, distance) {
  let best = null;
  for (const line of series)
    for (const point of line.points)
      if (!best || distance(point) < best.distance) best = { name: line.name, point, distance: distance(point) };
  return best;
}

function asTable(series, x) {
  const places = [...new Set(series.flatMap((line) => line.points.map((point) => point[0])))].sort((a, b) => a - b);
  const values = series.map((line) => new Map(line.points));
  const details = el("details", { class: "as-table" }, el("summary", {}, "As a table"));
  // Made when it is looked at: learners of sparse weights leave long runs.
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const head = el(
      "tr",
      {},
      el("th", { scope: "col" }, x),
      series.map((line) => el("th", { scope: "col" }, line.name)),
    );
    const rows = places.map((place) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, String(place)),
        values.map((value) => el("td", {}, shown(value.get(place)))),
      ),
    );
    const table = el("table", { class: "numbers" }, el("thead", {}, head), el("tbody", {}, rows));
    details.append(el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, table));
  });
  return details;
}
