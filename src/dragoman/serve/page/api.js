// The service: one function that asks, and what goes with asking: cancelling, waiting a little, and reading events.

const BASE = new URL("api/v1/", document.baseURI);
const AWAY = "The service does not answer. It may have been stopped; the page continues when it is back.";

/** What the service said, or that it said nothing (`status` 0). */
export class ServiceError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "ServiceError";
    this.status = status;
  }
}

let key = sessionStorage.getItem("key") ?? "";

/** Use a key from now on, for as long as the tab is open. */
export function useKey(given) {
  key = given;
  sessionStorage.setItem("key", given);
}

async function request(path, { body, signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept };
  if (key) headers["X-API-Key"] = key;
  const options = { signal, headers, credentials: "omit", cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(new URL(path, BASE), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(0, AWAY);
  }
  if (response.ok) return response;
  let message = `The service answered with status ${response.status}.`;
  try {
    message = (await response.json()).error.message;
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  if (response.status === 401) document.dispatchEvent(new CustomEvent("keyneeded", { detail: message }));
  throw new ServiceError(response.status, message);
}

/** Ask for JSON: `GET path`, or `POST path` with a body. */
export async function ask(path, { body, signal } = {}) {
  const response = await request(path, { body, signal });
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(0, AWAY);
  }
}

/** Wait for an answer; an error says which work it ended. */
export async function during(work, answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ServiceError) error.work = work;
    throw error;
  }
}

/** Ask for something that is no JSON, such as a report. */
export async function askBlob(path, { signal } = {}) {
  return (await request(path, { signal, accept: "*/*" })).blob();
}

/** The path of something with a name, whatever is in it; slashes stay, because names of runs may have them. */
export function named(...parts) {
  return parts.map((part) => part.split("/").map(encodeURIComponent).join("/")).join("/");
}

/** Yield `{event, data}` as the service sends them, until it ends or `signal` says so. */
export async function* events(path, signal) {
  const response = await request(path, { signal, accept: "text/event-stream" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServiceError(0, AWAY);
    }
    if (piece.done) return;
    waiting = (waiting + piece.value).replaceAll("\r\n", "\n");
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const found = parseEvent(block);
      if (found) yield found;
    }
  }
}

function parseEvent(block) {
  const lines = block.split("\n").filter((line) => !line.startsWith(":"));
  const field = (name) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  const data = field("data").join("\n");
  return data ? { event: field("event")[0] ?? "message", data: JSON.parse(data) } : null;
}

/** Only the latest request counts: each call cancels the one before, whose result is never seen. */
export function latest() {
  let controller = null;
  const run = async (work) => {
    controller?.abort();
    const mine = (controller = new AbortController());
    try {
      const result = await work(mine.signal);
      return mine.signal.aborted ? { cancelled: true } : { result };
    } catch (error) {
      if (mine.signal.aborted || error.name === "AbortError") return { cancelled: true };
      if (!(error instanceof ServiceError)) throw error;
      return { error };
    }
  };
  run.cancel = () => controller?.abort();
  return run;
}

/** One request at a time, and then the newest of those that came meanwhile: for sliders, which never pause. */
export function inTurn(work) {
  let going = false;
  let waiting = null;
  return async (...arguments_) => {
    waiting = arguments_;
    if (going) return;
    going = true;
    try {
      while (waiting) {
        const next = waiting;
        waiting = null;
        await work(...next);
      }
    } finally {
      going = false;
    }
  };
}

/** Call after a pause: calls that come before it is over begin it anew. */
export function debounced(work, milliseconds) {
  let timer;
  return (...arguments_) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...arguments_), milliseconds);
  };
}

/** Mark an element as busy while work goes on; what takes no time leaves no trace. */
export async function whileBusy(element, work) {
  const count = (Number(element.dataset.busy) || 0) + 1;
  element.dataset.busy = count;
  element.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    element.dataset.busy = Number(element.dataset.busy) - 1;
    if (element.dataset.busy === "0") element.removeAttribute("aria-busy");
  }
}
