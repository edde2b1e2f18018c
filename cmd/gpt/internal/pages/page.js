const data = JSON.parse(document.getElementById("data").textContent);
const {tokens, layers, heads} = data;
const byId = id => document.getElementById(id);
const kept = 8, entry = 3; // of each row of a long text
let {layer, head} = data;

// Attention.

const unpacked = [];
function packed(l, h) {
  const k = l * heads + h;
  return unpacked[k] ??= Uint8Array.from(atob(data.attention.heads[k]), c => c.charCodeAt(0));
}

// each calls found with the source and the byte of every weight that a head has for a token, but
// those that are 0. A byte is 255 times the square root.
function each(l, h, t, found) {
  const bytes = packed(l, h);
  if (!data.attention.sparse) {
    for (let s = 0, at = t * (t + 1) / 2; s <= t; s++) if (bytes[at + s]) found(s, bytes[at + s]);
    return;
  }
  for (let k = 0, at = t * kept * entry; k < kept; k++, at += entry) {
    if (bytes[at + 2]) found(bytes[at] + 256 * bytes[at + 1], bytes[at + 2]);
  }
}

// row returns these [source, weight], the largest first.
function row(l, h, t) {
  const found = [];
  each(l, h, t, (s, w) => found.push([s, (w / 255) ** 2]));
  return found.sort((a, b) => b[1] - a[1]);
}

// paint draws the square roots of the weights of a head, which small ones need to be seen, on a canvas
// of at most so many points a side. Where tokens share a point it shows the largest.
function paint(canvas, l, h, most) {
  const n = tokens.length, side = Math.min(n, most), colour = onPaper ? [11, 87, 208] : markColour();
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d"), image = context.createImageData(side, side);
  const place = i => Math.floor(i * side / n);
  for (let t = 0; t < n; t++) {
    each(l, h, t, (s, w) => {
      const at = 4 * (place(t) * side + place(s));
      image.data.set(colour, at);
      image.data[at + 3] = Math.max(image.data[at + 3], w);
    });
  }
  context.putImageData(image, 0, 0);
}

const grid = data.attention && new HeadGrid(byId("heads"), layers, heads, {
  paint: (canvas, l, h) => paint(canvas, l, h, 64), choose: showHead,
});
let onPaper = false; // where the page has the light colours, whatever the screen has
function paintAll() {
  grid.paint();
  paint(byId("triangle"), layer, head, 1024);
}

// The scores of heads: the mean weight on some tokens, over those that have one, [name, whether token
// s is one of token t's].
const same = (s, t) => s < t && tokens[s].id === tokens[t].id;
const scores = [
  ["the token before", (s, t) => s === t - 1], ["the first token", (s, t) => t > 0 && s === 0],
  ["themselves", (s, t) => t > 0 && s === t], ["earlier equal tokens", same],
  ["what came after those (induction)", (s, t) => s > 0 && same(s - 1, t)],
];

// mark marks each head with a score, and lists the best.
function mark([, wanted]) {
  const some = tokens.map((_, t) => tokens.slice(0, t + 1).flatMap((_, s) => wanted(s, t) ? [s] : [])); // of each token
  const count = some.filter(all => all.length > 0).length || 1;
  const all = grid.all.map((option, k) => {
    let sum = 0;
    some.forEach((list, t) => list.length > 0 && each(Math.floor(k / heads), k % heads, t, (s, w) => { if (wanted(s, t)) sum += (w / 255) ** 2; }));
    option.style.setProperty("--score", sum / count);
    return [k, sum / count];
  });
  byId("best").replaceChildren(...all.sort((a, b) => b[1] - a[1]).slice(0, 6).flatMap(([k, score]) => {
    const button = document.createElement("button");
    button.textContent = `${Math.floor(k / heads)}.${k % heads} ${score.toFixed(2)}`;
    button.addEventListener("click", () => chooseHead(Math.floor(k / heads), k % heads));
    return [button, " "];
  }));
}

// labels writes the tokens at both sides of the triangle, as many as there is room for.
function labels() {
  const every = Math.ceil(14 * tokens.length / (byId("triangle").clientWidth || 400));
  for (const [id, side] of [["across", "left"], ["down", "top"]]) {
    byId(id).replaceChildren(...tokens.flatMap(({text}, t) => {
      if (t % every) return [];
      const span = document.createElement("span");
      span.textContent = text;
      span.style[side] = 100 * (t + 0.5) / tokens.length + "%";
      return [span];
    }));
  }
}

