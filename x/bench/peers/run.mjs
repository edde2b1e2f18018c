// Runs the same work through picogpt and its peers, and prints a table of Markdown or, with --json, everything as JSON.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { median } from "./median.mjs";

const help = `x/bench/peers/run [flags]
  --random SHAPE      random weights of gpt2 (the default), gpt2-medium, gpt2-large or gpt2-xl
  --model DIR         a checkpoint instead, of any kind that gpt reads
  --threads N         2
  --prompt-tokens N   512
  --gen-tokens N      64
  --rounds N          5, of which the table has medians
  --engines LIST      picogpt,llama.cpp,onnxruntime,openvino,ctranslate2,pytorch
  --formats LIST      f32,f16,q8,q4
  --busy              one text at a time, while a thread spins on each processor
  --json              print JSON instead of a table
  --keep              leave the converted files in work/ and use those that are there
`;
const { values: o } = parseArgs({
  options: {
    random: { type: "string" }, model: { type: "string" }, threads: { type: "string", default: "2" },
    "prompt-tokens": { type: "string", default: "512" }, "gen-tokens": { type: "string", default: "64" },
    rounds: { type: "string", default: "5" }, formats: { type: "string", default: "f32,f16,q8,q4" },
    engines: { type: "string", default: "picogpt,llama.cpp,onnxruntime,openvino,ctranslate2,pytorch" },
    busy: { type: "boolean" }, json: { type: "boolean" }, keep: { type: "boolean" }, help: { type: "boolean", short: "h" },
  },
});
if (o.help) {
  process.stdout.write(help);
  process.exit(0);
}
const here = import.meta.dirname, work = join(here, "work"), formats = o.formats.split(",");
const python = join(here, "venv/bin/python");

// Each peer: the program, and the file that it reads for a format, or "" for the folder. A format that is not there it does not have.
const peers = {
  "llama.cpp": { command: ["node", "llama.mjs"], files: { f32: "f32.gguf", f16: "f16.gguf", q8: "q8_0.gguf", q4: "q4_0.gguf" } },
  onnxruntime: { command: ["node", "onnx.mjs"], files: { f32: "f32.onnx", q8: "q8.onnx", q4: "q4.onnx" } },
  openvino: { command: [python, "openvino_gpt2.py"], files: { f32: "", f16: "", q8: "", q4: "" } },
  ctranslate2: { command: [python, "ctranslate2_gpt2.py"], files: { f32: "", q8: "" } },
  pytorch: { command: [python, "torch_gpt2.py"], files: { f32: "" } },
};

const spinning = []; // threads

function say(text) {
  process.stderr.write(text + "\n");
}

// output runs a program here and returns its stdout, or throws with the end of its stderr.
function output(command, args) {
  const r = spawnSync(command, args, { cwd: here, encoding: "utf8", maxBuffer: 1 << 28 });
  if (r.error) throw r.error;
  if (r.status !== 0) throw new Error(`${command} ${args[0]}: ${r.stderr.trim().split("\n").slice(-5).join("\n")}`);
  return r.stdout;
}

// convert writes the files of a checkpoint, and itself in float32, and returns where they are.
function convert(name, source) {
  const files = join(work, name), path = join(files, "job.json"), busy = join(files, "busy.json");
  if (!o.keep || !existsSync(path)) {
    say(`writing ${name} for the peers`);
    output(python, ["export.py", join(work, "gpt"), source, files, o["prompt-tokens"], o["gen-tokens"]]);
  }
  const job = JSON.parse(readFileSync(path));
  if (!o.busy) return { files, path, job };
  job.together = [];
  writeFileSync(busy, JSON.stringify(job));
  return { files, path: busy, job };
}

// runPeer returns what the peer's script answers, with the agreement of its tokens with ours.
function runPeer(name, format, made, rounds) {
  const [program, ...args] = peers[name].command, path = join(made.files, peers[name].files[format]);
  const r = JSON.parse(output(program, [...args, path, made.path, o.threads, String(rounds), format]));
  const want = made.job.greedy.ids, differs = want.findIndex((id, i) => id !== r.ids[i]);
  return { ...r, agree: differs < 0 ? want.length : differs, of: want.length };
}

function benchOurs(format, checkpoint, together) {
  const { model, ...r } = JSON.parse(output(join(work, "gpt"), [ // model is the path of a file that goes again
    "bench", "--json", "--model", checkpoint, "--dtype", format, "--threads", o.threads, "--prompt-tokens", o["prompt-tokens"],
    "--gen-tokens", o["gen-tokens"], "--rounds", o.rounds, "--batch", together.join(",") || "1",
  ]));
  // gpt bench decodes early and late in the context; the peers decode after the prompt: between the two, on the line through them.
  const at = (r.prefill.tokens + Number(o["gen-tokens"]) / 2 - r.context.at[0]) / (r.context.at[1] - r.context.at[0]);
  const decode = r.context.ms_at_50 + at * (r.context.ms_at_900 - r.context.ms_at_50);
  const tokens = Object.fromEntries(r.batch.slice(0, together.length).map((b) => [b.sessions, b.tokens_per_s]));
  return { engine: "picogpt", format, decode_ms: decode, prefill_ms: r.prefill.ms, tokens_per_s: tokens, bench: r };
}

