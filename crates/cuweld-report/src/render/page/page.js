"use strict";
// The report is in the page. Names come from strangers: they are only ever set as text, never as markup.
const report = JSON.parse(document.getElementById("report").textContent);
const $ = (id) => document.getElementById(id);
const main = $("main"), tip = $("tip");
const BLOCK = 256;
const state = { arch: 0, sort: "code", down: true, query: "", kind: "kernel", block: BLOCK, color: "registers", zoom: [] };

/* ---------- building elements ---------- */
function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key === "style") made.style.cssText = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    made.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
  return made;
}
const show = (...children) => { main.replaceChildren(...children.flat(Infinity).filter(Boolean)); };

/* ---------- numbers ---------- */
const thousands = new Intl.NumberFormat("en-US");
const count = (n) => thousands.format(n);
const plural = (n, one, many) => count(n) + " " + (n === 1 ? one : many);
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0, size = n;
  while (size >= 999.5 && unit < 4) { size /= 1024; unit++; }
  return (unit === 0 || size >= 99.95 ? size.toFixed(0) : size >= 9.995 ? size.toFixed(1) : size.toFixed(2)) + " " + units[unit];
}
const percent = (part, whole) => (whole ? (100 * part / whole).toFixed(1) : "0") + " %";

/* ---------- what is asked of the report ---------- */
const archs = report.architectures;
const arch = () => archs[state.arch];
const sum = (list, of) => list.reduce((total, item) => total + (of(item) || 0), 0);
function prepare(a) {
  if (a.ready) return a;
  a.ready = true;
  a.variables ||= []; a.duplicates ||= []; a.prototypes ||= []; a.block_sizes ||= [];
  a.functions.forEach((f, i) => { f.index = i; f.text = (f.demangled + "\n" + f.name).toLowerCase(); });
  a.kernels = a.functions.filter((f) => f.kind === "kernel");
  a.most = Math.max(1, ...[0].concat(a.kernels.length < 50000 ? a.kernels.map((f) => f.registers) : [255]));
  return a;
}
const callees = (a, f) => (f.calls || []).map((i) => [i, false])
  .concat((f.indirect_calls || []).flatMap((p) => a.prototypes[p] || []).map((i) => [i, true]));
function callers(a) {
  if (!a.callers) {
    a.callers = new Map();
    for (const f of a.functions) for (const [i] of callees(a, f)) {
      if (!a.callers.has(i)) a.callers.set(i, []);
      a.callers.get(i).push(f.index);
    }
  }
  return a.callers;
}
const warps = (a, f, block) => { const at = a.block_sizes.indexOf(block); return f.warps && at >= 0 ? f.warps[at] : undefined; };
const occupancy = (a, f, block) => { const w = warps(a, f, block); return w === undefined || !a.limits ? undefined : w / a.limits.warps; };
const stack = (f) => f.stack === undefined ? "unknown" : count(f.stack);
const origin = (a, f) => {
  if (f.input !== undefined && a.link) return (a.link.inputs[f.input] || {}).name || "";
  const image = a.images[f.image];
  const file = report.files[image.file];
  return image.member || image.name || (a.images.length > 1 ? "cubin " + f.image + (image.relocatable ? " (object)" : "") : file ? file.name.split("/").pop() : "cubin");
};
const shortName = (f) => f.arguments ? f.template + "<" + f.arguments + ">" : f.template;
const nameParts = (f) => [f.template, f.arguments ? el("em", {}, "<" + f.arguments + ">") : null];
const link = (f) => "#/function/" + state.arch + "/" + f.index;
const fileName = () => report.files.length === 1 ? report.files[0].name.split("/").pop() : plural(report.files.length, "file", "files");

/* ---------- views ---------- */
const COLORS = ["code", "constants", "data", "debug", "mercury", "symbols", "relocations", "attributes", "other"];
function partsOf(a) {
  const parts = {};
  for (const name of COLORS) parts[name] = sum(a.images, (image) => image.parts[name]);
  return parts;
}
const card = (value, what, title) => el("div", { class: "card", title }, el("b", {}, value), el("span", {}, what));

