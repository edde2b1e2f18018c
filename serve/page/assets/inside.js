// The panel of what the model computed for one token: where its heads look, what each layer would
// predict, what adds to the logit; and how the text continues without some of the heads.

import { ServerError } from "./api.js";
import { firstDifference } from "./document.js";
import { byId, conceal, make } from "./dom.js";
import { bars, HeadGrid, markColour, number } from "./parts.js";
import { percent, Piecer, tokenBytes, visible } from "./pieces.js";

const TOLD = 24; // tokens of the continuations that are compared
const LOOKS = [0.02, 0.1, 0.25, 0.5]; // the least weights of the levels of underlines

export class Inside {
  #section = byId("inside");
  #heads = byId("heads");
  #ask;
  #tell;
  #mark;
  #closed;
  #room;
  #place = null; // {prompt, target, text, name}: text ends with the token; null if it is closed
  #found = null; // the server's answer
  #pieces = []; // of the tokens before: {start, end, tokens}
  #grid = null;
  #off = new Set(); // "3.1": layer and head
  #first = null; // how the text continues with all heads
  #loading = null; // an AbortController

  // ask is called with a request, for what the model computes; tell with one for a continuation;
  // mark with parts of the text {start, end, level}, which the chosen head looks at; and closed when
  // the panel closes, with whether it had the focus. room returns the length of the context.
  constructor({ ask, tell, room, mark, closed }) {
    this.#ask = ask;
    this.#tell = tell;
    this.#room = room;
    this.#mark = mark;
    this.#closed = closed;
    byId("close-inside").addEventListener("click", () => this.close());
    byId("switch").addEventListener("click", () => this.#toggle());
    byId("all-on").addEventListener("click", () => {
      this.#off.clear();
      this.#heads.focus();
      this.#load();
    });
    this.#section.addEventListener("keydown", (e) => this.#key(e));
    byId("contributions").addEventListener("click", (e) => {
      const name = e.target.closest("tr")?.cells[0].textContent;
      const at = /^head (\d+)\.(\d+)$/.exec(name);
      if (at) this.#grid.choose(Number(at[1]), Number(at[2]));
    });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.#grid?.paint());
  }

  get open() {
    return this.#place !== null;
  }

  // show shows the token after a prompt: a place {prompt, target, text, name}.
  show(place) {
    this.#place = place;
    this.#found = this.#first = this.#grid = null;
    this.#off.clear();
    this.#section.hidden = false;
    this.#section.classList.add("empty");
    byId("inside-title").textContent = `Inside: ${place.name}`;
    this.#heads.replaceChildren();
    this.#heads.focus({ preventScroll: true });
    this.#load();
  }

  // check closes the panel if the text is no longer the one that it is about.
  check(text) {
    if (this.open && !text.startsWith(this.#place.text)) this.close();
  }

  close() {
    if (!this.open) return;
    const focused = this.#section.contains(document.activeElement);
    this.#loading?.abort();
    this.#place = null;
    this.#section.hidden = true;
    this.#mark([]);
    this.#closed(focused);
  }

  // load asks the server, with the heads that are off, and shows its answer.
  async #load() {
    this.#loading?.abort();
    const { signal } = (this.#loading = new AbortController());
    const { prompt, target } = this.#place;
    const edits = [...this.#off].map((name) => {
      const [layer, head] = name.split(".").map(Number);
      return { at: `blocks.${layer}.attn.hook_z`, head, op: "set", values: [0] };
    });
    this.#section.setAttribute("aria-busy", "true");
    try {
      this.#show(await this.#ask({ prompt, target, edits, sources: 16, parts: 12 }, signal));
      const max_tokens = Math.min(TOLD, this.#room() - this.#found.at - 1);
      const continued = (edits) => this.#tell({ prompt, edits, max_tokens }, signal);
      this.#first ??= await continued([]);
      this.#compare(edits.length > 0 ? await continued(edits) : this.#first);
      this.#say("");
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof ServerError)) throw error;
      this.#say(error.message);
    }
    this.#section.setAttribute("aria-busy", "false");
  }

  #say(error) {
    byId("inside-error").textContent = error;
    byId("inside-error").hidden = error === "";
  }

