// The server: completions, scores and counts of tokens over HTTP, and its errors in plain words.

import { readTokens } from "./pieces.js";

// HOME is the address of the server: the page's, without a password that it may have.
export const HOME = location.origin + location.pathname.replace(/\/[^/]*$/, "");

// A ServerError has a status, 0 if the server did not answer, and a message for people.
export class ServerError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Server {
  key = ""; // of the API, sent as a bearer token
  onIgnored = () => {}; // called with the fields that the server did not know
  onWarning = () => {}; // called with what the server says beside an answer

  // models returns the models, each {id, max_model_len}.
  async models() {
    return (await (await this.#fetch("v1/models")).json()).data;
  }

  async alive() {
    try {
      return (await fetch(`${HOME}/health`, { cache: "no-store" })).ok;
    } catch {
      return false;
    }
  }

  // tokenize returns {count, tokens, max_model_len}.
  async tokenize(text, signal) {
    return (
      await this.#post("tokenize", { prompt: text, add_special_tokens: false }, signal)
    ).json();
  }

  // score returns the tokens of a text, each with its probability.
  async score(body, signal) {
    const answer = await (await this.#post("v1/completions", body, signal)).json();
    const choice = answer.choices[0];
    return readTokens(choice.logprobs, choice.prompt_token_ids);
  }

  // inside returns what the model computes for the last token of a text, as docs/inside.md has it.
  async inside(body, signal) {
    return (await this.#post("inside", body, signal)).json();
  }

  // text returns the likeliest continuation of a prompt.
  async text(body, signal) {
    const answer = await this.#post("v1/completions", { ...body, temperature: 0 }, signal);
    return (await answer.json()).choices[0].text;
  }

  // chat yields {text, reason} of the answer to a conversation.
  async *chat(body, signal) {
    for await (const { delta, finish_reason } of this.#stream("v1/chat/completions", body, signal)) {
      yield { text: delta.content ?? "", reason: finish_reason };
    }
  }

  // complete yields {index, text, tokens, reason} as the server streams them.
  async *complete(body, signal) {
    for await (const choice of this.#stream("v1/completions", body, signal)) {
      yield {
        index: choice.index,
        text: choice.text,
        tokens: readTokens(choice.logprobs, choice.token_ids),
        reason: choice.finish_reason,
      };
    }
  }

  // stream yields the choices of each chunk of a streamed answer.
  async *#stream(path, body, signal) {
    const response = await this.#post(path, { ...body, stream: true }, signal);
    for await (const data of events(response.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ServerError(500, sentence(chunk.error.message), chunk.error.code);
      yield* chunk.choices ?? [];
    }
    throw new ServerError(0, "The connection ended before the text did.");
  }

  #post(path, body, signal) {
    const headers = { "Content-Type": "application/json" };
    return this.#fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  async #fetch(path, options = {}) {
    const headers = { ...options.headers };
    if (this.key) headers.Authorization = "Bearer " + this.key;
    let response;
    try {
      response = await fetch(`${HOME}/${path}`, { ...options, headers, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServerError(0, "The server does not answer.");
    }
    if (!response.ok) throw await failure(response);
    const ignored = response.headers.get("X-Ignored-Fields");
    if (ignored) this.onIgnored(ignored.split(",").map((name) => name.trim()));
    const warning = /"(.*)"/.exec(response.headers.get("Warning") ?? "");
    if (warning) this.onWarning(sentence(warning[1]));
    return response;
  }
}

// failure returns the error of a response that did not succeed.
async function failure(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    // for example a proxy's page: only the status is known
  }
  const said = sentence(error.message);
  const wait = response.headers.get("Retry-After");
  const messages = {
    401: "The server wants a key.",
    404: said || "The server does not know this address: is it gpt serve?",
    413: "The text is too large for the server.",
    429: "The server is busy." + (wait ? ` Try again in ${wait} s.` : " Try again in a moment."),
    503: "The server is not ready" + (said ? `: ${said}` : "."),
  };
  const message = messages[response.status] ?? (said || `The server failed (${response.status}).`);
  return new ServerError(response.status, message, error.code);
}

// sentence makes a message of the server a sentence, with a capital and a full stop.
function sentence(message) {
  if (typeof message !== "string" || message === "") return "";
  const end = /[.!?]$/.test(message) ? "" : ".";
  return message[0].toUpperCase() + message.slice(1) + end;
}

// events yields the data of server-sent events.
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split(/\r?\n\r?\n/);
      rest = parts.pop();
      for (const part of parts) {
        const data = part.split(/\r?\n/).filter((line) => line.startsWith("data:"));
        if (data.length > 0) yield data.map((line) => line.slice(5).trimStart()).join("\n");
      }
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "The connection broke.");
  } finally {
    reader.cancel().catch(() => {});
  }
}
