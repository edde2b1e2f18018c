// Lets Node run what is built with GOOS=js and the tag simd128, as the page's worker does:
// go test -exec "node --stack-size=8192 -r $PWD/kernels/wasm/lend.js $(go env GOROOT)/lib/wasm/wasm_exec_node.js"

const { readFileSync } = require("fs");
const { instantiate } = WebAssembly;

WebAssembly.instantiate = async (bytes, imports) => {
  let leaves;
  imports.leaves = new Proxy({}, { get: (_, name) => (...all) => leaves[name](...all) });
  const made = await instantiate(bytes, imports);
  const memory = { env: { memory: made.instance.exports.mem } };
  const small = readFileSync(`${__dirname}/leaves.wasm`);
  leaves = (await instantiate(small, memory)).instance.exports;
  return made;
};
