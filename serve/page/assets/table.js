// The groups of settings; the panel, the request, the link and the code come from them. A group has
// the settings of rows.js that name it: first those listed here, then the others in their order
// there.

import { ROWS } from "./rows.js";
import * as read from "./values.js";

const FORM = {
  group: "Form", name: "structured_outputs", kind: "form", label: "Kind",
  value: { kind: "", text: "" }, off: { kind: "", text: "" }, read: read.form,
  help: "",
};

export const GROUPS = [
  { name: "Completion", open: true, first: ["max_tokens", "temperature", "n", "seed"] },
  { name: "Filters", open: true, first: ["top_p"] },
  {
    name: "More filters",
    first: [
      "typical_p", "top_n_sigma", "top_h", "epsilon_cutoff", "eta_cutoff", "xtc_probability",
      "xtc_threshold",
    ],
  },
  { name: "End", first: ["stop"] },
  { name: "Repetition", first: [] },
  { name: "Words and tokens", first: ["bad_words"] },
  {
    name: "Form",
    help: "The completion has this form, whatever the model would like.",
    first: [],
  },
  { name: "Display", first: [] },
].map(({ first, ...group }) => {
  const own = [...ROWS, FORM].filter((row) => row.group === group.name);
  const place = ({ name }) => (first.indexOf(name) + 1 || first.length + 1);
  return { ...group, settings: own.sort((a, b) => place(a) - place(b)) };
});

// The kinds of the setting structured_outputs.
export const FORMS = [
  { kind: "", label: "Any text" },
  {
    kind: "choice", label: "One of these strings",
    help: "A string a line.",
    example: " happy\n sad",
  },
  {
    kind: "regex", label: "Regular expression",
    help: "The whole completion matches it.",
    example: " [A-Z][a-z]+ was [1-9][0-9]? years old\\.",
  },
  {
    kind: "json", label: "JSON Schema",
    help: "The completion is JSON of this schema.",
    example: `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 20},
    "age": {"type": "integer", "minimum": 0, "maximum": 120}
  },
  "required": ["name", "age"]
}`,
  },
  {
    kind: "grammar", label: "Grammar",
    help: "A grammar in GBNF, as llama.cpp has it; it begins with root.",
    example: `root ::= " The " animal " said " sound "."
animal ::= "dog" | "cat"
sound ::= "woof" | "meow"`,
  },
];
