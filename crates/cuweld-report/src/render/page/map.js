/* ---------- treemap: input, template, instance ---------- */
function hierarchy(a) {
  if (a.root) return a.root;
  const root = { name: a.name, children: new Map(), size: 0 };
  const into = (parent, key, name) => {
    if (!parent.children.has(key)) parent.children.set(key, { name, children: new Map(), size: 0, parent });
    return parent.children.get(key);
  };
  for (const f of a.functions) {
    if (!f.code) continue;
    const place = a.images.length > 1 || a.link ? into(root, a.link ? "i" + f.input : f.image, origin(a, f) || "made by the linker") : root;
    const template = into(place, f.template, f.template);
    const leaf = { name: shortName(f), f, size: f.code, parent: template };
    template.children.set(f.index, leaf);
    for (let up = template; up; up = up.parent) up.size += f.code;
  }
  const tidy = (node) => {
    if (!node.children) return;
    node.children = [...node.children.values()].sort((x, y) => y.size - x.size);
    node.children.forEach(tidy);
    // A level with one thing in it says nothing.
    node.children = node.children.map((child) => child.children && child.children.length === 1 && !child.f ? Object.assign(child.children[0], { parent: node }) : child);
    node.registers = Math.max(0, ...node.children.map((child) => child.f ? child.f.registers : child.registers));
  };
  tidy(root);
  return a.root = root;
}

// Squarified: rows of rectangles, each as square as can be.
function squarify(children, box, place) {
  let { x, y, w, h } = box, at = 0;
  let left = sum(children, (c) => c.size);
  while (at < children.length && left > 0 && w > 0.5 && h > 0.5) {
    const short = Math.min(w, h), scale = w * h / left;
    let end = at, row = 0, worst = Infinity;
    while (end < children.length) {
      const next = row + children[end].size, side = next * scale / short;
      const ratio = Math.max(side / (children[end].size * scale / side), (children[at].size * scale / side) / side);
      if (end > at && ratio > worst) break;
      worst = ratio; row = next; end++;
    }
    const thick = row * scale / short;
    let along = 0;
    for (; at < end; at++) {
      const long = children[at].size * scale / thick;
      place(children[at], w >= h ? { x, y: y + along, w: thick, h: long } : { x: x + along, y, w: long, h: thick });
      along += long;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    left -= row;
  }
}

function treemap(canvas, crumbs, a) {
  const HEAD = 17, dark = () => document.documentElement.dataset.theme === "dark";
  let node = hierarchy(a), rects = [], chosen = -1;
  const context = canvas.getContext("2d");
  function color(item) {
    const f = item.f;
    const registers = f ? f.registers : item.registers;
    if (state.color === "template") {
      let hash = 0;
      for (const letter of f ? f.template : item.name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
      return `hsl(${hash % 360} ${dark() ? "38% 34%" : "52% 74%"})`;
    }
    // From cool, few registers or many warps, to warm.
    let heat = Math.max(0, Math.min(1, (registers - 16) / 184));
    if (state.color === "occupancy") {
      const share = f ? occupancy(a, f, state.block) : undefined;
      if (share === undefined) return dark() ? "#3a4654" : "#ccd5df";
      heat = 1 - share;
    }
    return `hsl(${Math.round(212 - 204 * heat)} ${dark() ? "45% 34%" : "62% 73%"})`;
  }
  function layout(item, box, depth) {
    rects.push({ item, ...box, depth });
    if (!item.children || depth >= 3 || box.w < 24 || box.h < 30) return;
    const inside = depth ? { x: box.x + 2, y: box.y + HEAD, w: box.w - 4, h: box.h - HEAD - 2 } : box;
    if (inside.w < 6 || inside.h < 6) return;
    squarify(item.children, inside, (child, place) => layout(child, place, depth + 1));
  }
  function label(rect) {
    const { item, x, y, w, h } = rect;
    if (w < 46 || h < 15) return;
    context.save();
    context.beginPath(); context.rect(x + 3, y, w - 6, h); context.clip();
    context.fillText(item.name, x + 5, y + 12.5);
    if (h > 34 && !open(rect)) { context.globalAlpha = 0.75; context.fillText(item.f ? item.f.registers + " registers, " + bytes(item.size) : bytes(item.size), x + 5, y + 27); }
    context.restore();
  }
  const open = (rect) => rect.item.children && rect.depth < 3 && rect.depth > 0 && rect.w >= 24 && rect.h >= 30;
  function draw() {
    const width = canvas.clientWidth || 600, height = Math.max(260, Math.min(560, Math.round(width * 0.52)));
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px system-ui, sans-serif";
    rects = [];
    layout(node, { x: 0, y: 0, w: width, h: height }, 0);
    const ink = dark() ? "#f2f5f8" : "#10202f", paper = getComputedStyle(document.documentElement).getPropertyValue("--card");
    for (const rect of rects.slice(1)) {
      context.fillStyle = open(rect) ? (dark() ? "#212b37" : "#e9eef4") : color(rect.item);
      context.fillRect(rect.x, rect.y, rect.w, rect.h);
      context.strokeStyle = paper; context.lineWidth = rect.depth === 1 ? 2 : 1;
      context.strokeRect(rect.x, rect.y, rect.w, rect.h);
      context.fillStyle = ink;
      label(rect);
    }
    const mark = rects[chosen];
    if (mark) { context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent"); context.lineWidth = 3; context.strokeRect(mark.x + 1.5, mark.y + 1.5, mark.w - 3, mark.h - 3); }
    const path = [];
    for (let up = node; up; up = up.parent) path.unshift(up);
    crumbs.replaceChildren(...path.flatMap((step, at) => [at ? el("span", { class: "soft" }, " › ") : "",
      step === node ? el("b", {}, step.name) : el("button", { type: "button", onclick: () => zoom(step) }, step.name)]), el("span", { class: "soft" }, "  " + bytes(node.size)));
  }
  function zoom(to) {
    if (to.f) { location.hash = link(to.f); return; }
    node = to; chosen = -1; tip.hidden = true;
    draw();
  }
  const under = (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    for (let at = rects.length - 1; at > 0; at--) { const r = rects[at]; if (x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h) return at; }
    return -1;
  };
  canvas.addEventListener("mousemove", (event) => {
    const rect = rects[under(event)];
    tip.hidden = !rect;
    if (!rect) return;
    const f = rect.item.f;
    tip.textContent = rect.item.name + " · " + bytes(rect.item.size) + " · " + percent(rect.item.size, hierarchy(a).size) + (f ? " · " + f.registers + " registers" : " · " + plural(rect.item.children.length, "part", "parts"));
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)) + "px";
  });
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => { const rect = rects[under(event)]; if (rect) zoom(rect.item); });
  canvas.addEventListener("keydown", (event) => {
    const firsts = rects.map((rect, at) => at).filter((at) => rects[at].depth === 1);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) { const at = firsts.indexOf(chosen); chosen = firsts[(at + step + firsts.length) % firsts.length]; draw(); }
    else if (event.key === "Enter" && rects[chosen]) zoom(rects[chosen].item);
    else if (event.key === "Backspace" && node.parent) zoom(node.parent);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => canvas.isConnected && draw()).observe(canvas.parentElement);
  draw();
  treemap.now = { draw, zoom, node: () => node, rects: () => rects };
  return treemap.now;
}

