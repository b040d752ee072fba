// Tool calls with their results, each kind in the form that says most.

const READ_LINES = 10;
const SHELL_LINES = 5;
const LIST_LINES = 20;

function toolRow(call, result) {
  const state = !result ? "unanswered" : result.isError ? "failed" : "done";
  const given = call.arguments && typeof call.arguments === "object" ? call.arguments : {};
  const shown = (TOOL_VIEWS[call.name] || otherTool)(given, result, call);
  const head = element("div", { class: "tool-head" },
    element("span", { class: "tool-name" }, call.name || "tool"), " ", shown.title, " ", timeTaken(result));
  const box = element("div", { class: `tool ${state}` }, head, shown.body, nestedCalls(result));
  if (!result) box.append(element("p", { class: "note" }, "no result was recorded"));
  return box;
}

function timeTaken(result) {
  const ms = result && result.durationMs;
  if (!Number.isFinite(ms) || ms < 100) return null;
  return element("span", { class: "faint" }, ms < 10000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`);
}

const TOOL_VIEWS = { bash: shellTool, powershell: shellTool, read: readTool, write: writeTool, edit: editTool, ls: listTool, find: listTool, grep: listTool };

function shellTool(given, result) {
  return { title: element("code", {}, `$ ${given.command ?? ""}`), body: output(result, SHELL_LINES) };
}

function readTool(given, result) {
  const path = given.path ?? given.file_path ?? "";
  const from = Number.isFinite(given.offset) ? `:${given.offset}` : "";
  return { title: pathTitle(path, from), body: output(result, READ_LINES, languageOfPath(path)) };
}

function writeTool(given, result) {
  const path = given.path ?? given.file_path ?? "";
  const content = typeof given.content === "string" ? given.content : "";
  const file = preview(content, READ_LINES, (text) => element("pre", {}, highlighted(text, languageOfPath(path))));
  return { title: pathTitle(path, ""), body: [file, result && result.isError ? output(result, READ_LINES) : null] };
}

function editTool(given, result) {
  const path = given.path ?? given.file_path ?? "";
  const diff = result && !result.isError && result.details && result.details.diff;
  const body = typeof diff === "string"
    ? preview(diff, LIST_LINES, (text) => element("pre", { class: "diff" }, editedLines(text)))
    : [editPairs(given), output(result, READ_LINES)];
  return { title: pathTitle(path, ""), body };
}

function editedLines(text) {
  return text.split("\n").map((line) => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
    return element("span", { class: `diff-${kind}` }, line);
  });
}

function editPairs(given) {
  const edits = Array.isArray(given.edits) ? given.edits : [given];
  return edits.map((edit) => {
    const lines = [...prefixed("-", edit && (edit.oldText ?? edit.old_string)), ...prefixed("+", edit && (edit.newText ?? edit.new_string))];
    return lines.length ? preview(lines.join("\n"), LIST_LINES, (text) => element("pre", { class: "diff" }, editedLines(text))) : null;
  });
}

function prefixed(mark, text) {
  return typeof text === "string" && text ? text.split("\n").map((line) => mark + line) : [];
}

function listTool(given, result) {
  const words = [given.pattern, given.glob, given.path].filter((word) => typeof word === "string" && word);
  return { title: element("code", {}, shortPath(words.join("  "))), body: output(result, LIST_LINES) };
}

function otherTool(given, result, call) {
  const text = JSON.stringify(given, null, 2);
  const body = text === "{}" ? null : preview(text, READ_LINES, (part) => element("pre", {}, highlighted(part, "json")));
  const wrong = call.argumentsError ? element("p", { class: "error" }, firstLine(call.argumentsError)) : null;
  return { title: null, body: [body, wrong, output(result, READ_LINES)] };
}

function pathTitle(path, suffix) {
  return element("code", {}, shortPath(path) + suffix);
}

function output(result, lineLimit, language) {
  if (!result) return null;
  return blocksOf(result.content).map((block) => {
    if (block.type === "image") return picture(block);
    if (block.type !== "text" || !block.text) return null;
    const shown = withoutTerminalCodes(block.text).replace(/\n+$/, "");
    const kind = result.isError ? "error" : "output";
    return element("div", { class: `tool-output ${kind}` }, copyButton(() => block.text),
      preview(shown, lineLimit, (text) =>
        element("pre", {}, language && !result.isError ? highlighted(text, language) : element("code", {}, text))));
  });
}

function nestedCalls(result) {
  const calls = result && result.nestedCalls && Array.isArray(result.nestedCalls.calls) ? result.nestedCalls.calls : [];
  if (!calls.length) return null;
  return fold("nested", `${calls.length} nested calls`, () => element("ul", {}, calls.map((call) =>
    element("li", { class: call.status === "error" ? "error" : null },
      `${call.name} — ${call.status}`, call.error ? `: ${firstLine(call.error)}` : ""))));
}

const PICTURE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function picture(block) {
  const isPicture = PICTURE_TYPES.has(block.mimeType) && /^[A-Za-z0-9+/=\s]+$/.test(block.data || "");
  if (!isPicture) return element("p", { class: "note" }, `(image of type ${block.mimeType || "unknown"})`);
  return element("img", { class: "picture", loading: "lazy", alt: "picture in the conversation", src: `data:${block.mimeType};base64,${block.data}` });
}
