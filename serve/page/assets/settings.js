// Settings: values by name, from their defaults to the fields of a request.

import { FORMS, GROUPS } from "./table.js";
import { number } from "./values.js";

export const ALL = GROUPS.flatMap((group) => group.settings);

// defaults returns the values of all settings, by name.
export function defaults() {
  return Object.fromEntries(ALL.map((s) => [s.name, s.value]));
}

// adopt makes fields that the server has by itself, those of the checkpoint's generation_config.json,
// what settings have at first where the page can show them, and what need not be sent.
export function adopt(fields) {
  for (const setting of ALL) {
    const given = fields[setting.name];
    if (given === undefined) continue;
    if (fits(setting, given)) setting.value = given;
    setting.off = given;
  }
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// VERSION is the version of links: they hold all settings. A link without a version holds the
// settings that differed from the defaults of its time; BEFORE has those defaults that have changed
// since.
export const VERSION = 1;
const BEFORE = { temperature: 1, top_k: 0 };

// restored returns the valid values of a link's state {version, settings}, and the defaults of the
// other settings, or of all without a state.
export function restored(state) {
  const values = defaults();
  if (state && !Number.isInteger(state.version)) Object.assign(values, BEFORE);
  for (const setting of ALL) {
    const given = state?.settings?.[setting.name];
    if (fits(setting, given)) values[setting.name] = given;
  }
  return values;
}

function fits({ kind, value, ...setting }, given) {
  if (given === undefined || given === null || typeof given !== typeof value) return false;
  if (kind === "number") return problem({ kind, ...setting }, given) === "";
  if (kind !== "form") return true;
  return FORMS.some((form) => form.kind === given.kind) && typeof given.text === "string";
}

// fieldOf returns the field of a request for a value. It throws an Error that says what is wrong
// with it.
function fieldOf(setting, value) {
  if (setting.kind === "number") return number(value, setting);
  return setting.read ? setting.read(value) : value;
}

// problem returns what is wrong with the value of a setting; "" if nothing is.
export function problem(setting, value) {
  try {
    fieldOf(setting, value);
    return "";
  } catch (error) {
    return error.message;
  }
}

// wrong returns the first setting with a problem; undefined if there is none.
export function wrong(values) {
  return ALL.find((s) => problem(s, values[s.name]) !== "");
}

// sent returns the fields of a request: the settings that are not off, and have no problem.
export function sent(values) {
  const fields = {};
  for (const setting of ALL) {
    const value = values[setting.name];
    if (same(value, setting.off) || problem(setting, value) !== "") continue;
    const field = fieldOf(setting, value);
    const empty = typeof field === "object" && Object.keys(field).length === 0;
    if (!empty) fields[setting.name] = field;
  }
  return fields;
}