function chooseHead(l, h) {
  if (grid) grid.choose(l, h);
  else showHead(Math.max(0, Math.min(layers - 1, l)), Math.max(0, Math.min(heads - 1, h)));
}

function showHead(l, h) {
  [layer, head] = [l, h];
  if (data.attention) {
    byId("head-name").textContent = `Layer ${layer}, head ${head}`;
    paint(byId("triangle"), layer, head, 1024);
    if (document.activeElement === byId("heads")) grid.chosen.scrollIntoView({block: "nearest"});
  }
  document.querySelectorAll("#attribution tr").forEach(tr =>
    tr.classList.toggle("chosen", tr.cells[0].textContent === `head ${layer}.${head}`));
  if (list.chosen >= 0) show(list.chosen);
}

// The token.

function show(t) {
  byId("d-token").textContent = tokens[t].text;
  byId("d-place").textContent = `token ${t} of 0 to ${tokens.length - 1}, id ${tokens[t].id}`;
  if (data.attention) showSources(t);
  if (data.lens) showLens(t);
  document.querySelectorAll(".grid .chosen, .heat .chosen").forEach(node => node.classList.remove("chosen"));
  document.querySelectorAll(`.heat th[data-at="${t}"]`).forEach(th => th.classList.add("chosen"));
  for (const tr of document.querySelectorAll(`.grid tr[data-at="${t}"]`)) {
    tr.classList.add("chosen");
    tr.cells[layer + 1].classList.add("chosen");
  }
}

function showSources(t) {
  const weights = row(layer, head, t), pieces = new Map();
  for (const [s, w] of weights) pieces.set(tokens[s].piece, (pieces.get(tokens[s].piece) ?? 0) + w);
  list.spans.forEach((span, p) => span.style.setProperty("--weight", Math.sqrt(pieces.get(p) ?? 0)));
  const top = weights.slice(0, 5);
  byId("d-sources").hidden = false;
  byId("d-head").textContent = `Layer ${layer}, head ${head} takes from`;
  bars(byId("d-sources").tBodies[0], top.map(([s, w]) => ({
    name: String(s), token: tokens[s].text, share: w, value: number(100 * w, 2) + "\u00a0%",
  })));
  byId("row").style.top = 100 * t / tokens.length + "%";
  byId("row").style.height = 100 / tokens.length + "%";
}

function showLens(t) {
  const known = t >= data.first;
  byId("d-lens").hidden = byId("d-lens-more").hidden = !known;
  if (!known) return;
  const cells = data.lens.map(all => all[t - data.first]);
  bars(byId("d-lens").tBodies[0], cells.map((c, l) => ({
    name: String(l), token: c.top[0][0], share: c.top[0][1], value: percent(c.top[0][1]),
    title: lensTitle(c), chosen: l === layer,
  })));
  byId("d-lens-more").textContent = `Layer ${layer}: ${lensTitle(cells[layer])}.`;
}

const lensTitle = cell => cell.top.map(([text, p]) => `${text} ${percent(p)}`).join(" · ") +
  `; entropy ${number(cell.entropy, 3)}, KL to the output ${number(cell.kl, 3)} nats` +
  (cell.rank === undefined ? "" : `; rank of ${data.target}: ${number(cell.rank, 6)}`);

function label(t) {
  const at = data.attention ? row(layer, head, t)[0] : undefined;
  return tokens[t].text + (at ? `: layer ${layer}, head ${head} takes ${percent(at[1])} from ${tokens[at[0]].text}` : "");
}

const list = new TokenList(byId("text"), tokens.map(t => t.piece), {choose: show, show, label});

// Views and keys.

function view(name) {
  if (!data.views.includes(name)) return;
  document.body.dataset.view = name;
  document.querySelector(`input[value=${name}]`).checked = true;
}

const step = by => list.choose(list.chosen < 0 ? 0 : list.chosen + by);
const keys = {
  ArrowRight: () => step(1), ArrowLeft: () => step(-1),
  ArrowDown: () => chooseHead(layer + 1, head), ArrowUp: () => chooseHead(layer - 1, head),
  "]": () => chooseHead(layer, head + 1), "[": () => chooseHead(layer, head - 1),
  Home: () => list.choose(0), End: () => list.choose(tokens.length - 1),
  a: () => view("attention"), l: () => view("lens"), d: () => view("attribution"), p: () => view("patch"),
  e: () => save(),
};
// In the list of heads arrows go from head to head, as in any list.
const inHeads = {
  ArrowRight: keys["]"], ArrowLeft: keys["["],
  Home: () => chooseHead(layer, 0), End: () => chooseHead(layer, heads - 1),
};
document.addEventListener("keydown", e => {
  const act = (e.target === byId("heads") && inHeads[e.key]) || keys[e.key];
  if (!act || e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.target.matches("input") && e.key.startsWith("Arrow")) return; // the choice of the view
  e.preventDefault();
  act();
});
for (const radio of document.querySelectorAll("input[name=view]")) {
  radio.addEventListener("change", () => view(radio.value));
}
document.querySelectorAll(".grid tr").forEach(tr => tr.addEventListener("click", e => {
  if (e.target.cellIndex > 0) layer = Math.min(layers - 1, e.target.cellIndex - 1);
  if (tr.dataset.at >= 0) list.choose(Number(tr.dataset.at));
  chooseHead(layer, head);
}));

