// Elements without markup: whatever comes from data becomes a text node or an attribute, never HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "vars") {
      for (const [variable, setting] of Object.entries(value)) element.style.setProperty(variable, setting);
    } else if (name === "value") {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** An HTML element: `el("p", {class: "note", on: {click}}, "text", …)`; `vars` are CSS variables. */
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** A table of numbers: titles of the columns, and rows. */
export function numbersTable(titles, rows) {
  const head = titles.map((title) => el("th", { scope: "col" }, title));
  return el("table", { class: "numbers" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}

let numbered = 0;

/** An id that no other element has. */
export function freshId(prefix) {
  numbered += 1;
  return `${prefix}-${numbered}`;
}

/** A number for people: four figures, a true minus, and a fixed width where that can be had. */
export function shown(number, digits = 3) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  const magnitude = Math.abs(number);
  const places = magnitude >= 1000 ? 0 : magnitude >= 100 ? Math.min(1, digits) : digits;
  return number
    .toFixed(places)
    .replace("-", "−")
    .replace(/^−(0(\.0*)?)$/, "$1");
}

/** What an empty view shows: a sentence that says what is to be done, and perhaps something to press. */
export function empty(title, text, ...more) {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, title), el("p", {}, text), ...more);
}

/** Words in the place of what went wrong, and what it was that did: "Translating with model X". */
export function failure(error, work = null) {
  return el("p", { class: "failure", role: "alert" }, work ? `${work} failed: ${error.message}` : error.message);
}

/** Give text to the clipboard, also where the page is not trusted with it (plain HTTP from another machine). */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = el("textarea", { class: "offscreen", "aria-hidden": "true", value: text });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/** Let a text be saved as a file. */
export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
