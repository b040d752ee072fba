// The session as data: entries by id, the tree, the path to a leaf, results by call, totals.

const SKILL = /<skill\s+name="([^"]*)"[^>]*>([^]*?)<\/skill>/g;

function loadConversation() {
  const encoded = document.getElementById("session-data").textContent.trim();
  const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
  return new Conversation(JSON.parse(new TextDecoder().decode(bytes)));
}

class Conversation {
  constructor(data) {
    this.header = data.header || {};
    this.entries = data.entries.filter((entry) => entry && typeof entry.id === "string");
    this.systemPrompt = data.systemPrompt || "";
    this.tools = data.tools || [];
    this.byId = new Map(this.entries.map((entry) => [entry.id, entry]));
    this.children = new Map();
    this.roots = [];
    this.labels = new Map();
    this.results = new Map();
    this.calls = new Map();
    for (const entry of this.entries) this.place(entry);
    this.currentLeaf = this.byId.has(data.leafId) ? data.leafId : (this.entries.at(-1) || {}).id || null;
    this.leaf = this.currentLeaf;
  }

  place(entry) {
    const parent = this.byId.has(entry.parentId) && entry.parentId !== entry.id ? entry.parentId : null;
    if (parent === null) this.roots.push(entry);
    else if (this.children.has(parent)) this.children.get(parent).push(entry);
    else this.children.set(parent, [entry]);
    if (entry.type === "label") {
      if (entry.label) this.labels.set(entry.targetId, entry.label);
      else this.labels.delete(entry.targetId);
    }
    const message = messageOf(entry);
    if (!message) return;
    if (message.role === "toolResult") this.results.set(message.toolCallId, message);
    if (message.role === "assistant") for (const call of callsOf(message)) this.calls.set(call.id, call);
  }

  childrenOf(entry) {
    return this.children.get(entry.id) || [];
  }

  // The entries from the root to an entry; a damaged file may hold a circle, which is entered once.
  path(leafId) {
    const path = [];
    const seen = new Set();
    for (let entry = this.byId.get(leafId); entry && !seen.has(entry.id); entry = this.byId.get(entry.parentId)) {
      seen.add(entry.id);
      path.push(entry);
    }
    return path.reverse();
  }

  // The newest entry below an entry that has nothing below itself.
  newestLeafBelow(entryId) {
    const waiting = [entryId];
    const below = new Set();
    while (waiting.length) {
      const id = waiting.pop();
      if (below.has(id)) continue;
      below.add(id);
      for (const child of this.children.get(id) || []) waiting.push(child.id);
    }
    let newest = entryId;
    for (const entry of this.entries) if (below.has(entry.id)) newest = entry.id;
    return newest;
  }

  totals() {
    const totals = { user: 0, assistant: 0, toolResult: 0, calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, models: new Map() };
    for (const entry of this.entries) {
      const message = messageOf(entry);
      if (message && message.role in totals) totals[message.role] += 1;
      if (message && message.role === "assistant") {
        totals.calls += callsOf(message).length;
        if (message.model) totals.models.set(`${message.provider || "?"}/${message.model}`, true);
      }
      addUsage(totals, (message && message.usage) || entry.usage);
    }
    return totals;
  }
}

function addUsage(totals, usage) {
  if (!usage || typeof usage !== "object") return;
  for (const name of ["input", "output", "cacheRead", "cacheWrite"]) totals[name] += Number(usage[name]) || 0;
  totals.cost += costOf(usage);
}

function costOf(usage) {
  const cost = (usage && usage.cost) || {};
  if (Number.isFinite(cost.total)) return cost.total;
  return ["input", "output", "cacheRead", "cacheWrite"].reduce((sum, name) => sum + (Number(cost[name]) || 0), 0);
}

function messageOf(entry) {
  return entry.type === "message" && entry.message && typeof entry.message === "object" ? entry.message : null;
}

function blocksOf(content) {
  if (typeof content === "string") return content ? [{ type: "text", text: content }] : [];
  return Array.isArray(content) ? content.filter((block) => block && typeof block === "object") : [];
}

