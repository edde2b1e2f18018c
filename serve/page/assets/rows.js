// Settings: the rows of the table of options that the page shows. go generate ./serve writes
// this file.
//
// Names are those of the API. value is the default of the page and of the command gpt. off is the
// API's default: a setting with this value is not sent. A slider may end before max.

import * as read from "./values.js";

export const ROWS = [
  {
    group: "Completion", name: "max_tokens", kind: "number", label: "New tokens",
    value: 40, min: 1, max: 4096, step: 1, slider: 256,
    help:
      "How many a completion has at most.",
  },
  {
    group: "End", name: "stop", kind: "lines", label: "Stop at",
    value: "", off: "", read: read.strings,
    help:
      "A string a line; the text ends before it. \\n is a line end.",
  },
  {
    group: "Completion", name: "temperature", kind: "number", label: "Temperature",
    value: 0.8, off: 1, min: 0, max: 2, step: 0.05,
    help:
      "0 always takes the likeliest token, 1 draws as the model thinks, more is wilder.",
  },
  {
    group: "More filters", name: "dynatemp_range", kind: "number", label: "Temperature range",
    value: 0, off: 0, min: 0, max: 2, step: 0.05,
    help:
      "Less temperature where the model is sure, more where it is not. 0 is off.",
  },
  {
    group: "More filters", name: "dynatemp_exponent", kind: "number", label: "Temperature exponent",
    value: 1, off: 1, min: 0, max: 10, step: 0.1, slider: 4,
    help:
      "How the temperature follows the entropy. 1 is in proportion.",
  },
  {
    group: "Filters", name: "top_k", kind: "number", label: "Top-k",
    value: 40, off: 0, min: 0, max: 1000, step: 1, slider: 100,
    help:
      "Only so many of the likeliest tokens. 0 is off.",
  },
  {
    group: "Filters", name: "top_p", kind: "number", label: "Top-p",
    value: 1, off: 1, min: 0.01, max: 1, step: 0.01,
    help:
      "Only the likeliest tokens that together have this probability. 1 is off.",
  },
  {
    group: "Filters", name: "min_p", kind: "number", label: "Min-p",
    value: 0, off: 0, min: 0, max: 1, step: 0.01,
    help:
      "Only tokens that have this part of the likeliest one's probability. 0 is off.",
  },
  {
    group: "More filters", name: "typical_p", kind: "number", label: "Typical",
    value: 1, off: 1, min: 0.01, max: 1, step: 0.01,
    help:
      "Only tokens about as surprising as expected here, up to this probability. 1 is off.",
  },
  {
    group: "More filters", name: "epsilon_cutoff", kind: "number", label: "Epsilon",
    value: 0, off: 0, min: 0, max: 0.5, step: 0.001, slider: 0.05,
    help:
      "Only tokens at least so likely. 0 is off.",
  },
  {
    group: "More filters", name: "eta_cutoff", kind: "number", label: "Eta",
    value: 0, off: 0, min: 0, max: 0.5, step: 0.001, slider: 0.05,
    help:
      "The same, less strict where the model is unsure. 0 is off.",
  },
  {
    group: "More filters", name: "top_h", kind: "number", label: "Top-h",
    value: 0, off: 0, min: 0, max: 1, step: 0.01,
    help:
      "Only the likeliest tokens, up to this part of the entropy. 0 is off.",
  },
  {
    group: "More filters", name: "top_n_sigma", kind: "number", label: "Top-n-sigma",
    value: 0, off: 0, min: 0, max: 20, step: 0.1, slider: 5,
    help:
      "Only tokens within so many standard deviations of the largest logit. 0 is off.",
  },
  {
    group: "More filters", name: "xtc_probability", kind: "number", label: "XTC, how often",
    value: 0, off: 0, min: 0, max: 1, step: 0.05,
    help:
      "So often, all tokens above the threshold but the least likely of them go. 0 is off.",
  },
  {
    group: "More filters", name: "xtc_threshold", kind: "number", label: "XTC, threshold",
    value: 0.1, off: 0.1, min: 0, max: 0.5, step: 0.01,
    help:
      "How likely a token must be for XTC to take it away.",
  },
  {
    group: "More filters", name: "mirostat", kind: "number", label: "Mirostat",
    value: 0, off: 0, min: 0, max: 2, step: 1,
    help:
      "1 or 2: keeps the surprise of the text near a target, in place of the filters.",
  },
  {
    group: "More filters", name: "mirostat_tau", kind: "number", label: "Mirostat, target",
    value: 5, off: 5, min: 0, max: 20, step: 0.1, slider: 10,
    help:
      "In bits a token.",
  },
  {
    group: "More filters", name: "mirostat_eta", kind: "number", label: "Mirostat, pace",
    value: 0.1, off: 0.1, min: 0, max: 1, step: 0.01,
    help:
      "How fast it corrects itself.",
  },
  {
    group: "More filters", name: "adaptive_target", kind: "number", label: "Adaptive-p, target",
    value: -1, off: -1, min: -1, max: 1, step: 0.01,
    help:
      "Tokens are likely whose probability is near this. Wants Min-p too. -1 is off.",
  },
  {
    group: "More filters", name: "adaptive_decay", kind: "number", label: "Adaptive-p, decay",
    value: 0.9, off: 0.9, min: 0, max: 0.99, step: 0.01,
    help:
      "How much of the tokens before counts for the mean.",
  },
  {
    group: "Repetition", name: "repetition_penalty", kind: "number", label: "Repetition penalty",
    value: 1, off: 1, min: 0.1, max: 10, step: 0.05, slider: 2,
    help:
      "Above 1, tokens of the text so far are less likely. 1 is off.",
  },
  {
    group: "Repetition", name: "frequency_penalty", kind: "number", label: "Frequency penalty",
    value: 0, off: 0, min: -2, max: 2, step: 0.05,
    help:
      "Taken from a token for each time that the completion has it. 0 is off.",
  },
  {
    group: "Repetition", name: "presence_penalty", kind: "number", label: "Presence penalty",
    value: 0, off: 0, min: -2, max: 2, step: 0.05,
    help:
      "Taken from a token once if the completion has it. 0 is off.",
  },
  {
    group: "Repetition", name: "no_repeat_ngram_size", kind: "number", label: "No repeated n-gram",
    value: 0, off: 0, min: 0, max: 100, step: 1, slider: 10,
    help:
      "No sequence of so many tokens occurs twice. 0 is off.",
  },
  {
    group: "Repetition", name: "dry_multiplier", kind: "number", label: "DRY",
    value: 0, off: 0, min: 0, max: 10, step: 0.05, slider: 2,
    help:
      "Taken from tokens that would repeat a longer sequence. 0 is off.",
  },
  {
    group: "Repetition", name: "dry_base", kind: "number", label: "DRY, base",
    value: 1.75, off: 1.75, min: 1, max: 10, step: 0.05, slider: 4,
    help:
      "How much more it takes for each token that the sequence is longer.",
  },
  {
    group: "Repetition", name: "dry_allowed_length", kind: "number", label: "DRY, allowed length",
    value: 2, off: 2, min: 0, max: 100, step: 1, slider: 10,
    help:
      "Sequences up to so many tokens may repeat.",
  },
  {
    group: "Words and tokens", name: "logit_bias", kind: "lines", label: "Bias of tokens",
    value: "", off: "", read: read.bias,
    help:
      "An id and a number a line, such as 198 -5: less than 0 makes the token rarer, -100 forbids it.",
  },
  {
    group: "End", name: "min_tokens", kind: "number", label: "At least",
    value: 0, off: 0, min: 0, max: 4096, step: 1, slider: 256,
    help:
      "The text does not end before so many new tokens.",
  },
  {
    group: "Completion", name: "seed", kind: "seed", label: "Seed",
    value: "", off: "", read: read.seed,
    help:
      "The same seed, text and settings give the same completion on every machine.",
  },
  {
    group: "Words and tokens", name: "bad_words", kind: "lines", label: "Never write",
    value: "", off: "", read: read.strings,
    help:
      "A string a line.",
  },
  {
    group: "Display", name: "logprobs", kind: "number", label: "Alternatives",
    value: 8, min: 1, max: 100, step: 1, slider: 20,
    help:
      "How many a token comes with.",
  },
  {
    group: "Completion", name: "n", kind: "number", label: "Samples",
    value: 1, off: 1, min: 1, max: 16, step: 1, slider: 8,
    help:
      "More than one are shown side by side, to choose from.",
  },
  {
    group: "End", name: "ignore_eos", kind: "switch", label: "Write past the end",
    value: false, off: false,
    help:
      "What the model holds for the end of the text does not end it.",
  },
  {
    group: "End", name: "stop_token_ids", kind: "lines", label: "Stop at tokens",
    value: "", off: "", read: read.ids,
    help:
      "An id a line.",
  },
];