function overview() {
  const a = arch();
  const parts = partsOf(a), total = sum(COLORS, (name) => parts[name]);
  const waste = sum(a.duplicates, (d) => d.waste);
  const bar = el("div", { class: "bar", role: "img", "aria-label": "What the bytes are" }, COLORS.map((name, i) =>
    parts[name] > 0 && el("i", { style: `width:${100 * parts[name] / total}%;background:var(--p${i})`, title: name + " " + bytes(parts[name]) })));
  const legend = el("div", { class: "legend" }, COLORS.map((name, i) => parts[name] > 0 &&
    el("span", {}, el("i", { style: `background:var(--p${i})` }), name + " ", el("span", { class: "soft" }, bytes(parts[name]) + ", " + percent(parts[name], total)))));
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Treemap of code sizes; arrows move, Enter zooms in, Backspace zooms out" });
  const crumbs = el("div", { class: "crumbs" });
  const color = el("select", { "aria-label": "Color", onchange: (e) => { state.color = e.target.value; map.draw(); } },
    [["registers", "color: registers"], ["occupancy", "color: occupancy"], ["template", "color: template"]].map(([value, text]) =>
      el("option", { value, selected: value === state.color }, text)));
  const hungry = [...a.kernels].sort((x, y) => y.registers - x.registers || y.code - x.code)[0];
  show(
    el("h1", {}, fileName() + " · " + a.name),
    el("div", { class: "soft" }, plural(a.kernels.length, "kernel", "kernels") + ", " +
      plural(a.functions.length - a.kernels.length, "other function", "other functions") + " in " + plural(a.images.length, "cubin", "cubins")),
    el("div", { class: "cards" },
      card(bytes(sum(a.images, (i) => i.stored)), "in the file", "packed"),
      card(bytes(total), "unpacked"),
      card(bytes(parts.code), "machine code"),
      card(hungry ? hungry.registers : 0, "registers at most"),
      card(bytes(Math.max(0, ...a.kernels.map((f) => f.shared || 0))), "shared memory at most"),
      card(bytes(waste), "same code again")),
    el("div", { class: "panel" }, bar, legend),
    el("h2", {}, "Code by input, template and instance"),
    el("div", { class: "panel map" }, el("div", { class: "maphead" }, crumbs, color), canvas),
    blamePanel(a));
  const map = treemap(canvas, crumbs, a);
}

// The functions that force most kernels to have more registers.
function blamePanel(a) {
  const blamed = new Map();
  for (const f of a.kernels) if (f.registers_path && f.registers_path.length > 1) {
    const last = f.registers_path[f.registers_path.length - 1];
    blamed.set(last, (blamed.get(last) || 0) + 1);
  }
  if (!blamed.size) return null;
  const rows = [...blamed].sort((x, y) => y[1] - x[1]).slice(0, 12).map(([index, kernels]) => {
    const f = a.functions[index];
    return el("tr", {}, el("td", { class: "mono" }, el("a", { href: link(f) }, nameParts(f))), el("td", { class: "num" }, f.registers), el("td", { class: "num" }, count(kernels)));
  });
  return [el("h2", {}, "Who forces registers"), el("div", { class: "panel" }, el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, el("th", {}, "function"), el("th", { class: "num" }, "registers"), el("th", { class: "num" }, "kernels that need as many"))), el("tbody", {}, rows)))];
}

const COLUMNS = [
  ["name", "Name", (a, f) => f.demangled],
  ["registers", "Registers", (a, f) => f.registers],
  ["stack", "Stack", (a, f) => f.stack === undefined ? Infinity : f.stack],
  ["shared", "Shared", (a, f) => f.shared || 0],
  ["warps", "Occupancy", (a, f) => { const o = occupancy(a, f, state.block); return o === undefined ? -1 : o; }],
  ["code", "Code", (a, f) => f.code],
];
const ROWS_BEFORE = 12;

function selected(a) {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const from = state.kind === "kernel" ? a.kernels : a.functions;
  const found = words.length ? from.filter((f) => words.every((word) => f.text.includes(word))) : from.slice();
  const key = COLUMNS.find((column) => column[0] === state.sort)[2];
  const keys = new Map(found.map((f) => [f, key(a, f)]));
  const compare = state.sort === "name" ? (x, y) => keys.get(x) < keys.get(y) ? -1 : keys.get(x) > keys.get(y) ? 1 : 0 : (x, y) => keys.get(x) - keys.get(y);
  found.sort((x, y) => (state.down ? compare(y, x) : compare(x, y)) || x.index - y.index);
  return found;
}