function textOf(content) {
  return blocksOf(content).filter((block) => block.type === "text").map((block) => block.text || "").join("\n");
}

function callsOf(message) {
  return blocksOf(message.content).filter((block) => block.type === "toolCall");
}

function isFailed(message) {
  return message.stopReason === "error" || message.stopReason === "aborted";
}

// An answer that only calls tools: its rows say what happened, so lists pass it over.
function isOnlyCalls(message) {
  return message.role === "assistant" && !isFailed(message) && callsOf(message).length > 0 && !textOf(message.content).trim();
}

function firstLine(text) {
  return (text || "").trim().split("\n", 1)[0].slice(0, 160);
}

// The first line of Markdown as a title: without the mark of a heading, and skills by their names.
function titleOf(text) {
  const plain = (text || "").replace(SKILL, (_, name) => `[skill ${name}]`);
  return firstLine(plain).replace(/^#+\s*/, "");
}

// Colours and other orders to a terminal mean nothing on a page.
function withoutTerminalCodes(text) {
  return text.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}

function shortPath(text) {
  return String(text).replace(/(^|[\s"'=:(])(?:\/home\/[^/\s"']+|\/Users\/[^/\s"']+|\/root)(?=\/|$)/g, "$1~");
}

function describe(entry, conversation) {
  const message = messageOf(entry);
  if (message) return describeMessage(message, conversation);
  switch (entry.type) {
    case "compaction": return ["compaction", `Compaction: ${titleOf(entry.summary)}`];
    case "branch_summary": return ["compaction", `Left branch: ${titleOf(entry.summary)}`];
    case "custom_message": return ["custom", `${entry.customType || "custom"}: ${titleOf(textOf(entry.content))}`];
    case "model_change": return ["change", `Model ${entry.provider}/${entry.modelId}`];
    case "thinking_level_change": return ["change", `Thinking ${entry.thinkingLevel}`];
    case "session_info": return ["change", `Name: ${entry.name || "(none)"}`];
    case "label": return ["change", `Label ${entry.label ? `“${entry.label}”` : "removed"}`];
    case "context_edit": return ["change", entry.replacement ? "Context replaced" : "Left out of the context"];
    default: return ["change", `${entry.type}${entry.customType ? ` ${entry.customType}` : ""}`];
  }
}

function describeMessage(message, conversation) {
  const text = titleOf(textOf(message.content));
  switch (message.role) {
    case "user": return ["user", text || "(image)"];
    case "assistant": {
      if (isFailed(message)) return ["failed", firstLine(message.errorMessage) || message.stopReason];
      const calls = callsOf(message).map((call) => call.name).join(", ");
      return ["assistant", text || (calls ? `→ ${calls}` : "(empty answer)")];
    }
    case "toolResult": return [message.isError ? "failed" : "tool", `${message.toolName} ${callHint(message, conversation)}`];
    case "bashExecution": return ["tool", `! ${firstLine(message.command)}`];
    case "system": return ["change", "System prompt"];
    default: return ["custom", `${message.role}: ${text}`];
  }
}

function callHint(result, conversation) {
  const call = conversation.calls.get(result.toolCallId);
  const given = (call && call.arguments) || {};
  const hint = given.command ?? given.path ?? given.file_path ?? given.pattern ?? given.query;
  return hint === undefined ? "" : shortPath(firstLine(String(hint)));
}

function searchText(entry, conversation) {
  const message = messageOf(entry);
  const parts = [conversation.labels.get(entry.id), entry.type, entry.summary, entry.name, entry.modelId, entry.customType];
  if (message) {
    parts.push(message.role, textOf(message.content), message.toolName, message.command, message.output, message.model, message.errorMessage);
    for (const call of message.role === "assistant" ? callsOf(message) : []) parts.push(call.name, JSON.stringify(call.arguments || {}));
  } else parts.push(textOf(entry.content));
  return parts.filter((part) => typeof part === "string").join("\n").toLowerCase();
}
