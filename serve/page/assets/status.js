// Messages of the page: one line for what happened, one for what failed, and the form for the key
// that a server may want.

import { byId, conceal } from "./dom.js";

export class Status {
  #retry = null;

  // useKey is called with a key that the user entered.
  constructor(useKey) {
    byId("key-form").addEventListener("submit", (e) => {
      e.preventDefault();
      const field = byId("key");
      if (field.value.trim() === "") return;
      conceal(byId("key-form"), true, byId("continue"));
      this.clear();
      useKey(field.value.trim());
      field.value = "";
    });
  }

  // say shows the result of a user's action; screen readers read it when they have time.
  say(message) {
    byId("status").textContent = message;
  }

  // fail shows an error. It stays until the next success.
  fail(message) {
    byId("error").textContent = message;
    byId("error").hidden = false;
    byId("status").textContent = "";
  }

  clear() {
    byId("status").textContent = "";
    byId("error").hidden = true;
    byId("error").textContent = "";
  }

  askKey() {
    this.fail("This server wants a key.");
    byId("key-form").hidden = false;
    byId("key").focus();
  }

  // away shows why the server is unreachable, and calls alive until it succeeds; then it calls
  // back.
  away(why, alive, back) {
    this.fail(`${why} Your text is safe here; asking again…`);
    clearTimeout(this.#retry);
    let pause = 1000;
    const ask = async () => {
      if (await alive()) {
        this.clear();
        this.say("The server is back.");
        return back();
      }
      pause = Math.min(2 * pause, 15_000);
      this.#retry = setTimeout(ask, pause);
    };
    this.#retry = setTimeout(ask, pause);
  }
}
