// Helpers for elements. Text of the model or of a user is inserted by textContent only.

export const byId = (id) => document.getElementById(id);

// make builds an element: properties, then children, which are elements or strings.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// conceal hides an element, or shows it. Where it has the focus, another one gets it: keyboards and
// screen readers would else be back at the beginning of the page.
export function conceal(element, hidden, next) {
  const focused = hidden && element.contains(document.activeElement);
  element.hidden = hidden;
  if (focused) next.focus({ preventScroll: true });
}

// enable says whether a button works. One that does not keeps the focus, and its handler does
// nothing.
export function enable(button, on) {
  button.setAttribute("aria-disabled", String(!on));
}

// copy puts text on the clipboard, also where a page has no permission (HTTP on another machine).
export async function copy(text) {
  if (navigator.clipboard) {
    try {
      return await navigator.clipboard.writeText(text);
    } catch {
      // without permission, the old way may still work
    }
  }
  const area = make("textarea", { value: text, className: "away" });
  const focused = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  if (!copied) throw new Error("The browser does not let this page copy.");
}
