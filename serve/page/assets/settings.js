// The settings: one table, from which come the panel, the request, the link and the code. A setting
// that is off is not sent, and the server's default is the same as off.

const number = (name, label, off, min, max, step, help, more = {}) => ({
  kind: "number",
  name,
  label,
  off,
  value: off,
  min,
  max,
  step,
  help,
  ...more,
});
const lines = (name, label, help, more = {}) => ({
  kind: "lines",
  name,
  label,
  off: "",
  value: "",
  help,
  ...more,
});

export const GROUPS = [
  {
    name: "Completion",
    open: true,
    settings: [
      number("max_tokens", "New tokens", 16, 1, 4096, 1, "How many a completion has at most.", {
        value: 40,
        slider: 256,
        always: true,
      }),
      number(
        "temperature",
        "Temperature",
        1,
        0,
        2,
        0.05,
        "0 always takes the likeliest token, 1 draws as the model thinks, more is wilder.",
      ),
      number("n", "Samples", 1, 1, 16, 1, "More than one are shown side by side, to choose from.", {
        slider: 8,
      }),
      {
        kind: "seed",
        name: "seed",
        label: "Seed",
        value: "",
        off: "",
        help: "The same seed, text and settings give the same completion on every machine.",
      },
    ],
  },
  {
    name: "Filters",
    open: true,
    settings: [
      number(
        "top_p",
        "Top-p",
        1,
        0.01,
        1,
        0.01,
        "Only the likeliest tokens that together have this probability. 1 is off.",
      ),
      number("top_k", "Top-k", 0, 0, 1000, 1, "Only so many of the likeliest tokens. 0 is off.", {
        slider: 100,
      }),
      number(
        "min_p",
        "Min-p",
        0,
        0,
        1,
        0.01,
        "Only tokens that have this part of the likeliest one's probability. 0 is off.",
      ),
    ],
  },
  {
    name: "End",
    settings: [
      lines("stop", "Stop at", "A string a line; the text ends before it. \\n is a line end.", {
        read: readStrings,
      }),
      number(
        "min_tokens",
        "At least",
        0,
        0,
        4096,
        1,
        "The text does not end before so many new tokens.",
        { slider: 256 },
      ),
      {
        kind: "switch",
        name: "ignore_eos",
        label: "Write past the end",
        off: false,
        value: false,
        help: "What the model holds for the end of the text does not end it.",
      },
      lines("stop_token_ids", "Stop at tokens", "An id a line.", { read: readIDs }),
    ],
  },
  {
    name: "Repetition",
    settings: [
      number(
        "repetition_penalty",
        "Repetition penalty",
        1,
        0.1,
        10,
        0.05,
        "Above 1, tokens of the text so far are less likely. 1 is off.",
        { slider: 2 },
      ),
      number(
        "frequency_penalty",
        "Frequency penalty",
        0,
        -2,
        2,
        0.05,
        "Taken from a token for each time that the completion has it. 0 is off.",
      ),
      number(
        "presence_penalty",
        "Presence penalty",
        0,
        -2,
        2,
        0.05,
        "Taken from a token once if the completion has it. 0 is off.",
      ),
    ],
  },
  {
    name: "Words and tokens",
    settings: [
      lines("bad_words", "Never write", "A string a line.", { read: readStrings }),
      lines(
        "logit_bias",
        "Bias of tokens",
        "An id and a number a line, such as 198 -5: less than 0 makes the token rarer, " +
          "-100 forbids it.",
        { read: readBias },
      ),
    ],
  },
  {
    name: "Form",
    help: "The completion has this form, whatever the model would like.",
    settings: [
      {
        kind: "form",
        name: "structured_outputs",
        label: "Form",
        off: { kind: "", text: "" },
        value: { kind: "", text: "" },
        help: "",
      },
    ],
  },
  {
    name: "Display",
    settings: [
      number("logprobs", "Alternatives", 0, 1, 100, 1, "How many a token comes with.", {
        value: 8,
        slider: 20,
        always: true,
      }),
    ],
  },
];

