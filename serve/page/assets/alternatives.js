// The panel about one token: its probability, and its alternatives. Choosing an alternative cuts
// the text there and continues from it.

import { byId, make } from "./dom.js";
import { bits, labelOf, levelOf, percent, rankOf, sameBytes, textOf, visible } from "./pieces.js";

export class Alternatives {
  #panel = byId("alternatives");
  #list = byId("choices");
  #choices = []; // the tokens that the list shows
  #active = 0;
  #canLook;
  #close;
  #piece = null;
  #index = 0; // of the token in the piece

  // pick is called with (piece, index, choice), cut with a piece, move with 1 or -1 to show the
  // next or the previous token, and look with (piece, index), which is offered if canLook says so of
  // them; closed is called when the panel closes, with whether it had the focus.
  constructor({ pick, move, cut, look, canLook, closed }) {
    this.#close = closed;
    this.#canLook = canLook;
    this.#list.addEventListener("click", (e) => {
      const i = [...this.#list.children].indexOf(e.target.closest("li"));
      if (i >= 0) pick(this.#piece, this.#index, this.#choices[i]);
    });
    this.#panel.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const keys = {
        ArrowLeft: () => move(-1),
        ArrowRight: () => move(1),
        Escape: () => this.close(),
      };
      const inList = {
        ArrowDown: () => this.#activate(this.#active + 1),
        ArrowUp: () => this.#activate(this.#active - 1),
        Home: () => this.#activate(0),
        End: () => this.#activate(this.#choices.length - 1),
        Enter: () => pick(this.#piece, this.#index, this.#choices[this.#active]),
      };
      const act = keys[e.key] ?? (e.target === this.#list ? inList[e.key] : undefined);
      if (!act) return;
      e.preventDefault();
      e.stopPropagation();
      act();
    });
    byId("cut").addEventListener("click", () => cut(this.#piece));
    byId("look").addEventListener("click", () => look(this.#piece, this.#index));
    byId("close-alternatives").addEventListener("click", () => this.close());
  }

  get piece() {
    return this.#piece;
  }

  get index() {
    return this.#index;
  }

  // open shows token i of a piece beside an element or a range. place is its number and the total.
  open(piece, i, beside, place, focus) {
    this.#piece = piece;
    this.#index = i;
    const token = piece.tokens[i];
    byId("token-text").textContent = visible(token.bytes);
    byId("token-facts").textContent = facts(token, place);
    byId("look").hidden = !this.#canLook(piece, i);
    this.#fill(token);
    this.#panel.hidden = false;
    this.#place(beside);
    const first = this.#list.hidden ? byId("close-alternatives") : this.#list;
    if (focus) first.focus({ preventScroll: true });
  }

  close() {
    if (this.#panel.hidden) return;
    const focused = this.#panel.contains(document.activeElement);
    this.#panel.hidden = true;
    this.#piece = null;
    this.#close(focused);
  }

  #fill(token) {
    this.#choices = [...token.top];
    if (token.logprob !== null && !token.top.some((other) => sameBytes(other.bytes, token.bytes))) {
      this.#choices.push({ name: "", bytes: token.bytes, logprob: token.logprob });
    }
    const items = this.#choices.map((choice, i) => option(choice, i, token));
    this.#list.replaceChildren(...items);
    this.#list.hidden = items.length === 0;
    byId("no-choices").hidden = items.length > 0;
    const rest = 1 - this.#choices.reduce((sum, c) => sum + Math.exp(c.logprob), 0);
    byId("rest").textContent = items.length > 0 && rest > 0 ? `all others ${percent(rest)}` : "";
    const own = this.#choices.findIndex((choice) => sameBytes(choice.bytes, token.bytes));
    this.#activate(Math.max(0, own));
  }

  #activate(i) {
    if (this.#choices.length === 0) return;
    this.#active = Math.max(0, Math.min(this.#choices.length - 1, i));
    const item = this.#list.children[this.#active];
    this.#list.querySelector(".active")?.classList.remove("active");
    item.classList.add("active");
    this.#list.setAttribute("aria-activedescendant", item.id);
  }

  // place puts the panel below its token. In a narrow window the style sheet fixes it to the
  // bottom, and the text scrolls until the token is visible.
  #place(beside) {
    const box = beside.getClientRects()[0] ?? beside.getBoundingClientRect();
    const parent = this.#panel.offsetParent?.getBoundingClientRect();
    if (!parent) {
      const hidden = box.bottom + 12 - this.#panel.getBoundingClientRect().top;
      if (hidden > 0) window.scrollBy(0, hidden);
      return;
    }
    const left = Math.min(box.left - parent.left, parent.width - this.#panel.offsetWidth);
    this.#panel.style.left = `${Math.max(0, left)}px`;
    this.#panel.style.top = `${box.bottom - parent.top + 6}px`;
    this.#panel.scrollIntoView({ block: "nearest" });
  }
}

function facts(token, place) {
  const all = [place];
  if (token.id !== null) all.push(`id ${token.id}`);
  if (token.logprob === null) return [...all, "nothing before it"].join(" · ");
  all.push(percent(Math.exp(token.logprob)), `${bits(token.logprob).toFixed(1)} bits`);
  const rank = rankOf(token);
  if (rank !== null) all.push(rank === 0 ? "first choice" : `choice ${rank + 1}`);
  return all.join(" · ");
}

function option(choice, i, token) {
  const p = Math.exp(choice.logprob);
  const own = sameBytes(choice.bytes, token.bytes);
  const bar = make("span", { className: "share" });
  bar.style.setProperty("--share", `${(100 * p).toFixed(2)}%`);
  const more = own ? ["in the text"] : [];
  if (textOf(choice.bytes) === null) more.push("a part of a character");
  return make(
    "li",
    {
      id: `choice-${i}`,
      role: "option",
      className: own ? "own" : "",
      "aria-label": labelOf(choice.bytes, percent(p), ...more),
      "aria-selected": String(own),
    },
    make("span", { className: "name level-" + levelOf(choice) }, visible(choice.bytes)),
    " ",
    bar,
    make("span", { className: "number" }, percent(p)),
  );
}
