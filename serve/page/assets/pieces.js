// Tokens as they come from the server, and pieces: a piece is the part of the text that one token,
// or a few that share a character, produced.
//
// A token is {bytes, id, logprob, top}: its bytes, its id or null, the natural logarithm of its
// probability or null where nothing came before it, and alternatives [{name, bytes, logprob}],
// the likeliest first. A piece is {start, end, tokens}: start and end are places in the text.

// LIMITS are the upper ends of the levels of surprise, in bits: limits and names of gpt surprise.
export const LIMITS = [1, 3, 6, 10];
export const LEVELS = ["under 1 bit", "under 3", "under 6", "under 10", "10 bits and more"];

const encoder = new TextEncoder();

// tokenBytes returns the bytes of a token's name: its text, or bytes:\xe2\x80 for a part of a
// character.
export function tokenBytes(name) {
  if (!name.startsWith("bytes:")) return encoder.encode(name);
  const bytes = [];
  for (const part of name.slice(6).matchAll(/\\x([0-9a-fA-F]{2})|([^]+?(?=\\x|$))/gu)) {
    if (part[1]) bytes.push(parseInt(part[1], 16));
    else bytes.push(...encoder.encode(part[2]));
  }
  return Uint8Array.from(bytes);
}

// textOf returns the text of bytes; null if they are not whole characters.
export function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

// readTokens reads the logprobs of an answer; ids are those of return_token_ids, if they came.
export function readTokens(logprobs, ids) {
  if (!logprobs?.tokens) return [];
  return logprobs.tokens.map((name, i) => ({
    bytes: tokenBytes(name),
    id: ids?.[i] ?? null,
    logprob: logprobs.token_logprobs?.[i] ?? null,
    top: Object.entries(logprobs.top_logprobs?.[i] ?? {})
      .map(([name, logprob]) => ({ name, bytes: tokenBytes(name), logprob }))
      .sort((a, b) => b.logprob - a.logprob),
  }));
}

// unfinished returns how many bytes at the end begin a character and do not complete it.
function unfinished(bytes) {
  for (let n = 1; n <= Math.min(3, bytes.length); n++) {
    const b = bytes[bytes.length - n];
    if (b < 0x80) return 0;
    if (b >= 0xc0) return n < (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) ? n : 0;
  }
  return 0;
}

function joined(tokens) {
  const all = new Uint8Array(tokens.reduce((n, token) => n + token.bytes.length, 0));
  let at = 0;
  for (const token of tokens) {
    all.set(token.bytes, at);
    at += token.bytes.length;
  }
  return all;
}

// A Piecer assigns tokens to a text that begins at a place and grows.
export class Piecer {
  #open = []; // tokens whose last character is not complete
  #at;
  #lost = false;

  constructor(at) {
    this.#at = at;
  }

  // add returns the pieces that tokens complete.
  add(tokens) {
    const pieces = [];
    for (const token of tokens) {
      this.#open.push(token);
      if (unfinished(joined(this.#open)) === 0) this.#close(pieces);
    }
    return pieces;
  }

  // end returns the piece of the remaining tokens, if there are any.
  end() {
    const pieces = [];
    if (this.#open.length > 0) this.#close(pieces);
    return pieces;
  }

  #close(pieces) {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(joined(this.#open));
    pieces.push({ start: this.#at, end: this.#at + text.length, text, tokens: this.#open });
    this.#at += text.length;
    this.#open = [];
  }
}

// fitting returns the pieces up to the first that differs from the text, which begins at a place. A
// text that ends at a stop string ends before its last tokens do.
export function fitting(text, pieces, at = 0) {
  const n = pieces.findIndex((piece) => !text.startsWith(piece.text, piece.start - at));
  return n < 0 ? pieces : pieces.slice(0, n);
}

// A Writer collects the chunks of one completion, which begins at a place: its text, and the pieces
// of its tokens.
export class Writer {
  text = "";
  count = 0; // tokens
  reason = null; // why the text ended
  #at;
  #pieces = [];
  #piecer;

  constructor(at) {
    this.#at = at;
    this.#piecer = new Piecer(at);
  }

  take({ text, tokens, reason }) {
    this.text += text;
    this.count += tokens.length;
    this.#pieces.push(...this.#piecer.add(tokens));
    if (!reason) return;
    this.reason = reason;
    this.#pieces.push(...this.#piecer.end());
  }

  get pieces() {
    return fitting(this.text, this.#pieces, this.#at);
  }
}

export const bits = (logprob) => -logprob / Math.LN2;

// levelOf returns the level of a token, -1 for one that nothing precedes.
export function levelOf(token) {
  if (token.logprob === null) return -1;
  const surprisal = bits(token.logprob);
  return LIMITS.filter((limit) => surprisal >= limit).length;
}

export const pieceLevel = (piece) => Math.max(...piece.tokens.map(levelOf));

// rankOf returns how many alternatives the model preferred; null if the token is not among them.
export function rankOf(token) {
  const rank = token.top.filter((other) => other.logprob > token.logprob).length;
  return token.logprob !== null && rank < token.top.length ? rank : null;
}

export function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

// visible returns bytes as text: spaces, line ends and control characters as signs, other bytes in
// hex.
export function visible(bytes) {
  const text = textOf(bytes);
  if (text === null) return [...bytes].map((b) => b.toString(16).padStart(2, "0")).join(" ");
  return text
    .replaceAll(" ", "␣")
    .replace(/[\x00-\x1f]/g, (c) => (c === "\n" ? "↵" : c === "\t" ? "⇥" : shifted(c)))
    .replaceAll("\x7f", "␡")
    .replace(
      /[\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
      (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"),
    );
}

const shifted = (c) => String.fromCharCode(0x2400 + c.charCodeAt(0));

// spoken returns bytes for screen readers: "space the".
function spoken(bytes) {
  const names = { " ": "space", "\n": "line end", "\t": "tab" };
  const text = textOf(bytes);
  if (text === null) return "bytes " + visible(bytes);
  return text.replace(/[ \n\t]/g, (c) => ` ${names[c]} `).trim();
}

// labelOf returns a name for a token: what is to be seen of it and beside it, by which people who
// speak to the page call it, its text for screen readers where that differs, and what else is known.
export function labelOf(bytes, beside, ...more) {
  const seen = visible(bytes);
  const said = spoken(bytes);
  return [`${seen} ${beside}`.trim(), ...(said === seen ? [] : [said]), ...more].join(", ");
}

export function percent(p) {
  const x = 100 * p;
  if (p < 0.00001) return x.toExponential(1) + "\u00a0%";
  return x.toLocaleString("en", { maximumSignificantDigits: 3 }) + "\u00a0%";
}

// summary returns a line that says how surprising tokens are.
export function summary(pieces) {
  const scored = pieces.flatMap((piece) => piece.tokens).filter((t) => t.logprob !== null);
  if (scored.length === 0) return "Nothing to score: a single token has nothing before it.";
  const mean = scored.reduce((sum, t) => sum + bits(t.logprob), 0) / scored.length;
  const first = scored.filter((t) => rankOf(t) === 0).length;
  const share = Math.round((100 * first) / scored.length);
  return (
    `${scored.length.toLocaleString("en")} tokens scored, ${mean.toFixed(2)} bits each, ` +
    `${share}\u00a0% of them the model's first choice.`
  );
}
