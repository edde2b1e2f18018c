const data = JSON.parse(document.getElementById("data").textContent);
const tokens = data.tokens;
const text = document.getElementById("text");
const marker = document.getElementById("marker");

// show fills in the panel for token i; what is chosen does not change.
function show(i) {
  const t = tokens[i];
  const field = name => document.getElementById("d-" + name);
  field("token").textContent = t.text;
  field("place").textContent = `token ${i} of 0 to ${tokens.length - 1}, id ${t.id}`;
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

const list = new TokenList(text, tokens.map(t => t.piece), {
  choose(i) {
    marker.setAttribute("d", `M${i + 0.5} 0V100`);
    show(i);
  }, show, label,
});

// surprising finds the next token of one of the two highest levels.
function surprising(direction) {
  for (let i = list.chosen + direction; i >= 0 && i < tokens.length; i += direction) {
    const c = list.span(i).classList, by = document.body.dataset.by[0];
    if (c.contains(by + 3) || c.contains(by + 4)) return i;
  }
  return list.chosen;
}

const keys = {
  ArrowRight: () => list.chosen + 1, ArrowLeft: () => list.chosen - 1,
  ArrowDown: () => list.line(1), ArrowUp: () => list.line(-1),
  Home: () => 0, End: () => tokens.length - 1, PageDown: () => list.chosen + 50, PageUp: () => list.chosen - 50,
  n: () => surprising(1), p: () => surprising(-1),
};
text.addEventListener("keydown", e => {
  const to = keys[e.key];
  if (!to || e.ctrlKey || e.altKey || e.metaKey) return;
  e.preventDefault();
  list.choose(list.chosen < 0 ? 0 : to());
});

const chart = document.getElementById("chart");
const under = e => Math.floor((e.clientX - chart.getBoundingClientRect().left) / chart.clientWidth * tokens.length);
chart.addEventListener("click", e => list.choose(under(e)));
chart.addEventListener("mousemove", e => { const i = under(e); if (tokens[i]) show(i); });
chart.addEventListener("mouseleave", () => { if (list.chosen >= 0) show(list.chosen); });

for (const radio of document.querySelectorAll("input[name=by]")) {
  if (radio.checked) document.body.dataset.by = radio.value; // a reload keeps the choice
  radio.addEventListener("change", () => { document.body.dataset.by = radio.value; });
}