  #show(found) {
    this.#found = found;
    this.#section.classList.remove("empty");
    const piecer = new Piecer(0);
    const tokens = found.texts.map((name, at) => ({ bytes: tokenBytes(name), at }));
    this.#pieces = [...piecer.add(tokens), ...piecer.end()];
    const before = visible(tokens[found.at].bytes);
    byId("inside-about").textContent =
      `What the model computed after ${before} (token ${found.at}), from which it chose ` +
      "what follows.";
    const layers = found.attention.length;
    const heads = found.attention[0].length;
    this.#grid ??= new HeadGrid(this.#heads, layers, heads, {
      paint: (canvas, layer, head) => this.#paint(canvas, layer, head),
      choose: () => this.#showHead(),
    });
    this.#grid.paint();
    this.#showContributions();
    this.#showHead();
  }

  // paint draws what a head looks at: a bar for each token, or for several if they are many.
  #paint(canvas, layer, head) {
    const n = this.#found.at + 1;
    const width = Math.min(n, 48);
    canvas.width = width;
    canvas.height = 1;
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, 1);
    const colour = markColour();
    for (const [at, weight] of this.#found.attention[layer][head]) {
      const to = 4 * Math.floor((at * width) / n);
      image.data.set(colour, to);
      image.data[to + 3] = Math.max(image.data[to + 3], 255 * Math.sqrt(weight));
    }
    context.putImageData(image, 0, 0);
    const off = this.#off.has(`${layer}.${head}`);
    canvas.parentElement.classList.toggle("off", off);
    const name = `layer ${layer}, head ${head}${off ? ", off" : ""}`;
    canvas.parentElement.title = name;
    canvas.parentElement.setAttribute("aria-label", name);
  }

  // showHead shows the chosen head: its sources, on the text too, and whether it is on.
  #showHead() {
    const { layer, head, chosen } = this.#grid;
    chosen.setAttribute("aria-selected", "true");
    this.#heads.setAttribute("aria-activedescendant", chosen.id);
    const sources = this.#found.attention[layer][head];
    byId("head-name").textContent = `Layer ${layer}, head ${head} looks at`;
    bars(byId("sources").tBodies[0], sources.slice(0, 5).map(([at, weight]) => ({
      name: String(at + 1),
      token: visible(tokenBytes(this.#found.texts[at])),
      share: weight,
      value: percent(weight),
    })));
    const weights = new Map(sources);
    this.#mark(this.#pieces.map(({ start, end, tokens }) => {
      const weight = tokens.reduce((sum, { at }) => sum + (weights.get(at) ?? 0), 0);
      return { start, end, level: LOOKS.filter((least) => weight >= least).length };
    }).filter(({ level }) => level > 0));
    const off = this.#off.has(`${layer}.${head}`);
    byId("switch").textContent = `Switch ${layer}.${head} ${off ? "on" : "off"}`;
    conceal(byId("all-on"), this.#off.size === 0, byId("switch"));
    this.#showLens();
    for (const row of byId("contributions").rows) {
      row.classList.toggle("chosen", row.cells[0].textContent === `head ${layer}.${head}`);
    }
  }

  #showLens() {
    const target = visible(tokenBytes(this.#found.target.text));
    const name = (text) => visible(tokenBytes(text));
    bars(byId("lens").tBodies[0], this.#found.lens.map(({ texts, p, rank, target_p }, layer) => ({
      name: String(layer),
      token: name(texts[0]),
      share: p[0],
      value: percent(p[0]),
      title: texts.map((text, i) => `${name(text)} ${percent(p[i])}`).join(" · ") +
        `; ${target}: ${percent(target_p)}, choice ${number(rank + 1, 6)}`,
      chosen: layer === this.#grid.layer,
    })));
    byId("ranks").textContent = `${target} is choice ` +
      this.#found.lens.map(({ rank }) => number(rank + 1, 6)).join(" → ") + ".";
  }

  #showContributions() {
    const { attribution, target } = this.#found;
    byId("contributions").hidden = attribution === null;
    if (attribution === null) return;
    byId("contributions-about").textContent =
      `What adds to the logit of ${visible(tokenBytes(target.text))}: ` +
      `${number(attribution.difference, 3)} above the mean of all`;
    const parts = Object.entries(attribution.parts);
    const most = Math.max(...parts.map(([, x]) => Math.abs(x)), 1e-9);
    bars(byId("contributions").tBodies[0], parts.map(([name, x]) => ({
      name,
      share: x / most,
      value: (x > 0 ? "+" : "") + number(x, 3).replace("-", "−"),
    })), true);
  }

  // compare shows how the text continues with all heads, and without those that are off.
  #compare(text) {
    const off = [...this.#off];
    byId("told").textContent = this.#first;
    byId("retold-by").textContent = `Without ${off.join(", ")}`;
    const at = firstDifference(this.#first, text);
    byId("retold").replaceChildren(text.slice(0, at), make("mark", {}, text.slice(at)));
    byId("without").hidden = off.length === 0;
    byId("same").hidden = off.length === 0 || text !== this.#first;
  }

  // toggle switches the chosen head off, or on again.
  #toggle() {
    if (!this.#grid) return;
    const name = `${this.#grid.layer}.${this.#grid.head}`;
    if (!this.#off.delete(name)) this.#off.add(name);
    this.#load();
  }

  #key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const grid = this.#grid;
    const inHeads = grid && {
      ArrowRight: () => grid.choose(grid.layer, grid.head + 1),
      ArrowLeft: () => grid.choose(grid.layer, grid.head - 1),
      ArrowDown: () => grid.choose(grid.layer + 1, grid.head),
      ArrowUp: () => grid.choose(grid.layer - 1, grid.head),
      Home: () => grid.choose(grid.layer, 0),
      End: () => grid.choose(grid.layer, grid.heads - 1),
      Enter: () => this.#toggle(),
      " ": () => this.#toggle(),
    };
    const keys = { Escape: () => this.close() };
    const act = keys[e.key] ?? (e.target === this.#heads ? inHeads?.[e.key] : undefined);
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  }
}
