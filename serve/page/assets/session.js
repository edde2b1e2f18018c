// The session: the actions on the document, with or without the server.

import { ServerError } from "./api.js";
import { drawSeed } from "./panel.js";
import { fitting, Piecer, summary, textOf, Writer } from "./pieces.js";
import { sent } from "./settings.js";

export class Session {
  model = null; // {id, max_model_len, generation_config}, null before the server has answered
  #server;
  #doc;
  #panel;
  #status;
  #changed;
  #running = null; // the AbortController of the task in progress
  #waiting = null; // the task that failed because the server wanted a key
  #counted = { text: null, count: null };

  // changed is called whenever something visible may have changed.
  constructor({ server, doc, panel, status, changed }) {
    this.#server = server;
    this.#doc = doc;
    this.#panel = panel;
    this.#status = status;
    this.#changed = changed;
  }

  get running() {
    return this.#running !== null;
  }

  // counted returns the number of tokens of the text; null if it is not known.
  get counted() {
    return this.#counted.text === this.#doc.text ? this.#counted.count : null;
  }

  // connect asks the server for its model.
  async connect() {
    try {
      [this.model] = await this.#server.models();
    } catch (error) {
      return this.#failed(error, null);
    }
    if (this.model.max_model_len) this.#panel.limit("max_tokens", this.model.max_model_len);
    this.#changed();
    await this.count();
  }

  // useKey connects with another key, and repeats the task that failed without it.
  async useKey(key) {
    this.#server.key = key;
    const task = this.#waiting;
    await this.connect();
    if (task && this.model) await this.#run(task);
  }

  // count asks the server how many tokens the text has.
  async count() {
    try {
      await this.#tokens();
    } catch {
      // the error is shown when the user starts a task
    }
  }

  stop() {
    this.#running?.abort();
  }

  // continue appends a completion to the text, or shows several below it.
  continue() {
    return this.#step((signal) => this.#generate(signal));
  }

  // talk asks for the answer to messages, and calls take with each part of it.
  talk(messages, take) {
    if (!this.#panel.check()) return;
    return this.#run(async (signal) => {
      const body = { ...this.conversation(messages), seed: this.#seed() };
      this.#status.say("Writing…");
      let reason = null;
      for await (const part of this.#server.chat(body, signal)) {
        ({ reason } = part);
        take(part);
      }
      const cut = "The answer is cut here: settings have how many new tokens it may have.";
      this.#status.say(reason === "length" ? cut : "");
    });
  }

  // conversation returns the request for an answer to messages. It has one, and no alternatives.
  conversation(messages) {
    const { n, logprobs, ...fields } = sent(this.#panel.values);
    return { ...this.#named, messages, ...fields };
  }

  // pick replaces a token by another, and continues from it.
  pick(piece, index, choice) {
    const before = piece.tokens.slice(0, index);
    const chosen = {
      ...piece.tokens[index],
      id: null,
      bytes: choice.bytes,
      logprob: choice.logprob,
    };
    const tokens = [...before, chosen];
    if (textOf(Uint8Array.from(tokens.flatMap((t) => [...t.bytes]))) === null) {
      this.#status.fail("This token is a part of a character: the text cannot continue from it.");
      return;
    }
    return this.#step((signal) => {
      const doc = this.#doc;
      doc.cut(piece.start);
      const pieces = new Piecer(piece.start).add(tokens);
      doc.text += pieces.map((p) => p.text).join("");
      doc.pieces = [...doc.pieces, ...pieces];
      this.#changed();
      return this.#generate(signal);
    });
  }

