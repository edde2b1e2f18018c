// Samples side by side: continuations of one text, of which the user keeps one.

import { byId, conceal, enable, make } from "./dom.js";
import { nodeOf, runsOf, same } from "./ink.js";
import { percent } from "./pieces.js";

export class Branches {
  #section = byId("branches");
  #list = byId("branch-list");
  #cards = []; // {card, text, runs, facts, keep}
  #keep;

  // keep is called with the index of the branch that the user keeps.
  constructor({ keep, drop }) {
    this.#keep = keep;
    byId("drop-branches").addEventListener("click", drop);
  }

  // show shows branches {text, pieces, seed, reason}; the offsets of their pieces are in their own
  // text.
  show(branches, running) {
    conceal(this.#section, branches.length === 0, byId("continue"));
    while (this.#cards.length > branches.length) this.#cards.pop().card.remove();
    while (this.#cards.length < branches.length) this.#add();
    branches.forEach((branch, i) => this.#fill(this.#cards[i], branch, running));
  }

  focus() {
    this.#cards[0]?.keep.focus();
  }

  #add() {
    const i = this.#cards.length;
    const text = make("p", { className: "branch-text", dir: "auto", id: `branch-${i}` });
    const facts = make("p", { className: "quiet" });
    const keep = make("button", { type: "button", id: `keep-${i}` }, `Keep ${i + 1}`);
    keep.setAttribute("aria-describedby", `branch-${i}`);
    keep.addEventListener("click", () => this.#keep(i));
    const card = make("li", {}, text, facts, keep);
    this.#list.append(card);
    this.#cards.push({ card, text, runs: [], facts, keep });
  }

  #fill(entry, branch, running) {
    const runs = runsOf(branch.text, branch.pieces);
    const kept = same(entry.runs, runs);
    for (const run of entry.runs.slice(kept)) run.node.remove();
    runs.splice(0, kept, ...entry.runs.slice(0, kept));
    for (const run of runs.slice(kept)) entry.text.append((run.node = nodeOf(run)));
    entry.runs = runs;
    entry.facts.textContent = facts(branch);
    enable(entry.keep, !running);
  }
}

// facts returns how likely the tokens of a branch are: the geometric mean of their probabilities.
function facts({ pieces, seed, reason }) {
  const tokens = pieces.flatMap((piece) => piece.tokens).filter((t) => t.logprob !== null);
  const mean = tokens.reduce((sum, t) => sum + t.logprob, 0) / Math.max(1, tokens.length);
  const parts = [`seed ${seed}`];
  if (tokens.length > 0) parts.push(`${tokens.length} tokens`, `${percent(Math.exp(mean))} each`);
  if (reason === "stop") parts.push("came to an end");
  return parts.join(" · ");
}