// Heat maps: a click chooses the token and the head; of several pairs one can be shown.
const maps = [...document.querySelectorAll(".heat")];
for (const table of maps) table.addEventListener("click", e => {
  const at = e.target.closest("td, th"), name = at && /^(\d+)(?:\.(\d+))?/.exec(at.parentElement.cells[0].textContent);
  if (!at || at.cellIndex === 0) return;
  const token = Number(table.tHead.rows[0].cells[at.cellIndex].dataset.at);
  if (token >= 0) list.choose(token);
  if (name) chooseHead(Number(name[1]), Number(name[2] ?? (token < 0 ? at.cellIndex - 1 : head)));
});
byId("pair")?.addEventListener("change", e => {
  const {names: [names, others], shares} = data.pairs[e.target.selectedIndex];
  byId("other").textContent = others.join("").replaceAll("␣", " ");
  maps.forEach((table, m) => {
    const columns = [...table.tHead.rows[0].cells].slice(1);
    columns.forEach((th, t) => {
      if (th.dataset.at < 0) return;
      th.replaceChildren(...(names[t] === others[t] ? [names[t]] : [names[t], others[t]]).map((name, i) => {
        const span = document.createElement("span");
        span.textContent = name;
        if (i > 0) span.className = "other";
        return span;
      }));
    });
    [...table.tBodies[0].rows].forEach((tr, r) => columns.forEach((th, c) => {
      const td = tr.cells[c + 1], x = shares[m][r * columns.length + c] ?? 0;
      td.textContent = Math.abs(x) < 0.005 ? "" : x.toFixed(2).replace("-", "−");
      td.className = x < 0 ? "negative" : "";
      td.style.setProperty("--share", Math.min(1, Math.abs(x)));
      td.title = `${tr.cells[0].textContent}, ${th.dataset.at < 0 ? th.textContent : names[c]}: ${x.toFixed(4)}`;
    }));
  });
});
document.querySelectorAll("#attribution tr").forEach(tr => tr.addEventListener("click", () => {
  const at = /^head (\d+)\.(\d+)$/.exec(tr.cells[0].textContent);
  if (at) chooseHead(Number(at[1]), Number(at[2]));
}));
byId("export").addEventListener("click", () => save());

