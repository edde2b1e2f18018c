// The server of this page, in the page: its requests go to a worker, which has the engine. Old browsers
// must be able to read this file, to say what they lack.

(() => {
  const byId = (id) => document.getElementById(id);
  const tell = (said, fault) => {
    byId("status").textContent = said;
    byId("error").textContent = fault;
    byId("error").hidden = fault === "";
  };
  const say = (message) => tell(message, "");
  const fail = (message) => tell("", message);

  // A module of one function, whose result is a vector.
  const vectors = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0,
    65, 0, 253, 15, 253, 98, 11];
  const wanted = {
    "WebAssembly with vectors (SIMD)": () => WebAssembly.validate(new Uint8Array(vectors)),
    "DecompressionStream": () => new DecompressionStream("deflate-raw"),
    "TextDecoderStream": () => new TextDecoderStream(),
    "Worker": () => Worker,
  };
  const lacking = Object.keys(wanted).filter((name) => {
    try {
      return !wanted[name]();
    } catch (e) {
      return true;
    }
  });

  let ready = new Promise(() => {}); // while it waits, the page does
  window.fetch = (address, options) => ready.then(() => ask(new URL(address), options || {}));
  byId("code").hidden = true; // no other program can ask this server

  if (location.protocol === "file:") {
    return fail("This page cannot run as a file. Serve its folder: python3 -m http.server --bind " +
      "127.0.0.1 8000, there, and open http://127.0.0.1:8000/.");
  }
  if (lacking.length > 0) {
    return fail(`This browser lacks ${lacking.join(", ")}. The page wants Chromium 103, Firefox 113, ` +
      "Safari 16.4, or a later one.");
  }

  const worker = new Worker("page/worker.js");
  const waiting = new Map(); // by number: what to do with the parts of an answer
  let last = 0;
  let opened; // resolves ready
  const wait = () => (ready = new Promise((resolve) => (opened = resolve)));
  wait();

  const megabytes = (n) => (n / 1e6).toFixed(1);

  const heard = {
    loading: ({ done, all }) =>
      say(`Loading the engine: ${megabytes(done)}${all ? ` of ${megabytes(all)}` : ""} MB`),
    starting: () => say("Starting the engine…"),
    opened: ({ fault, said }) => {
      tell(fault ? "" : said, fault);
      opened();
      window.dispatchEvent(new Event("model"));
      keep();
    },
    ended: ({ fault }) => {
      for (const answer of waiting.values()) answer.end(fault);
      wait();
      const plainly = () => fail(`The engine has ended: ${fault}. Reload the page to begin again.`);
      plainly();
      setTimeout(plainly, 100); // the page takes requests that have broken for a server's
    },
  };
  worker.onmessage = ({ data }) => {
    if (heard[data.what]) return heard[data.what](data);
    const answer = waiting.get(data.id);
    if (answer) answer[data.what](data.value);
  };
  worker.onerror = (e) => heard.ended({ fault: e.message || "its files cannot be read" });

  // ask returns the worker's Response to a request.
  function ask(url, { method = "GET", headers = {}, body = "", signal }) {
    const id = ++last;
    return new Promise((resolve, reject) => {
      let out;
      const stop = () => {
        waiting.delete(id);
        worker.postMessage({ stop: id });
      };
      const stream = new ReadableStream({ start: (c) => (out = c), cancel: stop });
      const broken = (error) => {
        reject(error);
        try {
          out.error(error);
        } catch (e) {
          // it has been read to its end
        }
      };
      const aborted = () => {
        stop();
        broken(new DOMException("The request was stopped.", "AbortError"));
      };
      if (signal && signal.aborted) return aborted();
      if (signal) signal.addEventListener("abort", aborted);
      waiting.set(id, {
        head: ({ status, headers }) => resolve(new Response(stream, { status, headers })),
        bytes: (bytes) => out.enqueue(bytes),
        end: (fault) => {
          waiting.delete(id);
          if (signal) signal.removeEventListener("abort", aborted);
          fault ? broken(new TypeError(fault)) : out.close();
        },
      });
      const path = url.pathname.slice(location.pathname.replace(/[^/]*$/, "").length - 1);
      worker.postMessage({
        id, method, path, headers: Object.entries(headers), body: new TextEncoder().encode(body),
      });
    });
  }

  // A model of the reader's own. The engine must be there; then it lets requests wait.
  function open(list) {
    const files = [...list]; // the browser empties its own
    if (files.length === 0) return;
    ready.then(() => {
      say(`Opening ${files[0].name}…`);
      worker.postMessage({ files });
    });
  }
  document.addEventListener("dragover", (e) => e.preventDefault());
  document.addEventListener("drop", (e) => {
    if (e.dataTransfer.files.length === 0) return;
    e.preventDefault();
    open(e.dataTransfer.files);
  });
  const chooser = Object.assign(document.createElement("input"), { type: "file", multiple: true });
  chooser.addEventListener("change", () => open(chooser.files));
  const button = Object.assign(document.createElement("button"), {
    type: "button", id: "open-model", textContent: "Open model",
    title: "A .safetensors, .gguf or .bin file of this machine; it stays here. Or drop it on the page.",
  });
  button.addEventListener("click", () => {
    chooser.value = ""; // the same file again is a choice too
    chooser.click();
  });
  byId("share").before(button);

  // keep lets a service worker store the files, so that the next visit needs no network.
  function keep() {
    if (navigator.serviceWorker) navigator.serviceWorker.register("service.js").catch(() => {});
  }
})();
