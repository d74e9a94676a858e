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

function indexPage() {
  const body = byId("table").tBodies[0], search = byId("search");
  const chips = [...document.querySelectorAll(".chip")];
  let rows = [...body.rows].map((row) => ({ row, status: row.dataset.s, words: `${row.textContent} ${row.dataset.r || ""}`.toLowerCase() }));
  let visible = rows, on = -1;

  function filter() {
    const wanted = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.status);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    visible = rows.filter((item) => (!wanted.length || wanted.includes(item.status)) && words.every((word) => item.words.includes(word)));
    const kept = new Set(visible);
    for (const item of rows) item.row.hidden = !kept.has(item);
    byId("shown").textContent = `${visible.length} of ${rows.length}`;
    byId("nothing").hidden = visible.length > 0;
    select(-1);
    remembered(visible.map(address));
    const state = new URLSearchParams();
    if (search.value) state.set("q", search.value);
    if (wanted.length) state.set("s", wanted.join(","));
    history.replaceState(null, "", `#${state}`);
  }
  const address = (item) => item.row.querySelector("a").getAttribute("href").replace("pages/", "");
  function select(index) {
    if (visible[on]) visible[on].row.classList.remove("on");
    on = Math.min(index, visible.length - 1);
    if (!visible[on]) return;
    visible[on].row.classList.add("on");
    visible[on].row.querySelector("a").focus();
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
    const keyed = rows.map((item) => [item.row.cells[column].textContent, item]);
    keyed.sort(([a], [b]) => (!a || !b ? !a - !b : (down ? -1 : 1) * compare(a, b))); // blanks last
    rows = keyed.map(([, item]) => item);
    body.append(...rows.map((item) => item.row));
    filter();
  }
  for (const chip of chips)
    chip.addEventListener("click", () => { chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true")); filter(); });
  for (const button of document.querySelectorAll(".sort")) button.addEventListener("click", () => sort(button.closest("th")));
  for (const button of document.querySelectorAll(".rule-link"))
    button.addEventListener("click", () => { search.value = button.dataset.find; filter(); search.focus(); });
  search.addEventListener("input", filter);
  byId("clear").addEventListener("click", clear);
  const state = new URLSearchParams(location.hash.slice(1));
  search.value = state.get("q") || "";
  for (const chip of chips) chip.setAttribute("aria-pressed", String((state.get("s") || "").split(",").includes(chip.dataset.status)));
  filter();
  bindKeys({ "/": () => search.focus(), j: () => select(on + 1), k: () => select(Math.max(on - 1, 0)), x: clear });
}

function samplePage() {
  const findings = [...document.querySelectorAll(".finding")];
  let on = -1;
  function select(index) {
    on = Math.max(0, Math.min(index, findings.length - 1));
    if (!findings[on]) return;
    if (findings[on].tagName === "DETAILS") findings[on].open = true;
    findings[on].focus({ preventScroll: true });
    findings[on].scrollIntoView({ block: "center" });
  }
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

if (document.body.dataset.page === "index") indexPage();
else samplePage();
