// The page as a whole: header, the conversation up to a leaf, keys, links and the sidebar.

const CHUNK_MS = 24;
const WIDTH_KEY = "pi-share:v1:sidebar-width";
const DEFAULT_WIDTH = 400;
const conversation = loadConversation();
const state = { showThinking: true, showOutputs: false, showHidden: false };
const main = document.getElementById("conversation");
const outline = new Outline(conversation, (entry) => open(conversation.newestLeafBelow(entry.id), entry.id));
let pending = []; // entries above what is shown that are still to be drawn, the nearest last
let shown = null;

function open(leafId, targetId) {
  conversation.leaf = leafId;
  render(targetId);
  outline.update();
  outline.showChosen();
  reveal(targetId || leafId, Boolean(targetId));
  closeDrawer();
}

// Draws the end of the path at once and the rest above it in the pauses of the browser.
function render(targetId) {
  shown = element("section", { class: "entries" });
  main.replaceChildren(pageHeader(), shown);
  pending = conversation.path(conversation.leaf);
  const target = pending.findIndex((entry) => entry.id === targetId);
  drawUntil((drawn) => drawn >= 40 && (target < 0 || pending.length <= Math.max(0, target - 10)));
  drawRest(shown);
}

function drawUntil(isEnough) {
  const nodes = [];
  let drawn = 0;
  while (pending.length && !isEnough(drawn)) {
    const node = entryNode(pending.pop(), conversation, state);
    if (node) nodes.push(node);
    drawn += 1;
  }
  shown.prepend(...nodes.reverse());
}

function drawRest(drawnList) {
  if (!pending.length || drawnList !== shown) return;
  setTimeout(() => {
    if (drawnList !== shown) return;
    const end = performance.now() + CHUNK_MS;
    drawUntil(() => performance.now() > end);
    drawRest(drawnList);
  });
}

function reveal(entryId, isMarked) {
  const node = document.getElementById(`entry-${entryId}`) || nodeOfResult(entryId) || shown.lastElementChild;
  if (!node) return;
  node.scrollIntoView({ block: isMarked ? "center" : "end" });
  if (!isMarked) return;
  node.classList.add("marked");
  setTimeout(() => node.classList.remove("marked"), 2000);
}

// A tool's result stands with the answer that called for it.
function nodeOfResult(entryId) {
  for (let entry = conversation.byId.get(entryId); entry; entry = conversation.byId.get(entry.parentId)) {
    const node = document.getElementById(`entry-${entry.id}`);
    if (node) return node;
  }
  return null;
}

function pageHeader() {
  const totals = conversation.totals();
  const facts = [
    ["Session", conversation.header.id || "unknown"], ["Started", clock(conversation.header.timestamp)],
    ["Folder", shortPath(conversation.header.cwd || "")], ["Models", [...totals.models.keys()].join(", ") || "none"],
    ["Messages", `${totals.user} prompts, ${totals.assistant} answers, ${totals.toolResult} results, ${totals.calls} tool calls`],
    ["Tokens", usageText({ ...totals, cost: {} }) || "0"], ["Cost", `$${totals.cost.toFixed(3)}`],
  ];
  return element("header", { class: "page-header" },
    element("h1", {}, document.title),
    element("dl", {}, facts.filter(([, value]) => value).map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    element("div", { class: "actions" }, Object.entries(TOGGLES).map(([key, toggle]) => toggleButton(key, toggle)),
      button("Light / dark", "Change the colours (D)", changeColors), button("Download JSONL", "The session file", download)),
    recordedPrompt());
}

// Old sessions do not record the system prompt; what was given beside the file is shown instead.
function recordedPrompt() {
  if (conversation.entries.some((entry) => (messageOf(entry) || {}).role === "system")) return null;
  if (!conversation.systemPrompt && !conversation.tools.length) return null;
  const content = systemContent({ content: conversation.systemPrompt, toolsAdded: conversation.tools });
  return element("div", { class: "system" }, element("h2", {}, "System prompt"), content.body);
}

const TOGGLES = {
  t: { name: "Thinking", field: "showThinking", apply: (isOn) => setFolds(".thinking", isOn) },
  o: { name: "Tool output", field: "showOutputs", apply: expandOutputs },
  h: { name: "Hidden messages", field: "showHidden", apply: () => render() },
};

function toggleButton(key, { name, field }) {
  const made = button(`${name} (${key.toUpperCase()})`, `Show or hide: ${name.toLowerCase()}`, () => toggle(key));
  made.dataset.toggle = field;
  made.setAttribute("aria-pressed", String(state[field]));
  return made;
}

function toggle(key) {
  const { field, apply } = TOGGLES[key];
  state[field] = !state[field];
  finishDrawing();
  apply(state[field]);
  for (const made of document.querySelectorAll(`[data-toggle="${field}"]`)) made.setAttribute("aria-pressed", String(state[field]));
}

function finishDrawing() {
  drawUntil(() => false);
}

function setFolds(selector, isOpen) {
  for (const node of main.querySelectorAll(`details${selector}`)) node.open = isOpen;
}

function expandOutputs(isOn) {
  for (const box of main.querySelectorAll(".tool .preview")) box.dispatchEvent(new Event(isOn ? "expandall" : "collapseall"));
}

function changeColors() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
}

