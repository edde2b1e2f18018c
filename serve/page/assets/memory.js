// Stored state: the text and the settings, in the page's address and in the browser's storage,
// which also has texts that are too long for an address.

import { pack, unpack } from "./link.js";

const STORE = "picogpt playground";
const KEY = "picogpt key";
const PIECES = "picogpt pieces";
const CHAT = "picogpt chat";

// save stores a state {version, text, settings}. It reports whether the address has all of it.
export async function save(state) {
  try {
    localStorage.setItem(STORE, JSON.stringify(state));
  } catch {
    // full or forbidden: the address still has the text
  }
  const whole = await pack(state);
  const fragment = whole ?? (await pack({ ...state, text: undefined, stored: true }));
  if (location.hash !== "#" + fragment) history.replaceState(null, "", "#" + fragment);
  return whole !== null;
}

// restore returns the state of the address, or else the stored one; null if there is none. The text
// is undefined if there is none. broken means that the address has a link that holds nothing.
export async function restore() {
  let stored = null;
  try {
    stored = JSON.parse(localStorage.getItem(STORE));
  } catch {
    // forbidden, or not the page's own
  }
  const linked = await unpack(location.hash);
  const text = linked && !linked.stored ? linked.text : stored?.text;
  return {
    text: typeof text === "string" ? text : undefined,
    state: linked ?? stored,
    broken: linked === null && location.hash.startsWith("#z="),
  };
}

// savePieces stores what is known of the tokens of a text until the tab closes, for a reload: a link
// would be too long with it. model is whose tokens they are.
export function savePieces(model, text, pieces) {
  try {
    if (pieces.length === 0) sessionStorage.removeItem(PIECES);
    else sessionStorage.setItem(PIECES, JSON.stringify({ model, text, pieces }, packed));
  } catch {
    // full or forbidden: the colours are lost
  }
}

// restorePieces returns the pieces of a text as a model has them; none if they are not stored.
export function restorePieces(model, text) {
  try {
    const found = JSON.parse(sessionStorage.getItem(PIECES), unpacked);
    return found?.model === model && found.text === text ? found.pieces : [];
  } catch {
    return []; // forbidden, or not the page's own
  }
}

// saveChat stores a conversation: for this tab, with whether it is shown, and for the next visit, which
// has that of the tab that stored last. No address has it. It reports whether both have it.
export function saveChat(state, on) {
  try {
    sessionStorage.setItem(CHAT, JSON.stringify({ ...state, on }));
    localStorage.setItem(CHAT, JSON.stringify(state));
    return true;
  } catch {
    return false; // full or forbidden
  }
}

// restoreChat returns the arguments of saveChat; of nothing stored, what an empty conversation has.
export function restoreChat() {
  try {
    const tab = JSON.parse(sessionStorage.getItem(CHAT));
    return [Object(tab ?? JSON.parse(localStorage.getItem(CHAT))), tab?.on === true];
  } catch {
    return [{}, false]; // forbidden, or not the page's own
  }
}

// Bytes are stored as a string of characters up to U+00FF.
const packed = (_, value) =>
  value instanceof Uint8Array ? String.fromCharCode(...value) : value;

const unpacked = (name, value) =>
  name === "bytes" ? Uint8Array.from(value, (c) => c.charCodeAt(0)) : value;

// The API key is stored until the tab closes.
export function savedKey() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

export function saveKey(key) {
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // forbidden: the key is lost when the page closes
  }
}
