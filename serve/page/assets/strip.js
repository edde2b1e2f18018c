// The strip: surprise along the text, a bar for each token. It shows the same as the colours, at a
// glance; screen readers have it from the tokens.

import { byId } from "./dom.js";
import { bits, LEVELS, levelOf } from "./pieces.js";

const LEAST = 12; // bits at the full height, unless a token has more

export class Strip {
  #svg = byId("strip");
  #paths = LEVELS.map((_, level) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", `level-${level}`);
    return path;
  });
  #tokens = []; // {piece, index}
  #shown = null; // the pieces that the strip shows

  // open is called with (piece, index) of the bar that the user points at.
  constructor(open) {
    this.#svg.append(...this.#paths);
    this.#svg.addEventListener("click", (e) => {
      const box = this.#svg.getBoundingClientRect();
      const at = Math.floor(((e.clientX - box.left) / box.width) * this.#tokens.length);
      if (this.#tokens[at]) open(this.#tokens[at].piece, this.#tokens[at].index);
    });
  }

  show(pieces) {
    if (pieces === this.#shown) return;
    this.#shown = pieces;
    this.#tokens = pieces.flatMap((piece) => piece.tokens.map((_, index) => ({ piece, index })));
    const all = this.#tokens.map(({ piece, index }) => piece.tokens[index]);
    const known = all.filter((token) => token.logprob !== null);
    const most = known.reduce((m, token) => Math.max(m, bits(token.logprob)), LEAST);
    const lines = LEVELS.map(() => "");
    all.forEach((token, i) => {
      if (token.logprob === null) return;
      const top = 100 - Math.max(2, (100 * bits(token.logprob)) / most);
      lines[levelOf(token)] += `M${i + 0.1} 100V${top.toFixed(1)}h.8V100z`;
    });
    lines.forEach((line, level) => this.#paths[level].setAttribute("d", line));
    // The bars of a short text are not wide.
    this.#svg.setAttribute("viewBox", `0 0 ${Math.max(1, all.length)} 100`);
    this.#svg.style.maxWidth = `${all.length}rem`;
    this.#svg.toggleAttribute("hidden", known.length < 2);
  }
}
