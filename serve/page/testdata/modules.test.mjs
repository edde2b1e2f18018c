// The modules that know nothing of the page, by node --test.

import assert from "node:assert/strict";
import test from "node:test";
import { deflateRawSync } from "node:zlib";

import { LANGUAGES } from "../assets/code.js";
import { Document } from "../assets/document.js";
import { runsOf, same } from "../assets/ink.js";
import { pack, unpack } from "../assets/link.js";
import {
  fitting,
  levelOf,
  percent,
  Piecer,
  rankOf,
  readTokens,
  summary,
  textOf,
  tokenBytes,
  visible,
  Writer,
} from "../assets/pieces.js";
import { adopt, ALL, defaults, problem, restored, sent, VERSION } from "../assets/settings.js";

const bytes = (...list) => Uint8Array.from(list);
const token = (text, p = 0.5) => ({
  bytes: new TextEncoder().encode(text),
  id: null,
  logprob: Math.log(p),
  top: [],
});
const raw = (...list) => ({ ...token(""), bytes: bytes(...list) });
const places = (pieces) => pieces.map(({ start, end, text }) => [start, end, text]);

test("names of tokens are their bytes", () => {
  assert.deepEqual(tokenBytes(" é"), bytes(0x20, 0xc3, 0xa9));
  assert.deepEqual(tokenBytes("bytes:\\xf0\\x9f"), bytes(0xf0, 0x9f));
  assert.equal(textOf(bytes(0xf0, 0x9f)), null);
  assert.equal(textOf(bytes(0xef, 0xbb, 0xbf)), "\ufeff");
});

test("tokens that share a character are one piece", () => {
  const piecer = new Piecer(10);
  assert.deepEqual(
    piecer.add([token("a ")]).map((p) => p.text),
    ["a "],
  );
  assert.deepEqual(piecer.add([raw(0x20, 0xf0, 0x9f)]), []);
  const [piece] = piecer.add([raw(0x98, 0x80)]);
  assert.deepEqual([piece.start, piece.end, piece.text, piece.tokens.length], [12, 15, " 😀", 2]);
  assert.deepEqual(places(piecer.add([token("é")])), [[15, 16, "é"]]);
  assert.deepEqual(piecer.end(), []);
});

test("bytes that never become a character end as a sign", () => {
  const piecer = new Piecer(0);
  piecer.add([raw(0xe2, 0x80)]);
  assert.deepEqual(places(piecer.end()), [[0, 1, "\ufffd"]]);
  assert.deepEqual(places(new Piecer(0).add([raw(0xe2), token("ab")])), [[0, 3, "\ufffdab"]]);
  assert.deepEqual(places(new Piecer(0).add([raw(0x80)])), [[0, 1, "\ufffd"]]);
});

test("a stop string cuts the last pieces", () => {
  const pieces = new Piecer(0).add([token("one"), token(" two"), token(" three")]);
  assert.deepEqual(fitting("one two", pieces).length, 2);
  assert.deepEqual(fitting("one tw", pieces).length, 1);
  assert.equal(fitting("one two three", pieces), pieces);
});

test("a writer's pieces follow its text", () => {
  const writer = new Writer(5);
  writer.take({ text: "", tokens: [raw(0xf0, 0x9f)], reason: null });
  assert.equal(writer.pieces.length, 0);
  writer.take({ text: "😀", tokens: [raw(0x98, 0x80)], reason: "length" });
  assert.deepEqual(places(writer.pieces), [[5, 7, "😀"]]);
  assert.deepEqual([writer.count, writer.reason], [2, "length"]);
});

test("logprobs become tokens, the likeliest alternatives first", () => {
  const [first, second] = readTokens(
    {
      tokens: ["a", " b"],
      token_logprobs: [null, -2],
      top_logprobs: JSON.parse('[null, {" b": -2, "7": -1, "__proto__": -3}]'),
    },
    [1, 2],
  );
  assert.deepEqual([first.logprob, first.top, first.id], [null, [], 1]);
  assert.deepEqual(
    second.top.map((t) => t.name),
    ["7", " b", "__proto__"],
  );
  assert.equal(rankOf(second), 1);
  assert.equal(rankOf(first), null);
  assert.deepEqual(readTokens(null), []);
});

test("runs of a text are the same if their pieces are, not their letters", () => {
  const runs = () => runsOf("one two", new Piecer(0).add([token("one"), token(" two", 0.1)]));
  const [first, again] = [runs(), runs()];
  assert.deepEqual([same(first, first), same(first, again)], [3, 0]);
});