function table() {
  const a = arch();
  const info = el("span", { class: "soft" });
  const kind = el("select", { "aria-label": "Which functions", onchange: (e) => { state.kind = e.target.value; fill(); } },
    [["kernel", "kernels"], ["all", "all functions"]].map(([value, text]) => el("option", { value, selected: value === state.kind }, text)));
  const block = el("select", { "aria-label": "Block size", onchange: (e) => { state.block = Number(e.target.value); fill(); } },
    a.block_sizes.map((size) => el("option", { value: size, selected: size === state.block }, "blocks of " + size)));
  const head = el("div", { class: "row head", role: "row" });
  const space = el("div", {}), scroll = el("div", { class: "scroll", role: "grid", "aria-label": "Kernels" }, space);
  let found = [], height = 34;
  function fill() {
    found = selected(a);
    info.textContent = (state.kind === "kernel" ? plural(found.length, "kernel", "kernels") : plural(found.length, "function", "functions")) + ", " + bytes(sum(found, (f) => f.code)) + " of code";
    head.replaceChildren(...COLUMNS.map(([key, text]) => {
      const on = key === state.sort;
      return el("span", {}, el("button", { type: "button", "aria-sort": on && (state.down ? "descending" : "ascending"), onclick: () => sortBy(key) }, text + (on ? (state.down ? " ↓" : " ↑") : "")));
    }));
    height = matchMedia("(max-width: 720px)").matches ? 60 : 34;
    space.style.cssText = `height:${found.length * height}px;position:relative`;
    scroll.scrollTop = 0;
    draw();
  }
  function sortBy(key) {
    if (state.sort === key) state.down = !state.down; else { state.sort = key; state.down = key !== "name"; }
    fill();
  }
  function draw() {
    const first = Math.max(0, Math.floor(scroll.scrollTop / height) - ROWS_BEFORE);
    const last = Math.min(found.length, first + Math.ceil(scroll.clientHeight / height) + 2 * ROWS_BEFORE);
    const rows = [];
    for (let at = first; at < last; at++) rows.push(row(a, found[at], at * height, at));
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.at : undefined;
    space.replaceChildren(...rows);
    if (!found.length) space.replaceChildren(el("div", { class: "empty" }, "Nothing has such a name."));
    if (focused !== undefined) { const again = space.querySelector(`[data-at="${Number(focused)}"]`); if (again) again.focus({ preventScroll: true }); }
  }
  scroll.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  scroll.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (!step || !event.target.dataset || event.target.dataset.at === undefined) return;
    event.preventDefault();
    moveTo(Number(event.target.dataset.at) + step);
  });
  function moveTo(at) {
    at = Math.min(found.length - 1, Math.max(0, at));
    const top = at * height;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    if (top + height > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + height - scroll.clientHeight;
    draw();
    const target = space.querySelector(`[data-at="${at}"]`);
    if (target) target.focus({ preventScroll: true });
  }
  table.refresh = fill;
  table.first = () => moveTo(0);
  show(el("div", { class: "tablehead" }, el("h1", {}, "Kernels · " + a.name), info, el("span", { style: "flex:1" }), kind, a.block_sizes.length > 0 && block),
    el("div", { class: "grid" }, head, scroll));
  fill();
}

function row(a, f, top, at) {
  const share = occupancy(a, f, state.block);
  const meter = (value) => el("span", { class: "meter" }, el("i", { style: `width:${Math.round(100 * value)}%` }));
  return el("a", { class: "row", href: link(f), "data-at": at, style: `position:absolute;left:0;right:0;top:${top}px`, title: f.demangled },
    el("span", { class: "name" }, nameParts(f)),
    el("span", {}, f.registers + (f.registers_path ? " ↑" : "")),
    el("span", {}, stack(f) + (f.stack === undefined ? "" : " B")),
    el("span", {}, bytes(f.shared || 0)),
    el("span", {}, share === undefined ? "–" : [meter(share), Math.round(100 * share) + " %"]),
    el("span", {}, bytes(f.code)));
}

