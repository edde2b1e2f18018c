// What pages share. The playground has it as a module; in pages that are one file it stands before
// their own script, without the word export.

export const number = (x, digits) => x.toLocaleString("en", {maximumSignificantDigits: digits});
export const percent = p => p >= 0.00001 || p === 0 ? number(100 * p, 3) + "\u00a0%" : (100 * p).toExponential(1) + "\u00a0%";

export function cell(row, value, name) {
  const td = row.insertCell();
  td.textContent = value;
  if (name) td.className = name;
  return td;
}

// bars fills the body of a table of the class bars: {name, token, share, value, title, chosen} each,
// of which share is the length of the bar, from −1 to 1, to both sides if signed.
export function bars(body, rows, signed) {
  body.replaceChildren();
  for (const {name, token, share, value, title, chosen} of rows) {
    const row = body.insertRow();
    if (chosen) row.className = "chosen";
    if (title) row.title = title;
    if (name !== undefined) {
      const th = document.createElement("th");
      th.scope = "row";
      th.textContent = name;
      row.append(th);
    }
    if (token !== undefined) cell(row, token, "token");
    const bar = document.createElement("div");
    bar.style.width = (signed ? 50 : 100) * Math.min(1, Math.abs(share)) + "%";
    if (share < 0) bar.className = "negative";
    cell(row, "", signed ? "bar signed" : "bar").append(bar);
    cell(row, value, "number");
  }
}

// A HeadGrid is a list box of the heads of all layers, a row for each layer, with a thumbnail of each.
export class HeadGrid {
  layer = 0;
  head = 0;

  // paint is called with a canvas, a layer and a head, to draw a thumbnail; choose with the layer and
  // the head that are chosen.
  constructor(box, layers, heads, {paint, choose}) {
    Object.assign(this, {box, layers, heads, draw: paint, called: choose});
    this.all = Array.from({length: layers * heads}, (_, k) => {
      const option = document.createElement("div");
      option.id = "h" + k;
      option.setAttribute("role", "option");
      option.title = `layer ${Math.floor(k / heads)}, head ${k % heads}`;
      option.setAttribute("aria-label", option.title);
      option.append(document.createElement("canvas"));
      option.addEventListener("click", () => this.choose(Math.floor(k / heads), k % heads));
      return option;
    });
    box.style.setProperty("--heads", heads);
    box.replaceChildren(...this.all);
  }

  get chosen() { return this.all[this.layer * this.heads + this.head]; }

  choose(layer, head) {
    this.layer = Math.max(0, Math.min(this.layers - 1, layer));
    this.head = Math.max(0, Math.min(this.heads - 1, head));
    for (const option of this.all) option.setAttribute("aria-selected", String(option === this.chosen));
    this.box.setAttribute("aria-activedescendant", this.chosen.id);
    this.called(this.layer, this.head);
  }

  paint() {
    this.all.forEach((option, k) => this.draw(option.firstChild, Math.floor(k / this.heads), k % this.heads));
  }
}

// markColour returns red, green and blue of the colour of marks.
export function markColour() {
  const hex = getComputedStyle(document.documentElement).getPropertyValue("--mark").trim();
  return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
}

// A TokenList makes the pieces of a text, spans with the ids p0, p1, …, a list box of which the
// pointer chooses a token.
export class TokenList {
  chosen = -1;

  // pieceOf holds the piece of each token. choose is called with the token that is chosen, show with
  // one that the pointer is on, and label returns what a screen reader says of one.
  constructor(text, pieceOf, {choose, show, label}) {
    Object.assign(this, {text, pieceOf, called: choose, label});
    this.spans = text.querySelectorAll("span");
    const under = e => pieceOf.indexOf(Number(e.target.id.slice(1)));
    text.addEventListener("focus", () => { if (this.chosen < 0) this.choose(0); });
    text.addEventListener("click", e => { if (e.target !== text) this.choose(under(e)); });
    text.addEventListener("mouseover", e => { if (e.target !== text) show(under(e)); });
    text.addEventListener("mouseleave", () => { if (this.chosen >= 0) show(this.chosen); });
  }

  get length() { return this.pieceOf.length; }

  span(i) { return this.spans[this.pieceOf[i]]; }

  choose(i) {
    i = Math.max(0, Math.min(this.length - 1, i));
    if (this.chosen >= 0) this.span(this.chosen).setAttribute("aria-selected", "false");
    this.chosen = i;
    const span = this.span(i);
    span.setAttribute("aria-selected", "true");
    span.setAttribute("aria-label", this.label(i));
    this.text.setAttribute("aria-activedescendant", span.id);
    span.scrollIntoView({block: "nearest"});
    this.called(i);
  }

  // line returns the token nearest to the chosen one in the line above (−1) or below (1).
  line(direction) {
    const from = this.span(this.chosen).getClientRects()[0];
    let best = this.chosen, distance = Infinity, edge = null;
    for (let i = this.chosen + direction; i >= 0 && i < this.length; i += direction) {
      const r = this.span(i).getClientRects()[0];
      if (!r || Math.abs(r.top - from.top) < from.height / 2) continue;
      if (edge === null) edge = r.top;
      if (Math.abs(r.top - edge) > from.height / 2) break;
      const d = Math.abs(r.left - from.left);
      if (d < distance) [best, distance] = [i, d];
    }
    return best;
  }
}
