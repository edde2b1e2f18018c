// The document: its text, the pieces whose tokens are known, the branches that wait for a choice,
// and the history of all three. It does not depend on the page.

const DEPTH = 200; // steps that can be undone
const PAUSE = 1000; // ms after which typing is a new step

export class Document {
  text = "";
  pieces = []; // arrays are replaced, never changed: the history holds them too
  branches = []; // [{text, pieces, seed, reason}]: continuations side by side
  #past = [];
  #future = [];
  #typing = { time: -Infinity, place: -1 };

  #now() {
    return { text: this.text, pieces: this.pieces, branches: this.branches };
  }

  #restore(state) {
    ({ text: this.text, pieces: this.pieces, branches: this.branches } = state);
    this.#typing.place = -1;
  }

  // step begins a change that one undo reverts.
  step() {
    this.#past.push(this.#now());
    if (this.#past.length > DEPTH) this.#past.shift();
    this.#future = [];
    this.#typing.place = -1;
  }

  // dropStep removes a step that changed nothing.
  dropStep() {
    if (this.#past.length > 0) this.#restore(this.#past.pop());
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  undo() {
    if (!this.canUndo) return;
    this.#future.push(this.#now());
    this.#restore(this.#past.pop());
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.#now());
    this.#restore(this.#future.pop());
  }

  // covered reports whether a token is known for each place of the text.
  get covered() {
    const known = this.pieces.reduce((at, piece) => (piece.start === at ? piece.end : -1), 0);
    return known === this.text.length;
  }

  // edit replaces the text by one that was typed or pasted. The probability of a token depends on
  // all tokens before it: pieces from the place of the edit on are no longer valid.
  edit(text, time) {
    if (text === this.text) return;
    const place = firstDifference(this.text, text);
    const grown = text.length - this.text.length;
    const near = Math.abs(place - this.#typing.place) <= 2;
    const small = Math.abs(grown) <= 2;
    if (!(small && near && time - this.#typing.time < PAUSE)) this.step();
    this.#typing = { time, place: small ? place + Math.max(0, grown) : -1 };
    this.text = text;
    this.pieces = this.pieces.filter((piece) => piece.end <= place);
    this.branches = [];
  }

  // cut keeps the text up to a place.
  cut(place) {
    this.text = this.text.slice(0, place);
    this.pieces = this.pieces.filter((piece) => piece.end <= place);
    this.branches = [];
  }

  // keep appends a branch, and removes the others.
  keep(i) {
    const { text, pieces } = this.branches[i];
    const by = this.text.length;
    const moved = pieces.map((piece) => ({
      ...piece,
      start: piece.start + by,
      end: piece.end + by,
    }));
    this.step();
    this.text += text;
    this.pieces = [...this.pieces, ...moved];
    this.branches = [];
  }
}

// firstDifference returns the index of the first code unit that differs.
export function firstDifference(a, b) {
  const n = Math.min(a.length, b.length);
  let i = 0;
  while (i < n && a[i] === b[i]) i++;
  return i;
}
