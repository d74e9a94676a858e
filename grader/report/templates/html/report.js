"use strict";
const ORDER = "kernel-grader samples";
const byId = (id) => document.getElementById(id);
const help = byId("help");

function remembered(names) { // the list's order as it was filtered; some browsers keep none for files
  try {
    if (names) sessionStorage.setItem(ORDER, JSON.stringify(names));
    return JSON.parse(sessionStorage.getItem(ORDER)) || [];
  } catch { return []; }
}

function bindKeys(keys) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.matches("input, textarea, select");
    if (typing && event.key === "Escape") event.target.blur();
    if (typing || (help.open && event.key !== "?")) return;
    const act = event.key === "?" ? () => (help.open ? help.close() : help.showModal()) : keys[event.key];
    if (!act) return;
    if (act(event) !== false) event.preventDefault();
  });
}

function plainRow(row) {
  const cells = [...row.cells].map((cell) => cell.textContent);
  return { row, cells, status: row.dataset.s, words: `${cells.join(" ")} ${row.dataset.r || ""}`.toLowerCase() };
}

async function unpackedRows(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const columns = await new Response(stream).json();
  return columns[0].map((_, number) => {
    const cells = columns.map((column) => column[number]);
    return { row: null, cells, status: cells[2].replaceAll(" ", "_"), words: cells.join(" ").toLowerCase() };
  });
}

function codeOf(text) {
  const code = document.createElement("code");
  code.textContent = text;
  return code;
}

function drawnRow(item) { // a packed row becomes an element when it is first shown
  if (item.row) return item.row;
  item.row = byId("row").content.firstElementChild.cloneNode(true);
  const link = item.row.querySelector("a"), badge = item.row.querySelector(".badge");
  link.href = `pages/${encodeURIComponent(item.cells[0])}.html`;
  badge.className = document.querySelector(`.chip[data-status="${item.status}"]`).className.replace("chip", "badge");
  [...item.row.cells].forEach((cell, column) => { ({ 0: link, 2: badge }[column] || cell).textContent = item.cells[column]; });
  const why = item.cells[8].split("`");
  if (why.length % 2) [...item.row.cells].at(-1).replaceChildren(...why.map((part, number) => (number % 2 ? codeOf(part) : part)));
  return item.row;
}

function indexPage(rows) {
  const CHUNK = 100;
  const body = byId("table").tBodies[0], search = byId("search"), list = byId("list"), more = byId("more");
  const chips = [...document.querySelectorAll(".chip")];
  let visible = rows, drawn = 0, on = -1;

  function draw(most) { // the rows that are looked at, and some more
    const next = visible.slice(drawn, most);
    body.append(...next.map(drawnRow));
    drawn += next.length;
    more.hidden = drawn >= visible.length;
    more.textContent = `${visible.length - drawn} more rows`;
  }
  function show() {
    body.replaceChildren();
    drawn = 0;
    draw(CHUNK);
    list.scrollTop = 0;
  }
  function filter() {
    const wanted = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.status);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    select(-1);
    visible = rows.filter((item) => (!wanted.length || wanted.includes(item.status)) && words.every((word) => item.words.includes(word)));
    show();
    byId("shown").textContent = `${visible.length} of ${rows.length}`;
    byId("nothing").hidden = visible.length > 0;
    remembered(visible.map(address));
    const state = new URLSearchParams();
    if (search.value) state.set("q", search.value);
    if (wanted.length) state.set("s", wanted.join(","));
    history.replaceState(null, "", `#${state}`);
  }
  const address = (item) => `${encodeURIComponent(item.cells[0])}.html`;
  function select(index) {
    if (visible[on]) drawnRow(visible[on]).classList.remove("on");
    on = Math.min(index, visible.length - 1);
    if (!visible[on]) return;
    if (on >= drawn) draw(on + CHUNK);
    visible[on].row.classList.add("on");
    visible[on].row.querySelector("a").focus({ preventScroll: true });
    visible[on].row.scrollIntoView({ block: "nearest" });
  }
  function clear() {
    search.value = "";
    for (const chip of chips) chip.setAttribute("aria-pressed", "false");
    filter();
  }
  function sort(heading) {
    const headings = [...heading.parentElement.children], column = headings.indexOf(heading);
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of headings) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const compare = new Intl.Collator(undefined, { numeric: true }).compare;
    const keyed = rows.map((item) => [item.cells[column], item]);
    keyed.sort(([a], [b]) => (!a || !b ? !a - !b : (down ? -1 : 1) * compare(a, b))); // blanks last
    rows = keyed.map(([, item]) => item);
    filter();
  }
  for (const chip of chips)
    chip.addEventListener("click", () => { chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true")); filter(); });
  for (const button of document.querySelectorAll(".sort")) button.addEventListener("click", () => sort(button.closest("th")));
  for (const button of document.querySelectorAll(".rule-link"))
    button.addEventListener("click", () => { search.value = button.dataset.find; filter(); search.focus(); });
  search.addEventListener("input", filter);
  byId("clear").addEventListener("click", clear);
  new IntersectionObserver(([seen]) => seen.isIntersecting && draw(drawn + CHUNK), { root: list, rootMargin: "400px" }).observe(more);
  addEventListener("beforeprint", () => draw(visible.length));
  const state = new URLSearchParams(location.hash.slice(1));
  search.value = state.get("q") || "";
  for (const chip of chips) chip.setAttribute("aria-pressed", String((state.get("s") || "").split(",").includes(chip.dataset.status)));
  filter();
  bindKeys({ "/": () => search.focus(), j: () => select(on + 1), k: () => select(Math.max(on - 1, 0)), x: clear });
}

function unfold(element) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

function samplePage() {
  const findings = [...document.querySelectorAll(".finding")];
  let on = -1;
  function select(index) {
    on = Math.max(0, Math.min(index, findings.length - 1));
    if (!findings[on]) return;
    unfold(findings[on]);
    findings[on].focus({ preventScroll: true });
    findings[on].scrollIntoView({ block: "center" });
  }
  const target = location.hash.length > 1 && byId(location.hash.slice(1));
  if (target) { unfold(target); target.scrollIntoView({ block: "center" }); }
  addEventListener("beforeprint", () => document.querySelectorAll(".fold").forEach((fold) => { fold.open = true; }));
  const names = remembered(), here = names.indexOf(location.pathname.split("/").pop());
  function neighbour(step, link) {
    const name = here < 0 ? undefined : names[here + step];
    if (name === undefined) return () => false;
    link.href = name;
    link.hidden = false;
    return () => link.click();
  }
  bindKeys({
    j: () => select(on + 1), k: () => select(on - 1), u: () => byId("up").click(),
    "[": neighbour(-1, byId("previous")), "]": neighbour(1, byId("next")),
  });
}

const packed = byId("rows");
if (packed) unpackedRows(packed.textContent).then(indexPage, () => { byId("unpacked").hidden = false; });
else if (byId("table")) indexPage([...byId("table").tBodies[0].rows].map(plainRow));
else if (byId("up")) samplePage();
else bindKeys({});
