// The playground: creates the parts and connects them to the page.

import { HOME, Server } from "./api.js";
import { Chat } from "./chat.js";
import { CodeView } from "./codeview.js";
import { Document } from "./document.js";
import { byId, copy } from "./dom.js";
import { restore, restoreChat, restorePieces } from "./memory.js";
import { save, saveChat, savedKey, saveKey, savePieces } from "./memory.js";
import { Panel } from "./panel.js";
import { Session } from "./session.js";
import { defaults, restored, VERSION } from "./settings.js";
import { Status } from "./status.js";
import { View } from "./view.js";

const narrow = matchMedia("(max-width: 60rem)");
const touch = matchMedia("(pointer: coarse)");

const server = new Server();
const doc = new Document();
const status = new Status((key) => {
  saveKey(key);
  session.useKey(key);
});
const panel = new Panel(defaults(), {
  changed: update,
  refused: (message) => {
    status.fail(message);
    openSettings(true);
  },
});
const session = new Session({ server, doc, panel, status, changed: update });
const view = new View(doc, session);
const chat = new Chat(session, status, update, saveChat);
const code = new CodeView();

let saving; // a timer
let kept = ""; // the state as it was last kept or loaded
let chosen = true; // whether the settings are those of a link, or of the user's last visit
let adopted = false; // whether the panel has what the checkpoint gives

const state = () => ({ version: VERSION, text: doc.text, settings: panel.values });

// update shows what has changed, and saves it when nothing has changed for a moment.
function update() {
  if (session.model && !adopted) {
    adopted = true;
    panel.adopt(session.model.generation_config ?? {}, chosen);
    if (!chosen) kept = JSON.stringify(state());
  }
  view.history = chat.on ? chat : doc;
  view.show();
  chat.show();
  clearTimeout(saving);
  if (!session.running) saving = setTimeout(keep, 400);
}

// keep saves the user's changes. A link that was only opened does not replace another text.
function keep() {
  if (session.model && session.counted === null) session.count();
  keepPieces();
  chat.keep();
  const now = JSON.stringify(state());
  if (now === kept) return;
  kept = now;
  save(state());
}

function keepPieces() {
  if (session.model) savePieces(session.model.id, doc.text, doc.pieces);
}

window.addEventListener("pagehide", () => {
  keepPieces();
  chat.keep(); // with as much of an answer as there is
});

async function load() {
  const { text, state: found, broken } = await restore();
  doc.text = text ?? "Once upon a time";
  doc.pieces = doc.branches = [];
  panel.show(restored(found));
  if (broken) status.fail("The link cannot be read: it is damaged, or too long.");
  kept = JSON.stringify(state());
  view.show();
  chosen = Boolean(found);
}

// Settings.

function openSettings(on) {
  document.body.classList.toggle("no-settings", !on);
  byId("toggle-settings").setAttribute("aria-expanded", String(on));
  const covers = on && narrow.matches;
  byId("paper").inert = covers;
  if (covers) byId("close-settings").focus();
}

narrow.addEventListener("change", () => openSettings(!narrow.matches));

function reset() {
  panel.show(defaults());
  update();
  status.say("All settings are as they were at first.");
}

// Buttons.

async function share() {
  const whole = await save(state());
  const holds = whole
    ? "It holds the text and the settings."
    : "It holds the settings; the text is too long for a link.";
  try {
    await copy(location.href);
    status.say(`The link is copied. ${holds}`);
  } catch {
    status.say(`The link is in the address line. ${holds}`);
  }
}

async function toggleTokens() {
  view.setView(!view.asTokens);
  if (view.asTokens && !doc.covered && doc.text !== "") await session.score();
}

function toggleColours() {
  const plain = document.body.classList.toggle("plain");
  byId("colours").setAttribute("aria-pressed", String(!plain));
}

// paper returns what is on the paper: the conversation, or the document.
const paper = () => (chat.on ? chat : session);

const clicks = {
  continue: () => session.continue(),
  stop: () => session.stop(),
  undo: () => paper().undo(),
  redo: () => paper().redo(),
  chat: () => {
    chat.turn(!chat.on);
    update();
    byId(chat.on ? "say" : "text").focus();
  },
  score: () => session.score(),
  share,
  reset,
  colours: toggleColours,
  "view-tokens": toggleTokens,
  code: () => {
    const body = chat.on ? session.conversation(chat.messages) : session.body();
    code.open(body, HOME, server.key !== "");
  },
  "toggle-settings": () => openSettings(document.body.classList.contains("no-settings")),
  "close-settings": () => {
    openSettings(false);
    byId("toggle-settings").focus();
  },
};
for (const [id, act] of Object.entries(clicks)) {
  byId(id).addEventListener("click", () => {
    view.closePanel();
    act();
  });
}

// The text.

const text = byId("text");

text.addEventListener("input", () => {
  doc.edit(view.editor.text, performance.now());
  view.closePanel();
  status.clear();
  update();
});

// The browser's own undo does not include completions.
text.addEventListener("beforeinput", (e) => {
  if (e.inputType !== "historyUndo" && e.inputType !== "historyRedo") return;
  e.preventDefault();
  if (e.inputType === "historyUndo") session.undo();
  else session.redo();
});

// A touch of a coloured token shows its alternatives, and leaves the keyboard on the screen as it
// is. A second touch edits.
text.addEventListener("mousedown", (e) => {
  if (touch.matches && document.activeElement !== text && view.isNewAt(e.clientX, e.clientY)) {
    e.preventDefault();
  }
});
text.addEventListener("click", (e) => view.openAt(e.clientX, e.clientY));

text.addEventListener("keydown", (e) => {
  if (!e.altKey || e.key !== "ArrowDown") return;
  e.preventDefault();
  if (!view.openAtCaret()) status.say("No token is known here: Surprise finds them.");
});

// Keys of the whole page. Fields other than the text have their own undo.
document.addEventListener("keydown", (e) => {
  if (e.isComposing || document.querySelector("dialog[open]")) return;
  const command = e.ctrlKey || e.metaKey;
  const field = e.target !== text && e.target.matches("input, textarea, select");
  const key = e.key.toLowerCase();
  if (command && key === "enter") chat.on ? chat.send() : session.continue();
  else if (command && key === "z" && !field) e.shiftKey ? paper().redo() : paper().undo();
  else if (command && key === "y" && !field) paper().redo();
  else if (key === "escape") return escape();
  else return;
  view.closePanel();
  e.preventDefault();
});

function escape() {
  if (view.panelOpen) view.closePanel();
  else if (view.insideOpen && !chat.on) view.closeInside();
  else if (session.running) session.stop();
  else if (narrow.matches && !document.body.classList.contains("no-settings")) {
    clicks["close-settings"]();
  }
}

// A link that the user opens in this tab.
window.addEventListener("hashchange", async () => {
  session.stop();
  chat.turn(false);
  doc.step();
  await load();
});

// Where the page has an engine of its own, it may have another model now.
window.addEventListener("model", () => session.connect());

server.onWarning = (said) => (byId("chat-note").textContent = said);
server.onIgnored = (names) => panel.ignored(names);
server.key = savedKey();
openSettings(!narrow.matches);
await load();
view.editor.show(doc.text, []);
view.editor.readOnly = false;
for (const button of document.querySelectorAll("button:disabled")) button.disabled = false;
view.editor.focus(doc.text.length);
chat.restore(...restoreChat());
if (chat.on) byId("say").focus();
await session.connect();
if (session.model && doc.pieces.length === 0) {
  doc.pieces = restorePieces(session.model.id, doc.text);
  view.show();
}
