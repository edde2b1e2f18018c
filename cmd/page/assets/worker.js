// The engine's worker: fetches and starts it, and hands it the page's requests.

importScripts("wasm_exec.js");

self.page = {
  head: (id, status, headers) => postMessage({ id, what: "head", value: { status, headers } }),
  bytes: (id, value) => postMessage({ id, what: "bytes", value }, [value.buffer]),
  end: (id, value) => postMessage({ id, what: "end", value }),
  opened: (fault, said) => postMessage({ what: "opened", fault, said }),
};

onmessage = ({ data }) => {
  if (data.stop) engine.stop(data.stop);
  else if (data.files) engine.open(data.files.map(readable));
  else engine.request(data.id, data.method, data.path, data.headers, data.body);
};

// readable lets the engine read a file part by part.
const readable = (file) => ({
  name: file.name,
  size: file.size,
  read: (from, to) => new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(from, to))),
});

// unpacked returns the bytes of the engine as they come. Some hosts unpack a .gz themselves.
async function unpacked(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  const all = Number(response.headers.get("Content-Length"));
  let done = 0;
  const reader = response.body.getReader();
  const first = await reader.read();
  const take = (to, { value, done: ended }) => {
    if (ended) return to.close();
    to.enqueue(value);
    done += value.length;
    postMessage({ what: "loading", done, all });
  };
  const bytes = new ReadableStream({
    start: (to) => take(to, first),
    pull: async (to) => take(to, await reader.read()),
  });
  const packed = first.value[0] === 0x1f;
  return packed ? bytes.pipeThrough(new DecompressionStream("gzip")) : bytes;
}

async function start() {
  const go = new Go();
  let leaves; // on the engine's memory, which is not there yet
  go.importObject.leaves = new Proxy({}, { get: (_, name) => (...all) => leaves[name](...all) });
  const headers = { "Content-Type": "application/wasm" };
  const code = new Response(await unpacked("engine.wasm.gz"), { headers });
  const { instance } = await WebAssembly.instantiateStreaming(code, go.importObject);
  postMessage({ what: "starting" });
  const small = await (await fetch("leaves.wasm")).arrayBuffer();
  const memory = { env: { memory: instance.exports.mem } };
  leaves = (await WebAssembly.instantiate(small, memory)).instance.exports;
  await go.run(instance);
  throw new Error("it has no more memory");
}

start().catch((error) => postMessage({ what: "ended", fault: error.message }));
