// llama.cpp, through node-llama-cpp: a GGUF file. Its tokens come from its own greedy sampler, so a step includes sampling; decoding goes
// on from what it samples.

import { readFileSync } from "node:fs";
import { getLlama, LlamaLogLevel } from "node-llama-cpp";
import { answer, job, measure, model as path, nRounds, nThreads } from "./common.mjs";

const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, maxThreads: nThreads, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: path });
const context = await model.createContext({
  contextSize: job.positions, batchSize: Math.min(512, job.positions), threads: { ideal: nThreads, min: nThreads },
});
const sequence = context.getSequence();

// generate starts afresh with a prompt; each next() of what it returns is one more token.
async function generate(prompt) {
  await sequence.clearHistory();
  return sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true });
}

// together has n texts decode from their beginning, each round anew: what each round's median step takes.
async function together(n) {
  const many = await model.createContext({ contextSize: 128, sequences: n, batchSize: Math.max(n, 32), threads: { ideal: nThreads, min: nThreads } });
  const sequences = Array.from({ length: n }, () => many.getSequence());
  let texts;
  const { decode_ms } = await measure(
    async () => {
      await Promise.all(sequences.map((s) => s.clearHistory()));
      texts = sequences.map((s) => s.evaluate(job.feed.slice(0, 1), { temperature: 0, yieldEogToken: true }));
      await Promise.all(texts.map((t) => t.next()));
    },
    () => Promise.all(texts.map((t) => t.next())),
  );
  await many.dispose();
  return decode_ms;
}

const ids = [];
for await (const id of await generate(job.greedy.prompt)) {
  ids.push(id);
  if (ids.length === job.greedy.ids.length) break;
}
let tokens;
const times = await measure(
  async (prompt) => {
    tokens = await generate(prompt);
    await tokens.next();
  },
  () => tokens.next(),
);
times.together_ms = {};
for (const n of nRounds > 0 ? job.together : []) times.together_ms[n] = await together(n);
const nlc = JSON.parse(readFileSync(new URL("node_modules/node-llama-cpp/package.json", import.meta.url)));
answer({ version: `node-llama-cpp ${nlc.version}`, ids, ...times });
process.exit(0); // the binding's threads would keep it waiting
