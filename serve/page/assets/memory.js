// What outlives the page: the text and the settings, in the page's address and in the browser's
// storage, which also holds texts that are too long for an address.

import { pack, unpack } from "./link.js";

const STORE = "picogpt playground";
const KEY = "picogpt key";

// save keeps a state {version, text, settings}. It reports whether the address holds all of it.
export async function save(state) {
  try {
    localStorage.setItem(STORE, JSON.stringify(state));
  } catch {
    // full or forbidden: the address still holds the text
  }
  const whole = await pack(state);
  const fragment = whole ?? (await pack({ ...state, text: undefined, stored: true }));
  if (location.hash !== "#" + fragment) history.replaceState(null, "", "#" + fragment);
  return whole !== null;
}

// restore returns the state that the address has, else the stored one, null where there is none. The
// text is undefined where there is none. broken says that the address has a link that holds nothing.
export async function restore() {
  let stored = null;
  try {
    stored = JSON.parse(localStorage.getItem(STORE));
  } catch {
    // forbidden, or not ours
  }
  const linked = await unpack(location.hash);
  const text = linked && !linked.stored ? linked.text : stored?.text;
  return {
    text: typeof text === "string" ? text : undefined,
    state: linked ?? stored,
    broken: linked === null && location.hash.startsWith("#z="),
  };
}

// The key of the API ends with the tab.
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
    // forbidden: the key ends with the page
  }
}
