// Markdown (CommonMark's common part, with tables, task lists and ~~deletions~~) to document nodes.
// Raw HTML stays what it is: text.

function markdown(text) {
  const root = element("div", { class: "markdown" });
  append(root, blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0));
  return root;
}

const MAX_DEPTH = 16;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const TABLE_RULE = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines, depth) {
  if (depth > MAX_DEPTH) return [element("p", {}, lines.join("\n"))];
  const made = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) { at += 1; continue; }
    const taken = fencedCode(lines, at) || heading(lines, at) || rule(lines, at) || quote(lines, at, depth)
      || list(lines, at, depth) || table(lines, at) || indentedCode(lines, at) || paragraph(lines, at);
    made.push(taken.node);
    at = taken.next;
  }
  return made;
}

function fencedCode(lines, at) {
  const open = FENCE.exec(lines[at]);
  if (!open) return null;
  const body = [];
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const close = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(lines[next]);
    if (close && close[1][0] === open[1][0] && close[1].length >= open[1].length) break;
    body.push(lines[next]);
  }
  return { node: codeBlock(body.join("\n"), open[2].trim().split(/[\s,{]/)[0]), next: next + 1 };
}

function codeBlock(text, language) {
  const head = element("div", { class: "code-head" }, element("span", {}, language || ""), copyButton(() => text));
  return element("div", { class: "code" }, head, element("pre", {}, highlighted(text, language)));
}

function heading(lines, at) {
  const found = HEADING.exec(lines[at]);
  if (!found) return null;
  return { node: element(`h${found[1].length}`, {}, inline(found[2] || "", 0)), next: at + 1 };
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? { node: element("hr"), next: at + 1 } : null;
}

function quote(lines, at, depth) {
  if (!QUOTE.test(lines[at])) return null;
  let next = at;
  const inner = [];
  while (next < lines.length && lines[next].trim() && (QUOTE.test(lines[next]) || next > at)) {
    inner.push(lines[next].replace(QUOTE, ""));
    next += 1;
  }
  return { node: element("blockquote", {}, blocks(inner, depth + 1)), next };
}

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first) return null;
  const isOrdered = /\d/.test(first[2]);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next]);
    if (!item || /\d/.test(item[2]) !== isOrdered || RULE.test(lines[next])) break;
    const taken = itemLines(lines, next, item);
    items.push(taken.lines);
    next = taken.next;
  }
  const start = isOrdered ? parseInt(first[2], 10) : 1;
  const node = element(isOrdered ? "ol" : "ul", { start: start !== 1 ? start : null });
  append(node, items.map((item) => listItem(item, depth)));
  return { node, next };
}

// The lines of one item without its indentation; blank lines belong to it while what follows is indented.
function itemLines(lines, at, item) {
  const indent = item[1].length + item[2].length + Math.min(Math.max(item[3].length, 1), 4);
  const inner = [lines[at].slice(Math.min(indent, lines[at].length))];
  let next = at + 1;
  while (next < lines.length) {
    const line = lines[next];
    const own = /^ */.exec(line)[0].length;
    if (!line.trim()) {
      const after = lines.slice(next + 1).find((later) => later.trim());
      if (after === undefined || (/^ */.exec(after)[0].length < indent && !ITEM.test(after))) break;
      inner.push("");
    } else if (own >= indent) inner.push(line.slice(indent));
    else if (own >= 2 && ITEM.test(line.trimStart()) && own > item[1].length + 1) inner.push(line.trimStart());
    else if (ITEM.test(line) || startsBlock(line) || !lines[next - 1].trim()) break;
    else inner.push(line.trimStart());
    next += 1;
  }
  while (inner.length && !inner[inner.length - 1].trim()) inner.pop();
  return { lines: inner, next };
}

function startsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line);
}

function listItem(lines, depth) {
  const task = /^\[([ xX])\]\s+/.exec(lines[0] || "");
  if (task) lines = [lines[0].slice(task[0].length), ...lines.slice(1)];
  const made = blocks(lines, depth + 1);
  const isTight = made.length && made[0].tagName === "P";
  const content = isTight ? [...made[0].childNodes, ...made.slice(1)] : made;
  const box = task && element("input", { type: "checkbox", disabled: true, checked: task[1] !== " " });
  return element("li", { class: task ? "task" : null }, box, content);
}

