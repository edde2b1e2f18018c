// Bytes and tokens: every token of the text in a box of its own, with its id. Spaces, line ends and
// bytes that are not characters are visible.

import { byId, make } from "./dom.js";
import { labelOf, levelOf, percent, visible } from "./pieces.js";

export class TokenView {
  #list = byId("tokens");
  #items = []; // {piece, index, node}
  #chosen = 0;
  #open;

  // open is called with (piece, index, focus) for the token that the user asks about.
  constructor(open) {
    this.#open = open;
    this.#list.addEventListener("click", (e) => {
      const i = this.#items.findIndex((item) => item.node === e.target.closest("[role=option]"));
      if (i < 0) return;
      this.#choose(i);
      open(this.#items[i].piece, this.#items[i].index, false);
    });
    this.#list.addEventListener("keydown", (e) => this.#key(e));
  }

  // show lays out the tokens of the pieces.
  show(pieces) {
    this.#items = pieces.flatMap((piece) =>
      piece.tokens.map((token, index) => ({ piece, index, node: box(token) })),
    );
    this.#items.forEach((item, i) => (item.node.id = `token-${i}`));
    const nodes = [];
    for (const { node, piece, index } of this.#items) {
      nodes.push(node);
      const last = index === piece.tokens.length - 1;
      if (last && piece.text.endsWith("\n")) nodes.push(make("span", { className: "feed" }));
    }
    this.#list.replaceChildren(...nodes);
    this.#choose(Math.min(this.#chosen, this.#items.length - 1));
  }

  nodeOf(piece, index) {
    return this.#items.find((item) => item.piece === piece && item.index === index)?.node;
  }

  // choose makes a token the current one.
  choose(piece, index) {
    this.#choose(this.#items.findIndex((i) => i.piece === piece && i.index === index));
  }

  focus() {
    this.#list.focus({ preventScroll: true });
  }

  #choose(i) {
    this.#list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    this.#list.removeAttribute("aria-activedescendant");
    if (!this.#items[i]) return;
    this.#chosen = i;
    const { node } = this.#items[i];
    node.setAttribute("aria-selected", "true");
    this.#list.setAttribute("aria-activedescendant", node.id);
    if (this.#list.contains(document.activeElement)) node.scrollIntoView({ block: "nearest" });
  }

  #key(e) {
    if (e.ctrlKey || e.metaKey || (e.altKey && e.key !== "ArrowDown")) return;
    const open = () => {
      const item = this.#items[this.#chosen];
      if (item) this.#open(item.piece, item.index, true);
    };
    const to = {
      ArrowRight: () => this.#step(1),
      ArrowLeft: () => this.#step(-1),
      ArrowDown: () => (e.altKey ? open() : this.#line(1)),
      ArrowUp: () => this.#line(-1),
      Home: () => this.#choose(0),
      End: () => this.#choose(this.#items.length - 1),
      Enter: open,
      " ": open,
    }[e.key];
    if (!to) return;
    e.preventDefault();
    to();
  }

  #step(direction) {
    const i = this.#chosen + direction;
    if (this.#items[i]) this.#choose(i);
  }

  // line chooses the nearest token of the line above (-1) or below (1).
  #line(direction) {
    const from = this.#items[this.#chosen]?.node;
    if (!from) return;
    let best = -1;
    for (let i = this.#chosen + direction; this.#items[i]; i += direction) {
      const { node } = this.#items[i];
      if (node.offsetTop === from.offsetTop) continue;
      if (best >= 0 && node.offsetTop !== this.#items[best].node.offsetTop) break;
      const away = (n) => Math.abs(n.offsetLeft - from.offsetLeft);
      if (best < 0 || away(node) < away(this.#items[best].node)) best = i;
    }
    if (best >= 0) this.#choose(best);
  }
}

function box(token) {
  const id = token.id === null ? "" : String(token.id);
  const known = token.logprob === null ? [] : [percent(Math.exp(token.logprob))];
  const label = labelOf(token.bytes, id, ...known);
  return make(
    "span",
    { role: "option", className: "token", "aria-label": label, "aria-selected": "false" },
    make("span", { className: "name level-" + levelOf(token), dir: "auto" }, visible(token.bytes)),
    " ",
    make("span", { className: "id" }, id),
  );
}
