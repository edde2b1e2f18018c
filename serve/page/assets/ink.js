// A text in the colours of its pieces.

import { pieceLevel } from "./pieces.js";

// runsOf cuts a text into runs {text, piece}; the piece is undefined where no token is known.
export function runsOf(text, pieces) {
  const runs = [];
  let at = 0;
  for (const piece of pieces) {
    if (piece.start > at) runs.push({ text: text.slice(at, piece.start) });
    if (piece.end > piece.start) runs.push({ text: piece.text, piece });
    at = piece.end;
  }
  runs.push({ text: text.slice(at) });
  return runs;
}

export function nodeOf({ text, piece }) {
  if (!piece) return document.createTextNode(text.replaceAll("\r", "␍"));
  const span = document.createElement("span");
  span.textContent = text.replaceAll("\r", "␍");
  span.className = "level-" + pieceLevel(piece);
  return span;
}

// same returns how many runs two lists have in common at the beginning.
export function same(a, b) {
  let n = 0;
  while (n < a.length && n < b.length && a[n].piece === b[n].piece && a[n].text === b[n].text) n++;
  return n;
}
