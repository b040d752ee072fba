// The outline beside the conversation: the tree in one list, of which only the visible rows exist.

const ROW_HEIGHT = 24;
const QUIET_TYPES = new Set(["label", "custom", "context_edit", "model_change", "thinking_level_change", "session_info", "usage"]);

class Outline {
  constructor(conversation, onChoose) {
    this.conversation = conversation;
    this.onChoose = onChoose;
    this.box = document.getElementById("rows");
    this.search = document.getElementById("search");
    this.filter = document.getElementById("filter");
    this.count = document.getElementById("count");
    this.texts = new Map();
    this.rows = [];
    this.chosen = 0;
    this.sheet = element("div", { class: "sheet" });
    this.box.append(this.sheet);
    this.search.addEventListener("input", () => this.update());
    this.filter.addEventListener("change", () => this.update());
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  // Lists the tree anew: after another filter, search or path.
  update() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = flatten(this.conversation);
    this.rows = all.filter((row) => this.isListed(row.entry) && this.matches(row.entry, words));
    this.count.textContent = `${this.rows.length} / ${all.length}`;
    this.sheet.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    const leaf = this.rows.findIndex((row) => row.entry.id === this.conversation.leaf);
    this.chosen = leaf >= 0 ? leaf : Math.min(this.chosen, Math.max(0, this.rows.length - 1));
    this.draw();
  }

  isListed(entry) {
    const message = messageOf(entry);
    if (entry.id === this.conversation.leaf) return true;
    switch (this.filter.value) {
      case "all": return true;
      case "user-only": return Boolean(message) && message.role === "user";
      case "labeled-only": return this.conversation.labels.has(entry.id);
      case "no-tools": if (message && (message.role === "toolResult" || message.role === "bashExecution")) return false;
    }
    if (entry.type === "custom_message" && entry.display !== true) return false;
    return !QUIET_TYPES.has(entry.type) && !(message && isOnlyCalls(message));
  }

  matches(entry, words) {
    if (!words.length) return true;
    if (!this.texts.has(entry.id)) this.texts.set(entry.id, searchText(entry, this.conversation));
    const text = this.texts.get(entry.id);
    return words.every((word) => text.includes(word));
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - 10);
    const last = Math.min(this.rows.length, first + Math.ceil(this.box.clientHeight / ROW_HEIGHT) + 20);
    this.sheet.replaceChildren(...this.rows.slice(first, last).map((row, offset) => this.rowNode(row, first + offset)));
  }

  rowNode({ entry, depth, isOnPath }, index) {
    const [kind, text] = describe(entry, this.conversation);
    const label = this.conversation.labels.get(entry.id);
    const node = element("div", {
      class: `row is-${kind}${isOnPath ? " on-path" : ""}${entry.id === this.conversation.leaf ? " leaf" : ""}${index === this.chosen ? " chosen" : ""}`,
      role: "option", "aria-selected": index === this.chosen, title: text, "data-id": entry.id,
      onclick: () => this.choose(index),
    }, label ? element("span", { class: "label" }, label) : null, text);
    node.style.top = `${index * ROW_HEIGHT}px`;
    node.style.paddingLeft = `${10 + Math.min(depth, 24) * 12}px`;
    return node;
  }

  choose(index) {
    if (!this.rows[index]) return;
    this.chosen = index;
    this.onChoose(this.rows[index].entry);
    this.draw();
  }

  move(by) {
    this.chosen = Math.max(0, Math.min(this.rows.length - 1, this.chosen + by));
    this.showChosen();
    this.draw();
  }

  showChosen() {
    const top = this.chosen * ROW_HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    const bottom = top + ROW_HEIGHT - this.box.clientHeight;
    if (bottom > this.box.scrollTop) this.box.scrollTop = bottom;
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_HEIGHT) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === "Enter") this.choose(this.chosen);
    else return;
    event.preventDefault();
  }
}

// Every entry in the order of the tree, the active branch first. Only branches indent, and nothing recurses: chains are deep.
function flatten(conversation) {
  const onPath = new Set(conversation.path(conversation.leaf).map((entry) => entry.id));
  const rows = [];
  const seen = new Set();
  const waiting = activeLast(conversation.roots, onPath).map((entry) => ({ entry, depth: 0 }));
  while (waiting.length) {
    const { entry, depth } = waiting.pop();
    if (seen.has(entry.id)) continue;
    seen.add(entry.id);
    rows.push({ entry, depth, isOnPath: onPath.has(entry.id) });
    const children = activeLast(conversation.childrenOf(entry), onPath);
    for (const child of children) waiting.push({ entry: child, depth: children.length > 1 ? depth + 1 : depth });
  }
  return rows;
}

// In the order in which a stack gives them back: what was pushed last comes first.
function activeLast(entries, onPath) {
  return [...entries].reverse().sort((left, right) => onPath.has(left.id) - onPath.has(right.id));
}