// checkPeers has each peer write the demo checkpoint's tokens in every format, and returns what came of it by peer, of those that run at
// all. In float32 they must be ours.
function checkPeers(names) {
  const made = convert("demo", "demo"), checked = {};
  for (const name of names) {
    const results = {};
    try {
      for (const format of formatsOf(name)) results[format] = runPeer(name, format, made, 0);
    } catch (e) {
      say(`${name}: left out: ${e.message}`);
      continue;
    }
    const exact = results.f32 ?? runPeer(name, "f32", made, 0);
    if (exact.agree < exact.of || exact.difference > 1e-3) {
      throw new Error(`${name}: demo checkpoint: ${exact.agree} of ${exact.of} greedy tokens as ours, logits within ${exact.difference}: not the same model`);
    }
    say(`${name}: ${exact.version}: the demo checkpoint gives our ${exact.of} tokens`);
    checked[name] = results;
  }
  return checked;
}

function formatsOf(engine) {
  return formats.filter((f) => engine === "picogpt" || f in peers[engine].files);
}

function measureAll() {
  mkdirSync(work, { recursive: true });
  output("go", ["build", "-C", "../../..", "-o", join(work, "gpt"), "./cmd/gpt"]);
  const engines = o.engines.split(","), unknown = engines.find((e) => e !== "picogpt" && !peers[e]);
  if (unknown) throw new Error(`--engines: ${unknown}, want picogpt or one of ${Object.keys(peers)}`);
  const checked = checkPeers(engines.filter((e) => e !== "picogpt"));
  const shape = o.random ?? "gpt2";
  const made = o.model ? convert("model", resolve(o.model)) : convert(shape, `random:${shape}`);
  const checkpoint = o.model ? resolve(o.model) : made.files;
  const rows = [];
  for (const _ of o.busy ? cpus() : []) spinning.push(new Worker("for (;;);", { eval: true }));
  for (const format of formats) { // what is compared runs one after another: shared machines drift
    for (const engine of engines) {
      if (!formatsOf(engine).includes(format) || !(engine === "picogpt" || checked[engine])) continue;
      say(`${engine} ${format}`);
      if (engine === "picogpt") {
        rows.push(benchOurs(format, checkpoint, made.job.together));
        continue;
      }
      const { ids, version, decode_ms, prefill_ms, together_ms, ...greedy } = runPeer(engine, format, made, o.rounds);
      const tokens = Object.entries(together_ms ?? {}).map(([texts, ms]) => [texts, (1e3 * texts) / median(ms)]);
      const { agree, of, difference } = checked[engine][format];
      rows.push({
        engine, version, format, decode_ms: median(decode_ms), prefill_ms: median(prefill_ms), tokens_per_s: Object.fromEntries(tokens),
        rounds: { decode_ms, prefill_ms, together_ms }, greedy, demo: { agree, of, difference },
      });
    }
  }
  return {
    date: new Date().toISOString().slice(0, 10), command: ["x/bench/peers/run", ...process.argv.slice(2)].join(" "),
    model: o.model ? "checkpoint" : `random ${shape}`, processor: cpus()[0].model, threads: Number(o.threads),
    prompt_tokens: made.job.prompt.length, gen_tokens: made.job.feed.length, margin: made.job.greedy.margin, rows,
  };
}

function table(r) {
  const line = (...cells) => `| ${cells.join(" | ")} |\n`;
  let text = `${r.model}, ${r.threads} threads, ${r.processor}${o.busy ? ", busy" : ""}; decoding after ${r.prompt_tokens} tokens\n\n`;
  const together = Object.keys(r.rows[0].tokens_per_s);
  const heads = ["decode, ms/token", `prefill ${r.prompt_tokens}, ms`, ...together.map((n) => `${n} texts, tokens/s`)];
  text += line("engine", "format", ...heads, "demo's tokens as ours") + line("---", "---", ...heads.map(() => "---:"), "---:");
  for (const x of r.rows) {
    const agree = x.engine === "picogpt" ? "" : `${x.demo.agree} of ${x.demo.of}`;
    text += line(x.version ?? x.engine, x.format, x.decode_ms.toFixed(1), x.prefill_ms.toFixed(0),
      ...together.map((n) => x.tokens_per_s[n]?.toFixed(0) ?? ""), agree);
  }
  return text;
}

try {
  const result = measureAll();
  process.stdout.write(o.json ? JSON.stringify(result, null, 1) + "\n" : table(result));
} catch (e) {
  say(`peers: ${e.message}`);
  process.exitCode = 1;
} finally {
  for (const thread of spinning) thread.terminate();
  if (!o.keep) rmSync(work, { recursive: true, force: true });
}