/* ---------- where we are ---------- */
const VIEWS = [
  ["", "Overview", overview, () => true],
  ["kernels", "Kernels", table, () => true],
  ["removed", "Removed", removedPage, (a) => a.link],
  ["duplicates", "Duplicates", duplicatesPage, (a) => a.duplicates.length],
  ["variables", "Variables", variablesPage, (a) => a.variables.length],
  ["files", "Files", filesPage, () => true],
];
function route() {
  tip.hidden = true;
  if (!archs.length) { show(el("div", { class: "empty" }, "There is no machine code in these files.")); return; }
  const [, word = "", first, second] = location.hash.split("/");
  if (word === "function" && archs[Number(first)]) { state.arch = Number(first); $("architecture").value = String(state.arch); }
  const a = prepare(arch());
  $("tabs").replaceChildren(...VIEWS.filter((view) => view[3](a)).map(([name, text]) => el("a", { href: "#/" + name, "aria-current": (name === word || (word === "function" && name === "kernels")) && "page" }, text)));
  if (word === "function") return functionPage(Number(second));
  const view = VIEWS.find((candidate) => candidate[0] === word && candidate[3](a)) || VIEWS[0];
  view[2]();
}
let waiting = 0;
$("search").addEventListener("input", (event) => {
  state.query = event.target.value;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const word = location.hash.split("/")[1] || "";
    if (word === "kernels") table.refresh();
    else if (["duplicates", "variables", "files", "removed"].includes(word)) route();
    else location.hash = "#/kernels";
  }, 10);
});
$("search").addEventListener("keydown", (event) => { if ((event.key === "ArrowDown" || event.key === "Enter") && table.first && location.hash === "#/kernels") { event.preventDefault(); table.first(); } });
$("architecture").append(...archs.map((a, at) => el("option", { value: at }, a.name)));
$("architecture").addEventListener("change", (event) => { state.arch = Number(event.target.value); if (location.hash.startsWith("#/function")) location.hash = "#/kernels"; else route(); });
function theme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("cuweld-theme", name); } catch { /* from disk, some browsers keep nothing */ }
  if (treemap.now && document.querySelector("canvas")) treemap.now.draw();
}
let kept = null;
try { kept = localStorage.getItem("cuweld-theme"); } catch { /* likewise */ }
document.documentElement.dataset.theme = kept || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
$("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape") { if (typing) event.target.blur(); else if (location.hash.startsWith("#/function")) history.length > 1 ? history.back() : location.hash = "#/kernels"; return; }
  if (typing) return;
  if (event.key === "/") { event.preventDefault(); $("search").focus(); $("search").select(); }
  else if (event.key === "t") $("theme").click();
  else if (/^[1-9]$/.test(event.key)) { const tab = $("tabs").children[Number(event.key) - 1]; if (tab) location.hash = tab.getAttribute("href"); }
});
window.addEventListener("hashchange", route);
// The architecture with most code first: what people came for.
if (archs.length) { state.arch = archs.reduce((best, a, at) => sum(a.images, (i) => i.stored) > sum(archs[best].images, (i) => i.stored) ? at : best, 0); $("architecture").value = String(state.arch); }
route();
