// Building blocks of the page. Text only ever becomes text: nothing here or elsewhere writes markup.

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
}

function button(label, title, action) {
  return element("button", { type: "button", title, onclick: action }, label);
}

function copyButton(text) {
  const made = button("copy", "Copy the text", async () => {
    const done = await copyText(text());
    made.textContent = done ? "copied" : "not allowed";
    setTimeout(() => { made.textContent = "copy"; }, 1500);
  });
  made.className = "copy";
  return made;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// Pages opened from a file have no clipboard interface in some browsers; a selection can still be copied.
function copyBySelection(text) {
  const area = element("textarea", { class: "offscreen", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

const SAFE_SCHEMES = new Set(["http:", "https:", "mailto:", "tel:", "ftp:"]);

// The address to link to, or null where following it could do more than open another page.
function safeAddress(address) {
  const cleaned = address.replace(/[\u0000-\u0020\u007f]/g, "");
  const scheme = /^([a-z][a-z0-9+.-]*:)/i.exec(cleaned);
  if (scheme) return SAFE_SCHEMES.has(scheme[1].toLowerCase()) ? cleaned : null;
  return cleaned.startsWith("//") ? null : cleaned;
}

function link(address, children) {
  const safe = safeAddress(address);
  if (safe === null) return element("span", {}, children);
  return element("a", { href: safe, rel: "noopener noreferrer", target: safe.startsWith("#") ? null : "_blank" }, children);
}

// A fold: a line that is always seen and content that is made when it is opened for the first time.
function fold(kind, title, makeContent, isOpen) {
  const node = element("details", { class: `fold ${kind}` }, element("summary", {}, title));
  const fill = () => { if (node.open && node.childElementCount === 1) append(node, [makeContent()]); };
  node.addEventListener("toggle", fill);
  node.open = Boolean(isOpen);
  fill();
  return node;
}

// The first lines of a long text, and the rest behind a button.
function preview(text, lineLimit, makeBlock) {
  const lines = text.split("\n");
  if (lines.length <= lineLimit + 1) return makeBlock(text);
  const box = element("div", { class: "preview" }, makeBlock(lines.slice(0, lineLimit).join("\n")));
  const hidden = lines.length - lineLimit;
  const expand = () => box.replaceChildren(makeBlock(text), fewer);
  const fewer = element("button", { type: "button", class: "more", "data-expanded": true, onclick: () => collapse() }, "show less");
  const more = element("button", { type: "button", class: "more", onclick: expand }, `show ${hidden} more lines`);
  const collapse = () => box.replaceChildren(makeBlock(lines.slice(0, lineLimit).join("\n")), more);
  box.append(more);
  box.addEventListener("expandall", expand);
  box.addEventListener("collapseall", collapse);
  return box;
}

function plainBlock(text) {
  return element("pre", { class: "plain" }, text);
}
