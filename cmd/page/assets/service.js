// Stores the page, so that the next visit needs no network. A new version waits until the tabs of the
// old one are closed.

const CACHE = `picogpt ${self.registration.scope} VERSION`;
const FILES = ["FILES"];

self.addEventListener("install", (e) => {
  // What the browser keeps of an older version would be stored with this one: the host is asked.
  const fresh = FILES.map((name) => new Request(name, { cache: "no-cache" }));
  e.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(fresh)));
});

self.addEventListener("activate", (e) => {
  const old = (name) => name.startsWith(`picogpt ${self.registration.scope} `) && name !== CACHE;
  e.waitUntil(
    caches.keys().then((all) => Promise.all(all.filter(old).map((name) => caches.delete(name)))),
  );
});

self.addEventListener("fetch", (e) => {
  if (e.request.method !== "GET") return;
  const stored = caches.open(CACHE).then((cache) => cache.match(e.request, { ignoreSearch: true }));
  e.respondWith(stored.then((found) => found || fetch(e.request)));
});
