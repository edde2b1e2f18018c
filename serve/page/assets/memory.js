// Stored state: the text and the settings, in the page's address and in the browser's storage,
// which also has texts that are too long for an address.

import { pack, unpack } from "./link.js";

const STORE = "picogpt playground";
const KEY = "picogpt key";

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