export const FORMS = [
  { kind: "", label: "Any text" },
  { kind: "choice", label: "One of these strings", help: "A string a line.", example: "yes\nno" },
  {
    kind: "regex",
    label: "Regular expression",
    help: "The whole completion matches it.",
    example: "[A-Z][a-z]+ is [1-9][0-9]? years old\\.",
  },
  {
    kind: "json",
    label: "JSON Schema",
    help: "The completion is JSON of this schema.",
    example:
      '{\n  "type": "object",\n  "properties": {\n    "name": {"type": "string"},\n' +
      '    "age": {"type": "integer"}\n  },\n  "required": ["name", "age"]\n}',
  },
  {
    kind: "grammar",
    label: "Grammar",
    help: "A grammar in GBNF; it begins with root.",
    example:
      'root ::= "The " animal " said " sound "."\nanimal ::= "dog" | "cat"\n' +
      'sound ::= "woof" | "meow"',
  },
];

export const ALL = GROUPS.flatMap((group) => group.settings);

// defaults are the values of all settings, by name.
export function defaults() {
  return Object.fromEntries(ALL.map((s) => [s.name, s.value]));
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// changed are the values that differ from the defaults, for links.
export function changed(values) {
  const initial = ALL.filter((s) => !same(values[s.name], s.value));
  return Object.fromEntries(initial.map((s) => [s.name, values[s.name]]));
}

// restored are the defaults with what a link says, as far as it makes sense.
export function restored(link) {
  const values = defaults();
  for (const s of ALL) {
    const given = link?.[s.name];
    if (given === undefined || given === null || typeof given !== typeof s.value) continue;
    if (s.kind === "form" && typeof given.text !== "string") continue;
    if (s.kind === "form" && !FORMS.some((form) => form.kind === given.kind)) continue;
    if (s.kind === "form") values[s.name] = { kind: given.kind, text: given.text };
    else if (s.kind !== "number" || !problem(s, given)) values[s.name] = given;
  }
  return values;
}

// problem says what is wrong with the value of a setting, "" if nothing is.
export function problem(setting, value) {
  try {
    if (setting.kind === "number") checkNumber(setting, value);
    else if (setting.kind === "seed" && value !== "") checkSeed(value);
    else if (setting.kind === "form") readForm(value);
    else setting.read?.(value);
    return "";
  } catch (error) {
    return error.message;
  }
}

function checkNumber({ min, max, step }, value) {
  if (
    typeof value === "number" &&
    value >= min &&
    value <= max &&
    (step < 1 || Number.isInteger(value))
  )
    return;
  const kind = step < 1 ? "a number" : "a whole number";
  throw new Error(`Want ${kind} from ${min} to ${max}.`);
}

function checkSeed(value) {
  if (!/^-?\d{1,15}$/.test(value)) throw new Error("Want a whole number of at most 15 digits.");
}

// readStrings reads a string a line, in which \n, \t and \\ stand for characters.
function readStrings(text) {
  const signs = { n: "\n", t: "\t", r: "\r", "\\": "\\" };
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.replace(/\\([ntr\\])/g, (_, sign) => signs[sign]));
}

function readIDs(text) {
  return text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => {
      if (!/^\d+$/.test(word)) throw new Error(`Want a token's id, found ${word}.`);
      return Number(word);
    });
}

function readBias(text) {
  const bias = {};
  for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
    const found = /^\s*(\d+)[\s=:]+([-+]?\d+(?:\.\d+)?)\s*$/.exec(line);
    if (!found || Math.abs(found[2]) > 100) {
      throw new Error(`Want an id and a number from -100 to 100, found ${line.trim()}.`);
    }
    bias[found[1]] = Number(found[2]);
  }
  return bias;
}

function readForm({ kind, text }) {
  if (kind === "" || text.trim() === "") return {};
  if (kind === "choice") return { choice: readStrings(text) };
  if (kind !== "json") return { [kind]: text };
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    throw new Error(`This is no JSON: ${error.message}.`);
  }
}

// sent are the fields of a request: the settings that are not off, as the server wants them.
// Values with problems are left out; the panel says so.
export function sent(values) {
  const fields = {};
  for (const s of ALL) {
    const value = values[s.name];
    if (problem(s, value) || (!s.always && same(value, s.off))) continue;
    if (s.kind === "seed") fields.seed = Number(value);
    else if (s.kind === "form") fields[s.name] = readForm(value);
    else fields[s.name] = s.read ? s.read(value) : value;
    if (fields[s.name] && typeof fields[s.name] === "object" && isEmpty(fields[s.name])) {
      delete fields[s.name];
    }
  }
  return fields;
}

const isEmpty = (object) => Object.keys(object).length === 0;

// wrong is the first setting with a problem, undefined without one.
export function wrong(values) {
  return ALL.find((s) => problem(s, values[s.name]));
}