function chain(a, path, number, blamed) {
  const steps = [];
  path.forEach((index, at) => {
    const f = a.functions[index];
    if (at) steps.push(el("span", { class: "arrow" }, "→"));
    steps.push(el("div", { class: "step" + (blamed(index, at) ? " blame" : "") }, el("b", {}, number(f, at)), el("a", { class: "mono", href: link(f) }, nameParts(f))));
  });
  return el("div", { class: "chain" }, steps);
}

function callTree(a, f, list, label) {
  const node = (index, pointer, seen) => {
    const g = a.functions[index];
    const next = list(g);
    const loops = seen.includes(index);
    const item = el("li", {});
    const inner = el("ul", { class: "tree", hidden: true });
    const open = el("button", { type: "button", "aria-expanded": "false", "aria-label": "Show " + label, onclick: () => {
      if (!inner.childElementCount) inner.append(...next.slice(0, 200).map(([i, p]) => node(i, p, seen.concat(index))), ...(next.length > 200 ? [el("li", { class: "soft" }, "… " + count(next.length - 200) + " more")] : []));
      inner.hidden = !inner.hidden;
      open.textContent = inner.hidden ? "▸" : "▾";
      open.setAttribute("aria-expanded", String(!inner.hidden));
    } }, "▸");
    item.append(next.length && !loops ? open : el("button", { type: "button", disabled: true }, "·"),
      el("a", { class: "mono", href: link(g) }, nameParts(g)), " ",
      el("span", { class: "soft" }, [pointer && "through a pointer", loops && "again: a recursion", g.kind === "external" ? "not defined here" : g.registers + " registers" + (g.frame ? ", frame " + g.frame : "") + ", " + bytes(g.code)].filter(Boolean).join(", ")), inner);
    return item;
  };
  const first = list(f);
  if (!first.length) return null;
  return el("ul", { class: "tree top" }, first.slice(0, 200).map(([i, p]) => node(i, p, [f.index])), first.length > 200 && el("li", { class: "soft" }, "… " + count(first.length - 200) + " more"));
}

