"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const tokens = data.tokens;
const text = document.getElementById("text");
const spans = text.querySelectorAll("span");
const marker = document.getElementById("marker");
let chosen = -1;

const number = (x, digits) => x.toLocaleString("en", {maximumSignificantDigits: digits});
const percent = p => p >= 0.00001 ? number(100 * p, 3) + "\u00a0%" : (100 * p).toExponential(1) + "\u00a0%";

function cell(row, value, name) {
  const td = row.insertCell();
  td.textContent = value;
  if (name) td.className = name;
}

// show fills in the panel for token i; what is chosen does not change.
function show(i) {
  const t = tokens[i];
  const field = name => document.getElementById("d-" + name);
  field("token").textContent = t.text;
  field("place").textContent = `token ${i + 1} of ${tokens.length}, id ${t.id}`;
  const known = t.rank >= 0;
  field("probability").textContent = known ? percent(t.p) : "–";
  field("surprisal").textContent = known ? number(t.bits, 3) + "\u00a0bits" : "–";
  field("rank").textContent = known ? number(t.rank, 6) : "–";
  field("entropy").textContent = known ? number(t.entropy, 3) + "\u00a0bits" : "–";
  const body = field("top");
  body.replaceChildren();
  for (const [text, id, p] of t.top) {
    const row = body.insertRow();
    cell(row, text);
    cell(row, percent(p), "number");
    if (id === t.id) row.className = "chosen";
  }
  field("alternatives").hidden = t.top.length === 0;
}

function label(i) {
  const t = tokens[i];
  return t.rank < 0 ? `${t.text}: nothing before it` : `${t.text}: probability ${percent(t.p)}, rank ${t.rank}, entropy ${number(t.entropy, 3)} bits`;
}

function choose(i) {
  i = Math.max(0, Math.min(tokens.length - 1, i));
  if (chosen >= 0) spans[tokens[chosen].piece].setAttribute("aria-selected", "false");
  chosen = i;
  const span = spans[tokens[i].piece];
  span.setAttribute("aria-selected", "true");
  span.setAttribute("aria-label", label(i));
  text.setAttribute("aria-activedescendant", span.id);
  span.scrollIntoView({block: "nearest"});
  marker.setAttribute("d", `M${i + 0.5} 0V100`);
  show(i);
}

// line finds the token nearest to the chosen one in the line above (−1) or below (1).
function line(direction) {
  const from = spans[tokens[chosen].piece].getClientRects()[0];
  let best = chosen, distance = Infinity, edge = null;
  for (let i = chosen + direction; i >= 0 && i < tokens.length; i += direction) {
    const r = spans[tokens[i].piece].getClientRects()[0];
    if (!r || Math.abs(r.top - from.top) < from.height / 2) continue;
    if (edge === null) edge = r.top;
    if (Math.abs(r.top - edge) > from.height / 2) break;
    const d = Math.abs(r.left - from.left);
    if (d < distance) [best, distance] = [i, d];
  }
  return best;
}

// surprising finds the next token of one of the two highest levels.
function surprising(direction) {
  for (let i = chosen + direction; i >= 0 && i < tokens.length; i += direction) {
    const c = spans[tokens[i].piece].classList, by = document.body.dataset.by[0];
    if (c.contains(by + 3) || c.contains(by + 4)) return i;
  }
  return chosen;
}

const keys = {
  ArrowRight: () => chosen + 1, ArrowLeft: () => chosen - 1, ArrowDown: () => line(1), ArrowUp: () => line(-1),
  Home: () => 0, End: () => tokens.length - 1, PageDown: () => chosen + 50, PageUp: () => chosen - 50,
  n: () => surprising(1), p: () => surprising(-1),
};
text.addEventListener("keydown", e => {
  const to = keys[e.key];
  if (!to || e.ctrlKey || e.altKey || e.metaKey) return;
  e.preventDefault();
  choose(chosen < 0 ? 0 : to());
});
text.addEventListener("focus", () => { if (chosen < 0) choose(0); });

const first = span => tokens.findIndex(t => t.piece === Number(span.id.slice(1)));
text.addEventListener("click", e => { if (e.target !== text) choose(first(e.target)); });
text.addEventListener("mouseover", e => { if (e.target !== text) show(first(e.target)); });
text.addEventListener("mouseleave", () => { if (chosen >= 0) show(chosen); });

const chart = document.getElementById("chart");
const under = e => Math.floor((e.clientX - chart.getBoundingClientRect().left) / chart.clientWidth * tokens.length);
chart.addEventListener("click", e => choose(under(e)));
chart.addEventListener("mousemove", e => { const i = under(e); if (tokens[i]) show(i); });
chart.addEventListener("mouseleave", () => { if (chosen >= 0) show(chosen); });

for (const radio of document.querySelectorAll("input[name=by]")) {
  if (radio.checked) document.body.dataset.by = radio.value; // a reload keeps the choice
  radio.addEventListener("change", () => { document.body.dataset.by = radio.value; });
}
