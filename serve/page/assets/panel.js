// The panel of settings, made from the table in settings.js.

import { byId, make } from "./dom.js";
import { adopt, ALL, defaults, problem, wrong } from "./settings.js";
import { FORMS, GROUPS } from "./table.js";

export class Panel {
  #values;
  #changed;
  #refused;
  #controls = new Map(); // of a setting's name: {show, node, input}

  // changed is called after each change; refused, with a message, for a value that is wrong.
  constructor(values, { changed, refused }) {
    this.#values = values;
    this.#changed = changed;
    this.#refused = refused;
    byId("groups").replaceChildren(...GROUPS.map((group) => this.#group(group)));
    this.show(values);
  }

  get values() {
    return this.#values;
  }

  // show makes the controls show values.
  show(values) {
    this.#values = { ...values };
    for (const setting of ALL) {
      this.#controls.get(setting.name).show(values[setting.name]);
      this.#judge(setting);
    }
  }

  // adopt tells what the checkpoint gives, and shows it where the user has not chosen values.
  adopt(fields, chosen) {
    const before = defaults();
    adopt(fields);
    for (const [name, value] of Object.entries(fields)) {
      const from = byId(`from-${name}`);
      if (!from) continue;
      from.textContent = `${value} in the checkpoint's generation_config.json.`;
      from.hidden = false;
    }
    const values = { ...this.#values };
    for (const { name, value } of ALL) {
      if (!chosen && values[name] === before[name]) values[name] = value;
    }
    this.show(values);
  }

  // used shows the seed that the last completion had.
  used(seed) {
    byId("seed-used").textContent = String(seed);
    byId("seed-last").hidden = this.#values.seed === String(seed);
  }

  // ignored marks the settings that the server did not know.
  ignored(names) {
    for (const { name } of ALL) {
      byId(`ignored-${name}`).hidden = !names.includes(name);
    }
  }

  // limit sets the maximum of a number.
  limit(name, max) {
    const setting = ALL.find((s) => s.name === name);
    setting.max = max;
    this.#controls.get(name).limit(setting);
    this.#judge(setting);
  }

  // check reports whether all values are valid; if not, it moves to the first that is not.
  check() {
    const setting = wrong(this.#values);
    if (!setting) return true;
    this.#refused(`${setting.label}: ${problem(setting, this.#values[setting.name])}`);
    const { input } = this.#controls.get(setting.name);
    input.closest("details").open = true;
    input.focus();
    return false;
  }

  #group({ name, open, help, settings }) {
    const details = make("details", { open: open ?? false }, make("summary", {}, name));
    if (help) details.append(make("p", { className: "quiet" }, help));
    for (const setting of settings) details.append(this.#row(setting));
    return details;
  }

  #row(setting) {
    const { name } = setting;
    const makers = {
      number: numberControl,
      switch: switchControl,
      lines: linesControl,
      seed: seedControl,
      form: formControl,
    };
    const control = makers[setting.kind](setting, (value) => this.#set(setting, value));
    this.#controls.set(name, control);
    const help = make("p", { className: "quiet help", id: `help-${name}` }, setting.help);
    const from = make("p", { className: "quiet help", id: `from-${name}`, hidden: true });
    const error = make("p", { className: "wrong", id: `wrong-${name}`, hidden: true });
    const ignored = make(
      "p",
      { className: "wrong", id: `ignored-${name}`, hidden: true },
      "This server does not know this setting.",
    );
    control.input.setAttribute("aria-describedby", `help-${name} from-${name} wrong-${name}`);
    const row = make("div", { className: "setting" }, ...control.nodes, help, from, error, ignored);
    row.dataset.name = name;
    return row;
  }

  #set(setting, value) {
    this.#values = { ...this.#values, [setting.name]: value };
    this.#judge(setting);
    this.#changed();
  }

  #judge(setting) {
    const message = problem(setting, this.#values[setting.name]);
    const error = byId(`wrong-${setting.name}`);
    error.textContent = message;
    error.hidden = message === "";
    const { input } = this.#controls.get(setting.name);
    input.setAttribute("aria-invalid", String(message !== ""));
  }
}

const labelFor = (setting, id) => make("label", { htmlFor: id }, setting.label);

// numberControl returns a field and a slider. The slider is for pointers: the field has the same
// keys.
function numberControl(setting, set) {
  const { name, min, max, step, slider } = setting;
  const id = `set-${name}`;
  const input = make("input", { type: "number", id, min, max, step, inputMode: "decimal" });
  const range = make("input", { type: "range", min, max: slider ?? max, step, tabIndex: -1 });
  range.setAttribute("aria-hidden", "true");
  input.addEventListener("input", () => {
    const value = input.value === "" ? null : input.valueAsNumber;
    if (value !== null) range.value = value;
    set(value);
  });
  range.addEventListener("input", () => {
    input.value = range.value;
    set(range.valueAsNumber);
  });
  const show = (value) => {
    input.value = value ?? "";
    range.value = value ?? setting.value;
  };
  const limit = ({ max }) => {
    input.max = max;
    range.max = Math.min(slider ?? max, max);
  };
  const top = make("div", { className: "row" }, labelFor(setting, id), input);
  return { nodes: [top, range], input, show, limit };
}

function switchControl(setting, set) {
  const input = make("input", { type: "checkbox", id: `set-${setting.name}` });
  input.addEventListener("change", () => set(input.checked));
  const label = make("label", { className: "row switch" }, setting.label, input);
  return { nodes: [label], input, show: (value) => (input.checked = value) };
}

function linesControl(setting, set) {
  const id = `set-${setting.name}`;
  const input = make("textarea", { id, rows: 2, spellcheck: false });
  input.addEventListener("input", () => set(input.value));
  return { nodes: [labelFor(setting, id), input], input, show: (value) => (input.value = value) };
}

// seedControl returns a field that may be empty, for a new seed each time, and a die.
function seedControl(setting, set) {
  const id = `set-${setting.name}`;
  const input = make("input", {
    id,
    inputMode: "numeric",
    placeholder: "new each time",
    autocomplete: "off",
  });
  const change = (value) => {
    input.value = value;
    set(value);
  };
  input.addEventListener("input", () => set(input.value.trim()));
  const die = make("button", { type: "button", title: "Draw a seed and keep it" }, "⚄");
  die.setAttribute("aria-label", "Draw a seed and keep it");
  die.addEventListener("click", () => change(String(drawSeed())));
  const again = make("button", { type: "button", className: "small" }, "Use it again");
  again.addEventListener("click", () => change(byId("seed-used").textContent));
  const last = make(
    "p",
    { className: "quiet", id: "seed-last", hidden: true },
    "The last one was ",
    make("output", { id: "seed-used" }),
    ". ",
    again,
  );
  const top = make(
    "div",
    { className: "row" },
    labelFor(setting, id),
    make("span", { className: "seed" }, input, die),
  );
  return { nodes: [top, last], input, show: (value) => (input.value = value) };
}

// drawSeed returns a random number of 32 bits.
export function drawSeed() {
  return crypto.getRandomValues(new Uint32Array(1))[0];
}

// formControl returns a choice of the form's kind, and a text area for the form.
function formControl(setting, set) {
  const id = `set-${setting.name}`;
  const input = make(
    "select",
    { id },
    ...FORMS.map((f) => make("option", { value: f.kind }, f.label)),
  );
  const area = make("textarea", { rows: 5, spellcheck: false, className: "code" });
  area.setAttribute("aria-label", "Description of the form");
  const help = make("p", { className: "quiet" });
  const example = make("button", { type: "button", className: "small" }, "Example");
  const form = () => FORMS.find((f) => f.kind === input.value);
  const arrange = () => {
    area.hidden = example.hidden = help.hidden = input.value === "";
    help.textContent = form().help ?? "";
    area.placeholder = form().example ?? "";
  };
  const tell = () => set({ kind: input.value, text: area.value });
  input.addEventListener("change", () => {
    area.value = "";
    arrange();
    tell();
  });
  area.addEventListener("input", tell);
  example.addEventListener("click", () => {
    area.value = form().example;
    tell();
  });
  const show = ({ kind, text }) => {
    input.value = kind;
    area.value = text;
    arrange();
  };
  return { nodes: [labelFor(setting, id), input, help, area, example], input, show };
}
