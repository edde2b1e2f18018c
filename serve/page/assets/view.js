// The view of the document: as a text or as tokens, its samples, and the panel about one token.

import { Alternatives } from "./alternatives.js";
import { Branches } from "./branches.js";
import { byId, conceal, enable, make } from "./dom.js";
import { Editor } from "./editor.js";
import { Inside } from "./inside.js";
import { LEVELS, textOf, visible } from "./pieces.js";
import { Strip } from "./strip.js";
import { TokenView } from "./tokenview.js";

export class View {
  editor = new Editor(byId("text"), byId("mirror"));
  asTokens = false;
  history; // what undo and redo go over
  #doc;
  #session;
  #tokens;
  #branches;
  #panel;
  #inside;
  #strip = new Strip((piece, index) => this.openToken(piece, index, false));
  #framed = false;
  #wasRunning = false;

  constructor(doc, session) {
    this.#doc = this.history = doc;
    this.#session = session;
    this.#tokens = new TokenView((piece, index, focus) => this.openToken(piece, index, focus));
    this.#branches = new Branches({
      keep: (i) => this.#then(() => session.keep(i)),
      drop: () => this.#then(() => session.drop()),
    });
    this.#panel = new Alternatives({
      pick: (piece, index, choice) => this.#then(() => session.pick(piece, index, choice)),
      cut: (piece) => this.#then(() => session.cut(piece)),
      move: (direction) => this.#moveToken(direction),
      look: (piece, index) => this.#look(piece, index),
      canLook: (piece, index) => session.model?.inside && this.#placeOf(piece, index) !== null,
      closed: (focused) => this.#closed(focused),
    });
    this.#inside = new Inside({
      ask: (body, signal) => session.inside(body, signal),
      tell: (body, signal) => session.tell(body, signal),
      room: () => session.model.max_model_len,
      mark: (parts) => this.editor.underline(parts),
      closed: (focused) => this.#closed(focused),
    });
    byId("legend").append(
      ...LEVELS.map((name, i) => make("li", { className: `level-${i}` }, name)),
    );
  }

  // show updates the page in the next frame, however often it is called.
  show() {
    if (this.#framed) return;
    this.#framed = true;
    requestAnimationFrame(() => {
      this.#framed = false;
      this.#showNow();
    });
  }

  #showNow() {
    const doc = this.#doc;
    const { running } = this.#session;
    const follow = running && nearBottom();
    this.editor.show(doc.text, doc.pieces);
    this.#inside.check(doc.text);
    this.editor.readOnly = running;
    if (this.asTokens) this.#tokens.show(doc.pieces);
    this.#strip.show(doc.pieces);
    this.#branches.show(doc.branches, running);
    enable(byId("undo"), this.history.canUndo && !running);
    enable(byId("redo"), this.history.canRedo && !running);
    byId("legend").hidden = doc.pieces.length === 0 && doc.branches.length === 0;
    byId("taps").hidden = doc.pieces.length === 0;
    showCount(this.#session.counted, this.#session.model?.max_model_len);
    const name = this.#session.model?.id ?? "";
    if (byId("model").textContent !== name) {
      byId("model").textContent = name;
      document.title = `${name} – picogpt playground`;
    }
    if (running !== this.#wasRunning) this.#switch(running);
    if (follow) window.scrollTo(0, document.documentElement.scrollHeight);
  }

  // switch shows whether a task is in progress.
  #switch(running) {
    this.#wasRunning = running;
    enable(byId("continue"), !running);
    enable(byId("score"), !running);
    byId("paper").setAttribute("aria-busy", String(running));
    const next = this.history === this.#doc ? "continue" : "say";
    conceal(byId("stop"), !running, byId(next));
  }

  // setView shows the text, or its tokens.
  setView(asTokens) {
    this.closePanel();
    this.asTokens = asTokens;
    byId("view-tokens").setAttribute("aria-pressed", String(asTokens));
    byId("editor").hidden = byId("keys").hidden = asTokens;
    byId("tokens").hidden = byId("token-keys").hidden = !asTokens;
    this.show();
  }

  // then closes the panel of a token, calls a function and returns to the text.
  #then(act) {
    if (this.#session.running) return;
    this.closePanel();
    if (this.asTokens) this.#tokens.focus();
    else this.editor.focus();
    act();
  }

  // openToken shows the alternatives of a token.
  openToken(piece, index, focus) {
    const all = this.#all();
    const at = all.findIndex((t) => t.piece === piece && t.index === index);
    if (at < 0) return;
    if (this.asTokens) this.#tokens.choose(piece, index);
    else this.editor.ring(piece);
    const beside = this.asTokens ? this.#tokens.nodeOf(piece, index) : this.editor.rangeOf(piece);
    this.#panel.open(piece, index, beside, `token ${at} of 0 to ${all.length - 1}`, focus);
  }

  // openAtCaret does so for the token that the caret is in or after, and reports whether one is
  // known there.
  openAtCaret() {
    const { pieces } = this.#doc;
    const at = this.editor.caret;
    const piece =
      pieces.find((p) => p.start <= at && at < p.end) ?? pieces.findLast((p) => p.end <= at);
    if (piece) this.openToken(piece, 0, true);
    return piece !== undefined;
  }

  // openAt does so for the token at a point of the window; if there is none, it closes the panel.
  openAt(x, y) {
    const piece = this.editor.hasSelection ? undefined : this.editor.pieceAt(x, y);
    if (piece && piece !== this.#panel.piece) this.openToken(piece, 0, false);
    else this.closePanel();
  }

  // isNewAt reports whether openAt would open another token.
  isNewAt(x, y) {
    const piece = this.editor.pieceAt(x, y);
    return piece !== undefined && piece !== this.#panel.piece;
  }

  get panelOpen() {
    return this.#panel.piece !== null;
  }

  closePanel() {
    this.#panel.close();
  }

  get insideOpen() {
    return this.#inside.open;
  }

  closeInside() {
    this.#inside.close();
  }

  // placeOf returns what the server is asked about a token: the tokens before it, as ids if all are
  // known, and itself. It is null for a token without any before it, and where nobody knows them.
  #placeOf(piece, index) {
    const all = this.#all();
    const at = all.findIndex((t) => t.piece === piece && t.index === index);
    const token = piece.tokens[index];
    const known = all.slice(0, at).map((t) => t.piece.tokens[t.index].id);
    const whole = all[0]?.piece.start === 0 && this.#doc.pieces.every(
      ({ start }, i, pieces) => i === 0 || start === pieces[i - 1].end,
    );
    const before = this.#doc.text.slice(0, piece.start);
    const byIDs = whole && at > 0 && known.every((id) => id !== null);
    const target = token.id ?? textOf(token.bytes);
    if (target === null || (!byIDs && (index > 0 || before === ""))) return null;
    return {
      prompt: byIDs ? known : before,
      target,
      text: this.#doc.text.slice(0, piece.end),
      name: visible(token.bytes),
    };
  }

  #look(piece, index) {
    const place = this.#placeOf(piece, index);
    this.closePanel();
    if (place) this.#inside.show(place);
  }

  #all() {
    return this.#doc.pieces.flatMap((piece) => piece.tokens.map((_, index) => ({ piece, index })));
  }

  #moveToken(direction) {
    const { piece, index } = this.#panel;
    const all = this.#all();
    const to = all[all.findIndex((t) => t.piece === piece && t.index === index) + direction];
    if (to) this.openToken(to.piece, to.index, true);
  }

  #closed(focused) {
    this.editor.ring(null);
    if (!focused) return;
    if (this.asTokens) this.#tokens.focus();
    else this.editor.focus();
  }
}

const nearBottom = () =>
  window.innerHeight + window.scrollY > document.documentElement.scrollHeight - 80;

// showCount shows how full the context is. count is null where it is not known yet.
function showCount(count, most) {
  if (count === null) return;
  const meter = byId("context");
  const number = count.toLocaleString("en");
  byId("context-text").textContent = most
    ? `${number} of ${most.toLocaleString("en")} tokens`
    : `${number} tokens`;
  meter.hidden = !most;
  meter.max = most ?? 1;
  meter.high = 0.9 * meter.max;
  meter.value = count;
}