test("levels are in bits", () => {
  const at = (bits) => levelOf({ logprob: -bits * Math.LN2 });
  assert.deepEqual([0, 0.99, 1, 2.99, 3, 6, 9.99, 10, 50].map(at), [0, 0, 1, 1, 2, 3, 3, 4, 4]);
  assert.equal(levelOf({ logprob: null }), -1);
});

test("what cannot be seen is shown", () => {
  assert.equal(visible(bytes(0x20, 0x0a, 0x09, 0x00, 0x7f)), "␣↵⇥␀␡");
  assert.equal(visible(bytes(0xe2, 0x80)), "e2 80");
  assert.equal(visible(new TextEncoder().encode("\u202e")), "U+202E");
  assert.equal(percent(0.123456), "12.3\u00a0%");
  assert.equal(percent(1e-7), "1.0e-5\u00a0%");
  assert.match(
    summary(new Piecer(0).add([token("a", 0.25), token("b", 0.25)])),
    /^2 .* 2\.00 bits/,
  );
});

test("undo goes over edits and completions, and typing is one step", () => {
  const doc = new Document();
  "abc".split("").forEach((_, i) => doc.edit("abc".slice(0, i + 1), i * 100));
  doc.edit("abcd", 5000);
  doc.step();
  doc.text += " completed";
  doc.undo();
  assert.equal(doc.text, "abcd");
  doc.undo();
  assert.equal(doc.text, "abc");
  doc.undo();
  assert.equal(doc.text, "");
  assert.equal(doc.canUndo, false);
  doc.redo();
  doc.redo();
  doc.redo();
  assert.equal(doc.text, "abcd completed");
  doc.undo();
  doc.edit("abcd!", 9000);
  assert.equal(doc.canRedo, false);
});

test("an edit makes what follows unknown, and undo knows it again", () => {
  const doc = new Document();
  doc.text = "one two three";
  doc.pieces = new Piecer(0).add([token("one"), token(" two"), token(" three")]);
  assert.equal(doc.covered, true);
  doc.edit("one tow three", 0);
  assert.deepEqual(
    doc.pieces.map((p) => p.text),
    ["one"],
  );
  assert.equal(doc.covered, false);
  doc.undo();
  assert.equal(doc.pieces.length, 3);
  doc.branches = [{ text: " and", pieces: new Piecer(0).add([token(" and")]), seed: 1 }];
  doc.keep(0);
  assert.equal(doc.text, "one two three and");
  assert.deepEqual(places(doc.pieces.slice(3)), [[13, 17, " and"]]);
  doc.undo();
  assert.equal(doc.branches.length, 1);
});

test("a step that came to nothing leaves no trace", () => {
  const doc = new Document();
  doc.edit("a", 0);
  doc.step();
  doc.dropStep();
  doc.undo();
  assert.equal(doc.text, "");
});

test("a link holds every text and setting", async () => {
  const texts = ["", "a", "\ud83d\ude00 é \n\t\0 \"'<&>", "x".repeat(10_000), "नमस्ते שלום"];
  for (const text of texts) {
    const state = { text, settings: { temperature: 0.5, stop: "\\n" } };
    const fragment = await pack(state);
    assert.match(fragment, /^z=[\w-]+$/);
    assert.deepEqual(await unpack("#" + fragment), state);
  }
  const noise = Array.from({ length: 80_000 }, () => Math.random().toString(36)[3]).join("");
  assert.equal(await pack({ text: noise }), null);
});

test("a broken link is none", async () => {
  for (const bad of ["", "#", "#z=", "#z=!!", "#z=AAAA", "#x=1", "#z=" + btoa("no").slice(0, 3)]) {
    assert.equal(await unpack(bad), null, bad);
  }
});

test("a short link of a long text is none", async () => {
  const of = (n) => deflateRawSync(JSON.stringify({ text: "a".repeat(n) })).toString("base64url");
  assert.equal((await unpack("#z=" + of(1_000_000))).text.length, 1_000_000);
  for (const n of [1 << 20, 30 << 20]) assert.equal(await unpack("#z=" + of(n)), null);
  assert.equal(await unpack("#z=" + "A".repeat(60_000)), null);
  assert.equal(await pack({ text: "a".repeat(1 << 20) }), null);
});