  // score asks the server how surprising each token of the text is.
  score() {
    const doc = this.#doc;
    if (doc.text === "") return this.#status.say("There is no text yet.");
    return this.#run(async (signal) => {
      const { logprobs } = this.#panel.values;
      const body = this.#addressed({ max_tokens: 0, echo: true, logprobs, return_token_ids: true });
      const piecer = new Piecer(0);
      const pieces = piecer.add(await this.#server.score(body, signal));
      doc.pieces = fitting(doc.text, [...pieces, ...piecer.end()]);
      this.#status.say(summary(doc.pieces));
    });
  }

  // inside asks what the model computes, and tell how it would continue, beside the document.
  inside(body, signal) {
    return this.#server.inside({ model: this.model.id, ...body }, signal);
  }

  tell(body, signal) {
    return this.#server.text({ model: this.model.id, ...body }, signal);
  }

  cut(piece) {
    this.#do(() => {
      this.#doc.step();
      this.#doc.cut(piece.start);
    }, "The text ends here now.");
  }

  keep(i) {
    this.#do(() => this.#doc.keep(i), `Sample ${i + 1} continues the text.`);
  }

  drop() {
    this.#do(() => {
      this.#doc.step();
      this.#doc.branches = [];
    }, "");
  }

  undo() {
    if (this.#doc.canUndo) this.#do(() => this.#doc.undo(), "Undone.");
  }

  redo() {
    if (this.#doc.canRedo) this.#do(() => this.#doc.redo(), "Redone.");
  }

  // body returns the request that would continue the text.
  body() {
    return this.#addressed(sent(this.#panel.values));
  }

  // addressed adds the model and the prompt to the fields of a request. Without a prompt, a text
  // begins as the model's own texts do.
  #addressed(fields) {
    const { text } = this.#doc;
    return { ...this.#named, ...(text === "" ? {} : { prompt: text.toWellFormed() }), ...fields };
  }

  get #named() {
    return this.model ? { model: this.model.id } : {};
  }

  // seed returns the seed of a request, and shows it.
  #seed() {
    const { seed: wanted } = this.#panel.values;
    const seed = wanted === "" ? drawSeed() : Number(wanted);
    this.#panel.used(seed);
    return seed;
  }

  // do makes a change that needs no server.
  #do(change, message) {
    if (this.running) return;
    change();
    this.#status.clear();
    this.#status.say(message);
    this.#changed();
  }

  // run runs a task with the server, and shows its error.
  async #run(task) {
    if (this.running) return;
    const controller = new AbortController();
    this.#running = controller;
    this.#waiting = null;
    this.#status.clear();
    this.#changed();
    try {
      await task(controller.signal);
    } catch (error) {
      if (error.name === "AbortError") this.#status.say("Stopped.");
      else this.#failed(error, task);
    } finally {
      this.#running = null;
      this.#counted.text = null; // tokens that were chosen one by one need not be the text's own
      this.#changed();
    }
  }

  // step runs a task whose changes one undo reverts.
  #step(task) {
    if (!this.#panel.check()) return;
    return this.#run(async (signal) => {
      const doc = this.#doc;
      doc.step();
      const { text, branches } = doc;
      try {
        await task(signal);
      } finally {
        if (doc.text === text && doc.branches === branches) doc.dropStep();
      }
    });
  }

  #failed(error, task) {
    if (!(error instanceof ServerError)) {
      this.#status.fail("This page made a mistake: " + error.message);
      throw error;
    }
    if (error.status === 401) {
      this.#waiting = task;
      this.#status.askKey();
    } else if (error.status === 0) {
      this.#status.away(
        error.message,
        () => this.#server.alive(),
        () => this.connect(),
      );
    } else {
      this.#status.fail(error.message);
    }
  }

  // tokens returns how many tokens the text has.
  async #tokens(signal) {
    const { text } = this.#doc;
    if (this.counted === null) {
      const { count } = text === "" ? { count: 0 } : await this.#server.tokenize(text, signal);
      this.#counted = { text, count };
      this.#changed();
    }
    return this.#counted.count;
  }

  // room returns how many tokens the context has left, if the server says.
  async #room(signal) {
    if (!this.model?.max_model_len) return Infinity;
    try {
      return this.model.max_model_len - Math.max(1, await this.#tokens(signal));
    } catch (error) {
      if (error.status === 404) return Infinity; // another server than gpt serve
      throw error;
    }
  }

  async #generate(signal) {
    const { max_tokens, min_tokens, n } = this.#panel.values;
    const left = await this.#room(signal);
    if (left <= 0) {
      const most = this.model.max_model_len.toLocaleString("en");
      this.#status.fail(
        `The text fills the model's context of ${most} tokens: there is no room ` +
          "for a new one. Cut the text to continue.",
      );
      return;
    }
    const most = Math.min(max_tokens, left);
    const seed = this.#seed();
    const body = { ...this.body(), max_tokens: most, seed, return_token_ids: true };
    if (most < max_tokens && min_tokens > most) body.min_tokens = most;
    this.#status.say("Writing…");
    const stream = this.#server.complete(body, signal);
    if (n > 1) await this.#writeBranches(stream, n, seed);
    else await this.#write(stream, most < max_tokens);
  }

  // write appends a completion as it arrives. cramped says that the context's end will cut it.
  async #write(stream, cramped) {
    const doc = this.#doc;
    const { text, pieces } = doc;
    const writer = new Writer(text.length);
    const before = this.counted ?? 0;
    doc.branches = [];
    for await (const chunk of stream) {
      writer.take(chunk);
      doc.text = text + writer.text;
      doc.pieces = [...pieces, ...writer.pieces];
      this.#counted = { text: doc.text, count: before + writer.count };
      this.#changed();
    }
    const full = cramped ? "The context is full: " : "";
    const why = { stop: "The text came to an end: ", length: full }[writer.reason] ?? "";
    this.#status.say(
      `${why}${writer.count === 1 ? "1 new token." : `${writer.count} new tokens.`}`,
    );
  }

  // writeBranches fills samples side by side.
  async #writeBranches(stream, n, seed) {
    const writers = Array.from({ length: n }, () => new Writer(0));
    const update = () => {
      this.#doc.branches = writers.map(({ text, pieces, reason }, i) => ({
        text,
        pieces,
        reason,
        seed: seed + i,
      }));
      this.#changed();
    };
    for await (const chunk of stream) {
      writers[chunk.index]?.take(chunk);
      update();
    }
    this.#status.say(`${n} samples. Keep the one that you like.`);
  }
}
