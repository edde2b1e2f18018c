// Values that users type into settings, as the server wants them. Each function throws an Error
// that says what is wrong.

// strings reads one string per line, in which \n, \t, \r and \\ stand for characters.
export function strings(text) {
  const signs = { n: "\n", t: "\t", r: "\r", "\\": "\\" };
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.replace(/\\([ntr\\])/g, (_, sign) => signs[sign]));
}

// ids reads token ids, separated by spaces, commas or line ends.
export function ids(text) {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const odd = words.find((word) => !/^\d+$/.test(word));
  if (odd !== undefined) throw new Error(`Want a token's id, found ${odd}.`);
  return words.map(Number);
}

// bias reads an id and a number per line.
export function bias(text) {
  const all = {};
  for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
    const found = /^\s*(\d+)[\s=:]+([-+]?\d+(?:\.\d+)?)\s*$/.exec(line);
    if (!found || Math.abs(found[2]) > 100) {
      throw new Error(`Want an id and a number from -100 to 100, found ${line.trim()}.`);
    }
    all[found[1]] = Number(found[2]);
  }
  return all;
}

// seed reads a seed; an empty text is no seed.
export function seed(text) {
  if (text === "") return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw new Error("Want a whole number of at most 15 digits.");
  return Number(text);
}

// form reads {kind, text}; a form without a text counts as none.
export function form({ kind, text }) {
  if (kind === "" || text.trim() === "") return {};
  if (kind === "choice") return { choice: strings(text) };
  if (kind !== "json") return { [kind]: text };
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    throw new Error(`This is no JSON: ${error.message}.`);
  }
}

// number checks a number of a setting.
export function number(value, { min, max, step }) {
  if (Number.isFinite(value) && value >= min && value <= max) {
    if (step < 1 || Number.isInteger(value)) return value;
  }
  throw new Error(`Want ${step < 1 ? "a number" : "a whole number"} from ${min} to ${max}.`);
}
