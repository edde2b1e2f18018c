// The state of the page in the fragment of its address, for links and reloads. Servers never see
// the fragment. It is z= and JSON, compressed (raw deflate) and in base64url.

const MOST = 60_000; // characters of a fragment: chat programs and some browsers cut longer links
const WHOLE = 1 << 20; // bytes of JSON: a short link could hold a text of gigabytes

// through returns the output of a stream for some bytes; null if that is longer than WHOLE.
async function through(stream, bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  for (let size = 0; ; ) {
    const { value, done } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > WHOLE) {
      reader.cancel().catch(() => {});
      return null;
    }
    parts.push(value);
  }
}

// pack returns a fragment; null if the state is too long for one.
export async function pack(state) {
  const json = new TextEncoder().encode(JSON.stringify(state));
  if (json.length > WHOLE) return null;
  const bytes = await through(new CompressionStream("deflate-raw"), json);
  let binary = "";
  for (const b of bytes) binary += String.fromCharCode(b);
  const fragment = "z=" + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return fragment.length <= MOST ? fragment : null;
}

// unpack returns the state of a fragment; null if it has none.
export async function unpack(fragment) {
  if (fragment.length > MOST + 1) return null;
  const found = /^#?z=([A-Za-z0-9_-]+)$/.exec(fragment);
  if (!found) return null;
  try {
    const binary = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const json = await through(new DecompressionStream("deflate-raw"), bytes);
    if (json === null) return null;
    const state = JSON.parse(new TextDecoder().decode(json));
    return state && typeof state === "object" && !Array.isArray(state) ? state : null;
  } catch {
    return null;
  }
}
