// Light or dark: as the system says, until the switch says otherwise. A plain script in the head, so that nothing is
// drawn in the wrong colours first.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  // A browser may refuse storage; the switch still works then, for as long as the page is open.
  const kept = {
    get: () => {
      try {
        return localStorage.getItem("theme");
      } catch {
        return null;
      }
    },
    set: (theme) => {
      try {
        localStorage.setItem("theme", theme);
      } catch {
        // Not kept.
      }
    },
  };

  const chosen = kept.get();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const say = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      kept.set(root.dataset.theme);
      say();
    });
    system.addEventListener("change", say);
    say();
  });
})();
