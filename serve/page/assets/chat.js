// The conversation: turns with the model, of which the server's chat template makes a prompt.

import { byId, conceal, enable, make } from "./dom.js";

const NAMES = { user: "You", assistant: "Model" };

export class Chat {
  on = false;
  #session;
  #status;
  #changed;
  #save;
  #now = { system: "", turns: [] }; // turns are [{role, content, cut}]; replaced, never changed
  #past = []; // what undo brings back
  #future = [];
  #shown = []; // the turns that are on the page
  #kept = ""; // the state as it was last kept

  // changed is called whenever something that is kept may have changed, and save with what is kept.
  constructor(session, status, changed, save) {
    this.#save = save;
    this.#session = session;
    this.#status = status;
    this.#changed = changed;
    byId("say-form").addEventListener("submit", (e) => {
      e.preventDefault();
      this.send();
    });
    byId("say").addEventListener("keydown", (e) => {
      if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
      if (e.ctrlKey || e.metaKey) return; // the page's own key
      e.preventDefault();
      this.send();
    });
    byId("system").addEventListener("input", () => {
      this.#now = { ...this.#now, system: byId("system").value };
      changed();
    });
    byId("say").addEventListener("input", changed);
    byId("again").addEventListener("click", () => this.again());
    byId("new-chat").addEventListener("click", () => this.begin());
  }

  // keep saves the conversation and the message that is not yet sent, if they are new.
  keep() {
    const state = { ...this.#now, draft: byId("say").value };
    const now = JSON.stringify({ ...state, on: this.on });
    if (now === this.#kept) return;
    this.#kept = now;
    if (this.#save(state, this.on) || state.turns.length === 0) return;
    this.#status.say("The browser stores no more: this conversation ends with the page.");
  }

  // restore shows what of a state is one that was kept.
  restore({ system, turns, draft }, on) {
    const kept = Array.isArray(turns) ? turns.filter(isTurn) : [];
    const written = (text) => (typeof text === "string" ? text : "");
    this.#now = { system: written(system), turns: kept };
    byId("say").value = written(draft);
    this.turn(on);
  }

  // turn shows the conversation in the place of the document, or not.
  turn(on) {
    this.on = on;
    document.body.classList.toggle("chatting", on);
    byId("chat").setAttribute("aria-pressed", String(on));
    for (const name of ["talk", "say-form", "chat-keys"]) byId(name).hidden = !on;
    this.show();
  }

  // send asks for the answer to what the user wrote.
  send() {
    const content = byId("say").value.trim();
    if (content !== "") return this.#ask([...this.#now.turns, { role: "user", content }]);
  }

  // again asks once more for the last answer, with another seed where none is set.
  again() {
    const { turns } = this.#now;
    const last = turns.findLastIndex(({ role }) => role === "user");
    if (last >= 0) return this.#ask(turns.slice(0, last + 1));
  }

  // begin empties the conversation. Undo brings it back.
  begin() {
    if (this.#session.running || this.#now.turns.length === 0) return;
    this.#step(this.#now);
    this.#set([]);
    this.#status.say("A new conversation. Undo brings the old one back.");
    byId("say").focus();
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  undo() {
    this.#move(this.#past, this.#future, "Undone.");
  }

  redo() {
    this.#move(this.#future, this.#past, "Redone.");
  }

  // messages returns the conversation as a request has it.
  get messages() {
    const { system, turns } = this.#now;
    const first = system.trim() === "" ? [] : [{ role: "system", content: system }];
    return [...first, ...turns.map(({ role, content }) => ({ role, content }))];
  }

  // show updates the page.
  show() {
    const { system, turns } = this.#now;
    const { running } = this.#session;
    const list = byId("turns");
    if (byId("system").value !== system) byId("system").value = system;
    for (let i = 0; i < turns.length; i++) {
      if (this.#shown[i] === turns[i]) continue;
      const item = list.children[i] ?? list.appendChild(turnElement());
      item.className = turns[i].role;
      item.firstChild.textContent = NAMES[turns[i].role];
      item.lastChild.textContent = turns[i].content.trimStart(); // tokens begin with a space
      item.classList.toggle("cut", Boolean(turns[i].cut));
    }
    if (this.on && turns.length > this.#shown.length) {
      window.scrollTo(0, document.documentElement.scrollHeight);
    }
    while (list.children.length > turns.length) list.lastChild.remove();
    this.#shown = turns;
    list.setAttribute("aria-busy", String(running));
    for (const name of ["send", "again", "new-chat"]) enable(byId(name), !running);
    conceal(byId("chat-tools"), turns.length === 0, byId("say"));
  }

  // ask asks for the answer to turns, which are shown at once. Where no answer comes, they are taken
  // back, and what the user wrote is in its field again.
  async #ask(turns) {
    if (this.#session.running) return;
    const before = this.#now;
    const field = byId("say");
    const written = turns.length > before.turns.length ? field.value : "";
    if (written !== "") field.value = "";
    this.#set(turns);
    this.keep(); // an answer may take longer than the page stays
    let answer = null;
    await this.#session.talk(this.messages, ({ text, reason }) => {
      if (answer === null && text === "" && reason === null) return; // the role alone
      if (answer === null) {
        this.#step(before);
        if (field.value === written) field.value = ""; // asked again, with a key
      }
      // Only one that ended by itself is whole.
      answer = { role: "assistant", content: (answer?.content ?? "") + text, cut: reason !== "stop" };
      this.#set([...turns, answer]);
    });
    if (answer !== null) return;
    this.#now = { ...this.#now, turns: before.turns };
    if (field.value === "") field.value = written;
    this.#changed();
  }

  // step makes undo bring back what was before.
  #step(before) {
    this.#past.push(before);
    this.#future = [];
  }

  #set(turns) {
    this.#now = { ...this.#now, turns };
    this.#changed();
  }

  #move(from, to, message) {
    if (this.#session.running || from.length === 0) return;
    to.push(this.#now);
    this.#now = from.pop();
    this.#status.say(message);
    this.#changed();
  }
}

const isTurn = (turn) => Object.hasOwn(NAMES, turn?.role) && typeof turn.content === "string";

const turnElement = () => make("li", {}, make("span", { className: "quiet" }), make("p"));
