// ONNX Runtime, through onnxruntime-node: an ONNX file. A step gives the keys and values of its tokens, and they are added to the caches
// here, which are inputs of the next step.

import * as ort from "onnxruntime-node";
import { answer, job, measure, model as path, nThreads } from "./common.mjs";

const session = await ort.InferenceSession.create(path, {
  executionProviders: ["cpu"], intraOpNumThreads: nThreads, interOpNumThreads: 1, executionMode: "sequential", graphOptimizationLevel: "all",
});
const caches = {}; // keys_I and values_I: [1, n_head, n_ctx, head_size]
const nCtx = Math.max(job.prompt.length + job.feed.length, job.greedy.prompt.length + job.greedy.ids.length), size = job.heads * job.head_size;
for (let i = 0; i < job.layers; i++) {
  for (const what of ["keys", "values"]) {
    caches[`${what}_${i}`] = new ort.Tensor("float32", new Float32Array(nCtx * size), [1, job.heads, nCtx, job.head_size]);
  }
}
let length = 0;

// step appends tokens and returns the logits after the last one.
async function step(tokens) {
  const total = length + tokens.length;
  const ids = (x) => new ort.Tensor("int64", BigInt64Array.from(x, BigInt), [1, x.length]);
  const one = (x) => new ort.Tensor("int32", Int32Array.of(x), [1]);
  const out = await session.run({
    tokens: ids(tokens), positions: ids(tokens.map((_, i) => length + i)), last: one(total - 1), total: one(total), ...caches,
  });
  for (let i = 0; i < job.layers; i++) {
    append(caches[`keys_${i}`].data, out[`added_${i}`].data, 0, tokens.length);
    append(caches[`values_${i}`].data, out[`added_${i}`].data, size, tokens.length);
  }
  length = total;
  return out.logits.data;
}

// append copies n rows of added [n, 2*n_embd], from a column on, into a cache.
function append(cache, added, column, n) {
  for (let row = 0; row < n; row++) {
    for (let head = 0; head < job.heads; head++) {
      const from = row * 2 * size + column + head * job.head_size;
      cache.set(added.subarray(from, from + job.head_size), (head * nCtx + length + row) * job.head_size);
    }
  }
}

function argmax(x) {
  let best = 0;
  for (let i = 1; i < x.length; i++) if (x[i] > x[best]) best = i;
  return best;
}

let logits = await step(job.greedy.prompt);
const difference = job.greedy.logits.reduce((most, v, i) => Math.max(most, Math.abs(v - logits[i])), 0);
const ids = [];
while (ids.length < job.greedy.ids.length) {
  ids.push(argmax(logits));
  logits = await step(ids.slice(-1));
}
const times = await measure(
  (prompt) => {
    length = 0;
    return step(prompt);
  },
  (token) => step([token]),
);
answer({ version: `onnxruntime-node ${ort.env.versions.node}`, ids, difference, ...times });