function table(lines, at) {
  if (!lines[at].includes("|") || at + 1 >= lines.length || !TABLE_RULE.test(lines[at + 1])) return null;
  const head = cells(lines[at]);
  const sides = cells(lines[at + 1]).map(alignment);
  if (head.length !== sides.length) return null;
  const rows = [];
  let next = at + 2;
  for (; next < lines.length && lines[next].includes("|") && lines[next].trim(); next += 1) rows.push(cells(lines[next]));
  const row = (tag, values) => element("tr", {}, sides.map((side, column) =>
    element(tag, { class: side }, inline(values[column] || "", 0))));
  const node = element("div", { class: "table" }, element("table", {},
    element("thead", {}, row("th", head)), element("tbody", {}, rows.map((values) => row("td", values)))));
  return { node, next };
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function alignment(cell) {
  if (cell.startsWith(":") && cell.endsWith(":")) return "center";
  return cell.endsWith(":") ? "right" : null;
}

function indentedCode(lines, at) {
  if (!/^(?: {4}|\t)/.test(lines[at])) return null;
  let next = at;
  const body = [];
  while (next < lines.length && (/^(?: {4}|\t)/.test(lines[next]) || !lines[next].trim())) {
    body.push(lines[next].replace(/^(?: {4}|\t)/, ""));
    next += 1;
  }
  return { node: codeBlock(body.join("\n").replace(/\n+$/, ""), ""), next };
}

function paragraph(lines, at) {
  let next = at + 1;
  while (next < lines.length && lines[next].trim() && !startsBlock(lines[next]) && !ITEM.test(lines[next])
    && !(lines[next].includes("|") && TABLE_RULE.test(lines[next + 1] || ""))) next += 1;
  const text = lines.slice(at, next).join("\n");
  return { node: element("p", {}, inline(text, 0)), next };
}

// What may begin something inside a line, tried in this order at every position.
const INLINE = [
  { pattern: /\\([!-/:-@[-`{-~])/y, make: (found) => found[1] },
  { pattern: /(`+)(?!`)([^]*?[^`])\1(?!`)/y, make: (found) => element("code", {}, found[2].replace(/\n/g, " ").replace(/^ (.+) $/, "$1")) },
  { pattern: /!\[([^\]]*)\]\(\s*<?([^\s)>]+)>?(?:\s+["'][^)]*["'])?\s*\)/y, make: (found) => link(found[2], [`🖼 ${found[1] || found[2]}`]) },
  { pattern: /\[((?:[^[\]]|\[[^[\]]*\])*)\]\(\s*<?([^\s()>]*(?:\([^\s()]*\)[^\s()>]*)*)>?(?:\s+["'][^)]*["'])?\s*\)/y, make: (found, depth) => link(found[2], inline(found[1], depth + 1)) },
  { pattern: /<((?:https?|mailto|ftp|tel):[^\s<>]+)>/y, make: (found) => link(found[1], [found[1]]) },
  { pattern: /https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}*_~]/y, make: (found) => link(found[0], [found[0]]) },
  { pattern: /\*\*(?=\S)((?:[^*]|\*(?!\*))+?)(?<=\S)\*\*(?!\*)/y, make: (found, depth) => element("strong", {}, inline(found[1], depth + 1)) },
  { pattern: /(?<![\p{L}\p{N}_])__(?=\S)([^_]+?)(?<=\S)__(?![\p{L}\p{N}_])/uy, make: (found, depth) => element("strong", {}, inline(found[1], depth + 1)) },
  { pattern: /\*(?=[^\s*])((?:[^*]|\*\*[^*]+\*\*)+?)(?<=[^\s])\*(?!\*)/y, make: (found, depth) => element("em", {}, inline(found[1], depth + 1)) },
  { pattern: /(?<![\p{L}\p{N}_])_(?=[^\s_])([^_]+?)(?<=\S)_(?![\p{L}\p{N}_])/uy, make: (found, depth) => element("em", {}, inline(found[1], depth + 1)) },
  { pattern: /~~(?=\S)([^~]+?)(?<=\S)~~/y, make: (found, depth) => element("del", {}, inline(found[1], depth + 1)) },
  { pattern: /(?: {2,}|\\)\n/y, make: () => element("br") },
];
const MAYBE_INLINE = /[\\`![<*_~h]| {2,}\n/g;
const LONGEST_INLINE = 20000;
const MOST_TRIES = 2000; // hostile text tries everything everywhere

function inline(text, depth) {
  if (depth > MAX_DEPTH || text.length > LONGEST_INLINE) return [text];
  const made = [];
  let plain = 0;
  let at = 0;
  for (let tries = 0; at < text.length && tries < MOST_TRIES; tries += 1) {
    MAYBE_INLINE.lastIndex = at;
    const next = MAYBE_INLINE.exec(text);
    if (!next) break;
    at = next.index;
    const taken = inlineAt(text, at, depth);
    if (!taken) { at += 1; continue; }
    if (at > plain) made.push(text.slice(plain, at));
    made.push(taken.node);
    at = plain = taken.end;
  }
  if (plain < text.length) made.push(text.slice(plain));
  return made;
}

function inlineAt(text, at, depth) {
  for (const { pattern, make } of INLINE) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) return { node: make(found, depth), end: at + found[0].length };
  }
  return null;
}