function download() {
  const lines = [conversation.header, ...conversation.entries].map((value) => JSON.stringify(value));
  const address = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }));
  const anchor = element("a", { href: address, download: `${conversation.header.id || "session"}.jsonl` });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A viewer that embeds the page says where it stands and with which parameters; a first parameter without value stays.
function copyLink(entry, tree) {
  const base = new URL(meta("pi-share-base-url") || location.href);
  const given = new URLSearchParams(meta("pi-url-params") ?? location.search);
  const [first] = given.keys();
  const parts = first !== undefined && given.get(first) === "" ? [encodeURIComponent(first)] : [];
  parts.push(`leafId=${encodeURIComponent(tree.leaf)}`, `targetId=${encodeURIComponent(entry.id)}`);
  base.search = `?${parts.join("&")}`;
  copyText(base.href);
}

function meta(name) {
  const node = document.querySelector(`meta[name="${name}"]`);
  return node ? node.content : null;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return escape();
  const isTyping = event.target.closest("input, select, textarea");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const key = event.key.toLowerCase();
  if (key in TOGGLES) toggle(key);
  else if (key === "d") changeColors();
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else if (key === "/") { outline.search.focus(); openDrawer(); } else return undefined;
  return event.preventDefault();
});

function escape() {
  outline.search.value = "";
  outline.search.blur();
  open(conversation.currentLeaf);
}

// From prompt to prompt.
function step(by) {
  finishDrawing();
  const prompts = [...shown.querySelectorAll(".entry.user")];
  const middle = innerHeight / 2;
  const at = prompts.findIndex((node) => node.getBoundingClientRect().bottom > middle);
  const next = prompts[by > 0 ? prompts.findIndex((node) => node.getBoundingClientRect().top > middle + 4) : (at < 0 ? prompts.length : at) - 1];
  if (next) next.scrollIntoView({ block: "center" });
}

const menu = document.getElementById("menu");
menu.addEventListener("click", () => (document.body.classList.contains("drawer") ? closeDrawer() : openDrawer()));
main.addEventListener("click", closeDrawer);

function openDrawer() {
  document.body.classList.add("drawer");
  menu.setAttribute("aria-expanded", "true");
}

function closeDrawer() {
  document.body.classList.remove("drawer");
  menu.setAttribute("aria-expanded", "false");
}

function setWidth(width) {
  const most = Math.max(240, Math.min(720, innerWidth - 320));
  document.documentElement.style.setProperty("--sidebar", `${Math.max(240, Math.min(most, width))}px`);
}

// Storage is refused to some pages opened from a file; the width is then kept for this visit only.
function storedWidth(width) {
  try {
    if (width !== undefined) localStorage.setItem(WIDTH_KEY, String(width));
    return Number(localStorage.getItem(WIDTH_KEY)) || DEFAULT_WIDTH;
  } catch {
    return width || DEFAULT_WIDTH;
  }
}

const divider = document.getElementById("divider");
divider.addEventListener("pointerdown", (event) => {
  divider.setPointerCapture(event.pointerId);
  const drag = (moved) => setWidth(moved.clientX);
  divider.addEventListener("pointermove", drag);
  divider.addEventListener("pointerup", (ended) => {
    divider.removeEventListener("pointermove", drag);
    storedWidth(ended.clientX);
  }, { once: true });
});
divider.addEventListener("dblclick", () => setWidth(storedWidth(DEFAULT_WIDTH)));
addEventListener("beforeprint", finishDrawing);

setWidth(storedWidth());
const asked = new URLSearchParams(meta("pi-url-params") ?? location.search);
const askedLeaf = conversation.byId.has(asked.get("leafId")) ? asked.get("leafId") : null;
const askedTarget = conversation.byId.has(asked.get("targetId")) ? asked.get("targetId") : null;
open(askedLeaf || (askedTarget && conversation.newestLeafBelow(askedTarget)) || conversation.currentLeaf, askedTarget);
