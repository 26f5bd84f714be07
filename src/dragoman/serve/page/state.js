// The state of the page in its address: `#translate?text=…&model=…`, so that a shared address shows the same.

export const VIEWS = ["translate", "weights", "decide", "compare", "runs", "lists", "normalise"];

function read() {
  const [view, query = ""] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  return { view: VIEWS.includes(view) ? view : VIEWS[0], settings: new URLSearchParams(query) };
}

let { view, settings } = read();
const listeners = [];

function write(push) {
  const query = settings.toString();
  const hash = `#${view}${query ? `?${query}` : ""}`;
  if (hash === location.hash) return;
  history[push ? "pushState" : "replaceState"](null, "", hash);
}

export const state = {
  get view() {
    return view;
  },

  /** A setting, or what stands for it where the address has none. */
  get(name, fallback = "") {
    return settings.get(name) ?? fallback;
  },

  /** Settings that begin with a prefix, as a dictionary without it: `w.lm=0.7` is `{lm: "0.7"}`. */
  all(prefix) {
    const found = [...settings].filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(found.map(([name, value]) => [name.slice(prefix.length), value]));
  },

  /** Change settings; those without a value go. Typing leaves no steps to go back through. */
  set(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) settings.delete(name);
      else settings.set(name, value);
    }
    write(false);
  },

  /** Put a dictionary in the place of all settings with a prefix. */
  setAll(prefix, values) {
    for (const name of [...settings.keys()]) if (name.startsWith(prefix)) settings.delete(name);
    for (const [name, value] of Object.entries(values)) settings.set(prefix + name, value);
    write(false);
  },

  /** Go to a view; the one before stays behind the back button. */
  go(name) {
    if (name === view) return;
    view = name;
    write(true);
    for (const listener of listeners) listener();
  },

  /** Call when another view, or another address, is to be shown. */
  onGo(listener) {
    listeners.push(listener);
  },
};

addEventListener("popstate", () => {
  ({ view, settings } = read());
  for (const listener of listeners) listener();
});