function functionPage(index) {
  const a = arch(), f = a.functions[index];
  if (!f) return show(el("div", { class: "empty" }, "There is no such function."));
  const image = a.images[f.image];
  const size = (d) => d ? d.join(" × ") : undefined;
  const best = f.warps && a.limits ? Math.max(...f.warps) / a.limits.warps : undefined;
  const same = a.duplicates.find((d) => d.functions.includes(index));
  const siblings = a.functions.filter((g) => g.template === f.template && g.index !== index && g.kind === f.kind);
  const shared = a.variables.filter((v) => v.owner === index && v.memory === "shared");
  const facts = [
    ["Symbol", el("span", { class: "mono" }, f.name)],
    ["From", origin(a, f) + (report.files.length > 1 ? " in " + report.files[image.file].name : "") + (image.relocatable ? ", an object still to be linked" : "")],
    ["Why it stays", f.reason],
    ["Launch bounds", [f.required_threads && "blocks of " + size(f.required_threads), f.max_threads && "blocks up to " + size(f.max_threads), f.cluster && "clusters of " + size(f.cluster), f.max_registers && "at most " + f.max_registers + " registers"].filter(Boolean).join(", ")],
    ["Constants", (f.constants || []).map((c) => "bank " + c.bank + ": " + bytes(c.bytes)).join(", ")],
    ["Parameters", f.parameters ? bytes(f.parameters) : ""],
    ["Barriers", f.barriers || ""],
    ["Shared variables", shared.map((v) => v.demangled + " " + (v.bytes ? bytes(v.bytes) : "dynamic")).join(", ")],
  ].filter(([, value]) => value);
  const calls = callTree(a, f, (g) => callees(a, g), "what it calls");
  const above = callTree(a, f, (g) => (callers(a).get(g.index) || []).map((i) => [i, false]), "who calls it");
  const noun = f.kind === "kernel" ? "Kernel" : f.kind === "external" ? "Function from outside" : "Function";
  show(
    el("div", { class: "soft" }, el("a", { href: "#/kernels" }, "← all kernels"), " · " + noun + " · " + a.name),
    el("h1", { class: "mono", style: "font-size:17px" }, f.demangled),
    el("div", { class: "cards" },
      card(f.registers, "registers" + (f.own_registers !== undefined && f.own_registers !== f.registers ? ", " + f.own_registers + " of its own" : "")),
      card(stack(f), "bytes of stack" + (f.frame ? ", " + f.frame + " of its own" : "")),
      f.kind === "kernel" && card(bytes(f.shared || 0), "static shared memory"),
      best !== undefined && card(Math.round(100 * best) + " %", "occupancy at best"),
      card(bytes(f.code), "code")),
    f.registers_path && [el("h2", {}, "Who forces the registers"), el("div", { class: "panel" },
      chain(a, f.registers_path, (g) => (g.own_registers === undefined ? "own: not in the file" : g.own_registers + " registers"), (i, at) => at === f.registers_path.length - 1))],
    f.stack_path && [el("h2", {}, "Where the stack goes"), el("div", { class: "panel" },
      chain(a, f.stack_path, (g) => (g.frame || 0) + " bytes", (i) => a.functions[i].frame === Math.max(...f.stack_path.map((j) => a.functions[j].frame || 0))),
      el("div", { class: "soft" }, f.stack_path.map((i) => a.functions[i].frame || 0).join(" + ") + " = " + f.stack))],
    f.cycle && [el("h2", {}, "Why the stack is not known"), el("div", { class: "panel" }, chain(a, f.cycle, () => "calls", () => false), el("div", { class: "soft" }, "and back: a recursion"))],
    el("div", { class: "two" },
      el("div", {}, el("h2", {}, "Facts"), el("div", { class: "panel" }, el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])))),
      f.warps && a.limits && el("div", {}, el("h2", {}, "Occupancy by block size"), el("div", { class: "panel" },
        el("div", { class: "occ" }, a.block_sizes.map((block, at) => { const share = f.warps[at] / a.limits.warps;
          return el("div", { title: f.warps[at] + " of " + a.limits.warps + " warps" }, el("b", {}, share ? Math.round(100 * share) + " %" : "–"), el("i", { style: `height:${Math.round(76 * share)}%` }), block); }))))),
    calls && [el("h2", {}, "Calls"), el("div", { class: "panel" }, calls)],
    above && [el("h2", {}, "Called by"), el("div", { class: "panel" }, above)],
    same && [el("h2", {}, "Same code"), el("div", { class: "panel" }, el("ul", { class: "tree top" }, same.functions.filter((i) => i !== index).slice(0, 100).map((i) => el("li", {}, el("a", { class: "mono", href: link(a.functions[i]) }, nameParts(a.functions[i])), " ", el("span", { class: "soft" }, origin(a, a.functions[i]))))))],
    siblings.length > 0 && [el("h2", {}, f.arguments ? plural(siblings.length, "other instance", "other instances") + " of the template" : plural(siblings.length, "other", "others") + " of this name"), el("div", { class: "panel" }, el("table", { class: "plain" }, el("tbody", {}, siblings.slice(0, 100).map((g) =>
      el("tr", {}, el("td", { class: "mono" }, el("a", { href: link(g) }, g.arguments || g.demangled), " ", el("span", { class: "soft" }, a.images.length > 1 && origin(a, g))), el("td", { class: "num" }, g.registers + " regs"), el("td", { class: "num" }, bytes(g.code)))))))]);
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function listPage(title, about, headings, rows) {
  show(el("h1", {}, title), about && el("div", { class: "soft" }, about), el("div", { class: "panel", style: "margin-top:14px" },
    rows.length ? el("table", { class: "plain" }, el("thead", {}, el("tr", {}, headings.map((h, i) => el("th", { class: i ? "num" : "" }, h)))), el("tbody", {}, rows.slice(0, 2000)))
      : el("div", { class: "empty" }, "There is nothing here.")),
    rows.length > 2000 && el("div", { class: "soft" }, "… " + count(rows.length - 2000) + " more"));
}
const matches = (...texts) => { const words = state.query.toLowerCase().split(/\s+/).filter(Boolean); const text = texts.join("\n").toLowerCase(); return words.every((word) => text.includes(word)); };

