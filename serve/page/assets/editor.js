// The editor: a plain textarea, and under it a mirror of the same text, which has the colours.
// Typing, input methods, screen readers and the clipboard therefore work as everywhere, and pasted
// text is plain. The mirror is one text node, whose parts are painted as highlights: elements
// around them would move letters, and the two texts would no longer align.

import { make } from "./dom.js";
import { LEVELS, pieceLevel } from "./pieces.js";

export class Editor {
  #area;
  #text; // the mirror's node
  #marks = []; // what is painted: {piece, range, level}
  #highlights; // of each level; a browser without them shows the text as it is
  #rings = [];
  #looks; // highlights of underlines, the faint ones first

  constructor(area, mirror) {
    this.#area = area;
    this.#text = document.createTextNode("");
    mirror.append(this.#text);
    this.#highlights = globalThis.Highlight ? LEVELS.map(() => new Highlight()) : [];
    this.#highlights.forEach((h, level) => CSS.highlights.set(`level-${level}`, h));
    this.#looks = globalThis.Highlight ? [1, 2, 3, 4].map(() => new Highlight()) : [];
    this.#looks.forEach((h, i) => {
      h.priority = 1; // above the levels
      CSS.highlights.set(`look-${i + 1}`, h);
    });
  }

  // A textarea turns \r into a line end, which changes the text: the editor shows a sign instead.
  get text() {
    return this.#area.value.replaceAll("␍", "\r");
  }

  get caret() {
    return this.#area.selectionStart;
  }

  get hasSelection() {
    return this.#area.selectionStart !== this.#area.selectionEnd;
  }

  set readOnly(on) {
    this.#area.readOnly = on;
  }

  // focus puts the caret at a place, or leaves it where it is if there is none.
  focus(place) {
    this.#area.focus({ preventScroll: true });
    if (place !== undefined) this.#area.setSelectionRange(place, place);
  }

  // show shows a text and its pieces. The selection stays; a caret at the end follows the end.
  show(real, pieces) {
    const area = this.#area;
    const text = real.replaceAll("\r", "␍");
    if (area.value !== text) {
      let { selectionStart, selectionEnd } = area;
      if (selectionStart === area.value.length) selectionStart = selectionEnd = text.length;
      area.value = text;
      area.setSelectionRange(selectionStart, selectionEnd);
    }
    // A line that ends the text has no height unless a character follows it.
    if (this.#text.data !== text + "\u200b") this.#text.data = text + "\u200b";
    this.#paint(pieces);
  }

  // rangeOf returns the range of a piece in the mirror.
  rangeOf(piece) {
    const range = document.createRange();
    range.setStart(this.#text, piece.start);
    range.setEnd(this.#text, piece.end);
    return range;
  }

  // underline marks parts of the text {start, end, level}, of levels from 1 to 4, and no others.
  underline(parts) {
    for (const look of this.#looks) look.clear();
    for (const part of parts) {
      if (part.end <= this.#text.length) this.#looks[part.level - 1]?.add(this.rangeOf(part));
    }
  }

  // pieceAt returns the piece at a point of the window.
  pieceAt(x, y) {
    const under = ({ left, right, top, bottom }) =>
      left <= x && x < right && top <= y && y < bottom;
    return this.#marks.find(({ piece }) => [...this.rangeOf(piece).getClientRects()].some(under))
      ?.piece;
  }

  // ring draws a line around a piece; without a piece it removes the line.
  ring(piece) {
    for (const ring of this.#rings) ring.remove();
    this.#rings = [];
    if (!piece) return;
    const box = this.#area.getBoundingClientRect();
    this.#rings = [...this.rangeOf(piece).getClientRects()].map((rect) => {
      const ring = make("div", { className: "ring" });
      ring.style.left = `${rect.left - box.left}px`;
      ring.style.top = `${rect.top - box.top}px`;
      ring.style.width = `${rect.width}px`;
      ring.style.height = `${rect.height}px`;
      return ring;
    });
    this.#area.before(...this.#rings);
  }

  // paint updates the changed marks, which are at the end if the text has grown.
  #paint(pieces) {
    let same = 0;
    while (same < pieces.length && this.#marks[same]?.piece === pieces[same]) same++;
    for (const { range, level } of this.#marks.splice(same)) this.#highlights[level]?.delete(range);
    for (const piece of pieces.slice(same)) {
      const level = pieceLevel(piece);
      const range = new StaticRange({
        startContainer: this.#text,
        startOffset: piece.start,
        endContainer: this.#text,
        endOffset: piece.end,
      });
      this.#highlights[level]?.add(range);
      this.#marks.push({ piece, range, level });
    }
  }
}