if (data.attention) {
  const box = byId("triangle").parentElement;
  const under = e => {
    const r = box.getBoundingClientRect(), n = tokens.length;
    return [(e.clientY - r.top) / r.height, (e.clientX - r.left) / r.width].map(x => Math.min(n - 1, Math.max(0, Math.floor(x * n))));
  };
  box.addEventListener("click", e => list.choose(under(e)[0]));
  box.addEventListener("mousemove", e => {
    const [t, s] = under(e), w = row(layer, head, t).find(([at]) => at === s)?.[1] ?? 0;
    byId("pointed").textContent = s > t ? "" : `${tokens[t].text} (${t}) from ${tokens[s].text} (${s}): ${number(w, 2)}`;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAll);
  for (const event of ["beforeprint", "afterprint"]) addEventListener(event, () => {
    onPaper = event === "beforeprint";
    paintAll();
  });
  paintAll();
  byId("score").append(...scores.map(([name]) => new Option(name)));
  byId("score").addEventListener("change", e => mark(scores[e.target.selectedIndex]));
  mark(scores[0]);
  byId("marks").hidden = false;
  new ResizeObserver(labels).observe(box);
}

// SVG: the view as a drawing for other documents.

const svgNS = "http://www.w3.org/2000/svg";
function draw(parent, name, properties, text) {
  const node = document.createElementNS(svgNS, name);
  for (const [key, value] of Object.entries(properties)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function drawing(width, height) {
  const svg = document.createElementNS(svgNS, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("font-family", "monospace");
  svg.setAttribute("font-size", 10);
  return svg;
}

const blue = "#0b57d0", red = "#b3261e";

// drawTriangle draws the chosen head, with the tokens on both sides.
function drawTriangle() {
  const n = tokens.length, size = n > 100 ? 4 : 14, edge = 90;
  const svg = drawing(edge + n * size + 10, edge + n * size + 10);
  tokens.forEach(({text}, t) => {
    const y = edge + t * size;
    if (size > 10) {
      draw(svg, "text", {x: edge - 4, y: y + 10, "text-anchor": "end"}, text.slice(0, 14));
      draw(svg, "text", {transform: `translate(${y + 10} ${edge - 4}) rotate(-90)`}, text.slice(0, 14));
    }
    for (const [s, w] of row(layer, head, t)) {
      if (w > 0.0004) draw(svg, "rect", {x: edge + s * size, y, width: size, height: size, fill: blue, "fill-opacity": number(Math.sqrt(w), 2)});
    }
  });
  draw(svg, "text", {x: 4, y: 14}, `${layer}.${head}`);
  return svg;
}

// drawGrid draws the table of a view as it stands in the page.
function drawGrid(table) {
  const rows = [...table.rows], width = 84, height = 16;
  const svg = drawing(rows.length * width + 30, rows[0].cells.length * height + 4);
  rows.forEach((tr, c) => [...tr.cells].forEach((td, r) => {
    const x = 26 + c * width, y = r * height, share = td.style.getPropertyValue("--share");
    if (r > 0) draw(svg, "rect", {x, y, width: width - 1, height: height - 1, fill: td.classList.contains("negative") ? red : blue, "fill-opacity": 0.4 * share});
    if (c === 0 && r > 0) draw(svg, "text", {x: 2, y: y + 11}, String(r - 1));
    draw(svg, "text", {x: x + 2, y: y + 11, "font-weight": r === 0 ? "bold" : "normal"}, td.textContent.slice(0, 13));
  }));
  return svg;
}

// drawMaps draws the heat maps, one below the other.
function drawMaps() {
  const width = 34, height = 16, edge = 96, widest = Math.max(...maps.map(table => table.tHead.rows[0].cells.length));
  const svg = drawing(edge + widest * width, maps.reduce((sum, table) => sum + edge + 24 + table.tBodies[0].rows.length * height, 0));
  let y = 0;
  for (const table of maps) {
    draw(svg, "text", {x: 2, y: y + 14, "font-weight": "bold"}, table.caption.textContent);
    y += edge + 20;
    [...table.tHead.rows[0].cells].slice(1).forEach((th, c) => draw(svg, "text", {transform: `translate(${edge + c * width + 20} ${y - 4}) rotate(-90)`},
      [...th.children].map(span => span.textContent).join(" / ").slice(0, 15)));
    for (const tr of table.tBodies[0].rows) {
      [...tr.cells].forEach((td, c) => {
        const x = c === 0 ? 2 : edge + (c - 1) * width, share = td.style.getPropertyValue("--share");
        if (c > 0) draw(svg, "rect", {x, y, width: width - 1, height: height - 1, fill: td.classList.contains("negative") ? red : blue, "fill-opacity": 0.4 * share});
        if (td.textContent) draw(svg, "text", {x: x + 2, y: y + 11}, td.textContent.slice(0, 15));
      });
      y += height;
    }
    y += 4;
  }
  return svg;
}

// drawBars draws the contributions.
function drawBars() {
  const most = Math.max(...data.parts.map(([, x]) => Math.abs(x)), 1e-9);
  const svg = drawing(460, data.parts.length * 14 + 4);
  data.parts.forEach(([name, x], i) => {
    const long = 150 * Math.abs(x) / most;
    draw(svg, "text", {x: 80, y: i * 14 + 11, "text-anchor": "end"}, name);
    draw(svg, "rect", {x: x < 0 ? 240 - long : 240, y: i * 14 + 2, width: long, height: 10, fill: x < 0 ? red : blue});
    draw(svg, "text", {x: 400, y: i * 14 + 11}, x.toFixed(3));
  });
  return svg;
}

function picture() {
  switch (document.body.dataset.view) {
    case "attention": return [`attention-${layer}.${head}`, drawTriangle()];
    case "attribution": return ["contributions", drawBars()];
    case "patch": return ["patch", drawMaps()];
    default: return [document.body.dataset.view, drawGrid(document.querySelector(`#${document.body.dataset.view} table`))];
  }
}

function save() {
  const [name, svg] = picture();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], {type: "image/svg+xml"}));
  link.download = name + ".svg";
  link.click();
  URL.revokeObjectURL(link.href);
}

chooseHead(layer, head);
list.choose(data.at);