function duplicatesPage() {
  const a = arch();
  const rows = a.duplicates.filter((d) => matches(...d.functions.map((i) => a.functions[i].demangled))).map((d) => el("tr", {},
    el("td", { class: "mono" }, d.functions.slice(0, 6).map((i) => el("div", {}, el("a", { href: link(a.functions[i]) }, nameParts(a.functions[i])), " ", el("span", { class: "soft" }, origin(a, a.functions[i])))), d.functions.length > 6 && el("div", { class: "soft" }, "… " + count(d.functions.length - 6) + " more")),
    el("td", { class: "num" }, count(d.functions.length)), el("td", { class: "num" }, bytes(d.bytes)), el("td", { class: "num" }, bytes(d.waste))));
  listPage("Same code more than once · " + a.name, bytes(sum(a.duplicates, (d) => d.waste)) + " of code is there again under another name or in another cubin.", ["functions", "copies", "each", "waste"], rows);
}
function variablesPage() {
  const a = arch();
  const rows = a.variables.filter((v) => matches(v.demangled, v.name, v.memory)).sort((x, y) => y.bytes - x.bytes).map((v) => el("tr", {},
    el("td", { class: "mono" }, v.demangled, v.owner !== undefined && [" ", el("a", { class: "soft", href: link(a.functions[v.owner]) }, "of " + a.functions[v.owner].template)]),
    el("td", { class: "num" }, v.memory), el("td", { class: "num" }, v.bytes ? bytes(v.bytes) : v.memory === "shared" ? "dynamic" : "0 B")));
  listPage("Variables · " + a.name, plural(rows.length, "variable", "variables"), ["variable", "memory", "size"], rows);
}
function filesPage() {
  const rows = report.files.map((file) => el("tr", {}, el("td", {}, el("b", {}, file.name), el("div", { class: "soft" }, file.kind), (file.others || []).map((o) => el("div", { class: "soft" }, o.kind + " " + o.architecture + ": " + plural(o.count, "entry", "entries") + ", " + bytes(o.stored))),
    (file.problems || []).map((p) => el("div", { class: "up" }, "not read: " + p))),
    el("td", { class: "num" }, bytes(file.device)), el("td", { class: "num" }, bytes(file.bytes))));
  const a = arch();
  const images = a.images.map((image, at) => [image, at]).filter(([image]) => matches(image.member || "", image.name || "")).sort(([x], [y]) => y.stored - x.stored).map(([image, at]) => el("tr", {},
    el("td", { class: "mono" }, image.member || image.name || "cubin " + at, image.relocatable && el("span", { class: "soft" }, " object")), el("td", { class: "num" }, bytes(image.stored)), el("td", { class: "num" }, bytes(image.bytes)), el("td", { class: "num" }, bytes(image.parts.code))));
  show(el("h1", {}, "Files"), el("div", { class: "panel" }, el("table", { class: "plain" }, el("thead", {}, el("tr", {}, el("th", {}, "file"), el("th", { class: "num" }, "device code"), el("th", { class: "num" }, "size"))), el("tbody", {}, rows))),
    el("h2", {}, "Cubins · " + a.name), el("div", { class: "panel" }, el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["cubin", "in the file", "unpacked", "code"].map((h, i) => el("th", { class: i ? "num" : "" }, h)))), el("tbody", {}, images.slice(0, 2000)))));
}
function removedPage() {
  const a = arch();
  const rows = a.link.removed.filter((r) => matches(r.demangled, r.name)).map((r) => el("tr", {}, el("td", { class: "mono" }, r.demangled, el("div", { class: "soft" }, (a.link.inputs[r.input] || {}).name || "")), el("td", {}, r.reason), el("td", { class: "num" }, bytes(r.bytes))));
  const inputs = a.link.inputs.filter((i) => matches(i.name)).map((i) => el("tr", {}, el("td", { class: "mono" }, i.name), el("td", { class: "num" }, bytes(i.kept)), el("td", { class: "num" }, bytes(i.removed))));
  listPage("Removed · " + a.name, bytes(sum(a.link.removed, (r) => r.bytes)) + " of code that no kernel reaches, or that another definition replaces.", ["function", "why", "code"], rows);
  main.append(el("h2", {}, "Inputs"), el("div", { class: "panel" }, el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["input", "code kept", "code removed"].map((h, i) => el("th", { class: i ? "num" : "" }, h)))), el("tbody", {}, inputs))));
}
