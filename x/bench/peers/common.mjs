// What the scripts of the peers share: their command line, the job and the answer.
//
//   node PEER.mjs MODEL JOB.json THREADS ROUNDS FORMAT     prints {"version", "ids", "prefill_ms", "decode_ms"}, llama.mjs
//   "together_ms" too, as common.py says; the times have an entry a round

import { readFileSync } from "node:fs";
import { median } from "./median.mjs";

const [model, jobPath, threads, rounds] = process.argv.slice(2);
export const job = JSON.parse(readFileSync(jobPath, "utf8"));
export { model };
export const nThreads = Number(threads), nRounds = Number(rounds);

const now = () => performance.now();

// measure times prefill(tokens), then step(token) for each token of the job, nRounds times after one that is not counted.
export async function measure(prefill, step) {
  const prefillMS = [], decodeMS = [];
  for (let i = nRounds > 0 ? -1 : 0; i < nRounds; i++) {
    let start = now();
    await prefill(job.prompt);
    const took = now() - start;
    const times = [];
    for (const token of job.feed) {
      start = now();
      await step(token);
      times.push(now() - start);
    }
    if (i >= 0) {
      prefillMS.push(took);
      decodeMS.push(median(times));
    }
  }
  return { prefill_ms: prefillMS, decode_ms: decodeMS };
}

export function answer(o) {
  process.stdout.write(JSON.stringify(o) + "\n");
}