test("the page begins as the command does, and settings that are off are not sent", () => {
  assert.deepEqual(sent(defaults()), { max_tokens: 40, temperature: 0.8, top_k: 40, logprobs: 8 });
  const off = { ...defaults(), temperature: 1, top_k: 0 };
  assert.deepEqual(sent(off), { max_tokens: 40, logprobs: 8 });
});

test("each setting is sent as the server wants it", () => {
  const values = {
    ...defaults(),
    temperature: 0,
    n: 3,
    stop: "one\n\\n\\n\ntwo\\\\",
    seed: "-7",
    logit_bias: "198 -5\n11=2.5\n",
    stop_token_ids: "13, 198\n50256",
    bad_words: " cat",
    structured_outputs: { kind: "json", text: '{"type": "object"}' },
    ignore_eos: true,
  };
  assert.deepEqual(sent(values), {
    max_tokens: 40,
    temperature: 0,
    n: 3,
    seed: -7,
    top_k: 40,
    stop: ["one", "\n\n", "two\\"],
    ignore_eos: true,
    stop_token_ids: [13, 198, 50256],
    bad_words: [" cat"],
    logit_bias: { 198: -5, 11: 2.5 },
    structured_outputs: { json: { type: "object" } },
    logprobs: 8,
  });
});

test("mistakes in settings are named", () => {
  const of = (name, value) =>
    problem(
      ALL.find((s) => s.name === name),
      value,
    );
  assert.match(of("max_tokens", 0), /whole number from 1/);
  assert.match(of("max_tokens", 1.5), /whole number/);
  assert.match(of("temperature", null), /number from 0 to 2/);
  assert.match(of("temperature", NaN), /number/);
  assert.match(of("seed", "x"), /whole number/);
  assert.match(of("logit_bias", "cat 5"), /cat 5/);
  assert.match(of("logit_bias", "5 101"), /100/);
  assert.match(of("stop_token_ids", "1 x"), /found x/);
  assert.match(of("structured_outputs", { kind: "json", text: "{" }), /no JSON/);
  for (const setting of ALL) assert.equal(problem(setting, setting.value), "", setting.name);
});

test("a link's settings are judged", () => {
  const mine = { ...defaults(), temperature: 0.5, stop: "x", ignore_eos: true };
  assert.deepEqual(restored({ version: VERSION, settings: mine }), mine);
  const foreign = {
    temperature: 99,
    max_tokens: "40",
    stop: 5,
    none: 1,
    seed: null,
    structured_outputs: { kind: "eval", text: "" },
  };
  assert.deepEqual(restored({ version: VERSION, settings: foreign }), defaults());
  for (const settings of [null, undefined, 5, "x", []]) {
    assert.deepEqual(restored({ version: VERSION, settings }), defaults());
  }
  for (const nothing of [null, undefined]) assert.deepEqual(restored(nothing), defaults());
});

test("a link without a version has the settings of its time", () => {
  const then = { ...defaults(), temperature: 1, top_k: 0 };
  for (const settings of [{}, undefined, { temperature: 99 }]) {
    assert.deepEqual(restored({ settings }), then);
  }
  assert.deepEqual(restored({ version: "1", settings: {} }), then);
  const given = { stop: "x", top_k: 7 };
  assert.deepEqual(restored({ settings: given }), { ...then, ...given });
});

test("what the checkpoint gives is there at first, and what differs from it is sent", () => {
  const before = ALL.map((setting) => ({ ...setting }));
  adopt({ temperature: 0.7, top_p: 0.9, top_k: 5000, max_tokens: 7, not_on_the_page: 1 });
  const values = defaults();
  assert.equal(values.temperature, 0.7);
  assert.equal(values.top_k, 40, "5000 is more than the page shows");
  assert.deepEqual(sent(values), { top_k: 40, logprobs: 8 });
  const others = { ...values, temperature: 1, top_p: 1, top_k: 0, max_tokens: 40 };
  const want = { max_tokens: 40, temperature: 1, top_k: 0, top_p: 1, logprobs: 8 };
  assert.deepEqual(sent(others), want);
  ALL.forEach((setting, i) => Object.assign(setting, { off: undefined }, before[i]));
});

test("code has no key in it, and quotes what it must", () => {
  const body = { prompt: 'it\'s `x` "y" \\ \n\u2028 $HOME 😀', stop: ["'"], top_k: 5 };
  for (const { name, write } of LANGUAGES) {
    const source = write(body, "http://127.0.0.1:8080", true);
    assert.match(source, /GPT_API_KEY/, name);
    assert.match(source, /http:\/\/127\.0\.0\.1:8080/, name);
  }
});
