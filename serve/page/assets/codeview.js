// The dialog "View code": a tab for each language, and a button that copies.

import { LANGUAGES } from "./code.js";
import { byId, copy, make } from "./dom.js";

export class CodeView {
  #dialog = byId("code-dialog");
  #tabs;
  #sources = [];

  constructor() {
    this.#tabs = LANGUAGES.map(({ name }, i) => {
      const tab = make("button", { type: "button", role: "tab", id: `tab-${i}` }, name);
      tab.setAttribute("aria-controls", "code-source");
      tab.addEventListener("click", () => this.#choose(i));
      tab.addEventListener("keydown", (e) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (step) this.#choose((i + step + LANGUAGES.length) % LANGUAGES.length).focus();
      });
      return tab;
    });
    byId("code-tabs").replaceChildren(...this.#tabs);
    byId("copy-code").addEventListener("click", async () => {
      try {
        await copy(byId("code-source").textContent);
        byId("copied").textContent = "Copied.";
      } catch (error) {
        byId("copied").textContent = error.message;
      }
    });
    byId("close-code").addEventListener("click", () => this.#dialog.close());
  }

  // open shows the code of a request to a server at an origin. keyed says whether the server wants
  // a key.
  open(body, origin, keyed) {
    this.#sources = LANGUAGES.map(({ write }) => write(body, origin, keyed));
    const chosen = this.#tabs.findIndex((tab) => tab.ariaSelected === "true");
    const tab = this.#choose(Math.max(0, chosen));
    this.#dialog.showModal();
    tab.focus();
  }

  #choose(chosen) {
    this.#tabs.forEach((tab, i) => {
      tab.ariaSelected = String(i === chosen);
      tab.tabIndex = i === chosen ? 0 : -1;
    });
    byId("code-source").setAttribute("aria-labelledby", `tab-${chosen}`);
    byId("code-source").textContent = this.#sources[chosen];
    byId("copied").textContent = "";
    return this.#tabs[chosen];
  }
}
