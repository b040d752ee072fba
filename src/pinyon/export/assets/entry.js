// Entries of the conversation as they stand in the main column. null where an entry is shown elsewhere or not at all.

function entryNode(entry, conversation, state) {
  const content = entryContent(entry, conversation, state);
  if (!content) return null;
  const label = conversation.labels.get(entry.id);
  return element("article", { id: `entry-${entry.id}`, class: `entry ${content.kind}`, "data-id": entry.id },
    element("header", {}, element("span", { class: "who" }, content.title),
      label ? element("span", { class: "label" }, label) : null,
      element("time", { datetime: entry.timestamp }, clock(entry.timestamp)),
      content.text ? copyButton(content.text) : null,
      button("link", "Copy a link to this entry", () => copyLink(entry, conversation))),
    content.body);
}

function clock(timestamp) {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

function entryContent(entry, conversation, state) {
  const message = messageOf(entry);
  if (message) return messageContent(message, conversation, state);
  switch (entry.type) {
    case "compaction":
      return summary("Compaction", `${Number(entry.tokensBefore || 0).toLocaleString()} tokens before`, entry.summary);
    case "branch_summary": return summary("Summary of a branch that was left", "", entry.summary);
    case "custom_message": return customContent(entry, state);
    case "model_change": return remark(`Model: ${entry.provider}/${entry.modelId}`);
    case "thinking_level_change": return remark(`Thinking: ${entry.thinkingLevel}`);
    default: return null;
  }
}

function remark(text) {
  return { kind: "remark", title: text, body: null };
}

function summary(title, note, text) {
  return {
    kind: "summary", title, text: () => text || "",
    body: [note ? element("p", { class: "faint" }, note) : null, fold("summary-text", titleOf(text) || "(empty)", () => markdown(text || ""))],
  };
}

function customContent(entry, state) {
  if (entry.display !== true && !state.showHidden) return null;
  const kind = entry.display === true ? "custom" : "custom hidden-message";
  return { kind, title: entry.customType || "Message", text: () => textOf(entry.content), body: richBlocks(entry.content) };
}

function messageContent(message, conversation, state) {
  switch (message.role) {
    case "user": return { kind: "user", title: "You", text: () => textOf(message.content), body: richBlocks(message.content) };
    case "assistant": return assistantContent(message, conversation);
    case "toolResult": return conversation.calls.has(message.toolCallId) ? null : orphanResult(message);
    case "bashExecution": return shellContent(message);
    case "system": return systemContent(message);
    case "custom": return customContent(message, state);
    case "compactionSummary": return summary("Compaction", "", message.summary || textOf(message.content));
    case "branchSummary": return summary("Summary of a branch that was left", "", message.summary || textOf(message.content));
    default: return { kind: "custom", title: message.role || "Message", text: () => textOf(message.content), body: richBlocks(message.content) };
  }
}

function richBlocks(content) {
  return blocksOf(content).map((block) => {
    if (block.type === "image") return picture(block);
    return block.type === "text" && block.text ? withSkills(block.text) : null;
  });
}

// Instructions of a skill are long and not the user's words: they are folded.
function withSkills(text) {
  const made = [];
  let at = 0;
  for (const found of text.matchAll(SKILL)) {
    if (text.slice(at, found.index).trim()) made.push(markdown(text.slice(at, found.index)));
    made.push(fold("skill", `Skill ${found[1]}`, () => markdown(found[2])));
    at = found.index + found[0].length;
  }
  if (text.slice(at).trim()) made.push(markdown(text.slice(at)));
  return made;
}

function assistantContent(message, conversation) {
  const body = [];
  for (const block of blocksOf(message.content)) {
    if (block.type === "thinking" && (block.thinking || "").trim()) {
      body.push(element("details", { class: "fold thinking", open: true }, element("summary", {}, "Thinking"), markdown(block.thinking)));
    } else if (block.type === "text" && (block.text || "").trim()) body.push(markdown(block.text));
    else if (block.type === "toolCall") body.push(toolRow(block, conversation.results.get(block.id)));
  }
  if (isFailed(message)) body.push(element("p", { class: "error" }, message.errorMessage || `The answer was ${message.stopReason}.`));
  if (message.stopReason === "length") body.push(element("p", { class: "note" }, "The answer was cut at the output limit."));
  return { kind: "assistant", title: message.model || "Assistant", text: () => textOf(message.content), body: [body, usageLine(message.usage)] };
}

function usageLine(usage) {
  if (!usage || !(usage.totalTokens || usage.input || usage.output)) return null;
  return element("p", { class: "usage" }, usageText(usage));
}

function usageText(usage) {
  const parts = [["↑", usage.input], ["↓", usage.output], ["R", usage.cacheRead], ["W", usage.cacheWrite]]
    .filter(([, count]) => count).map(([mark, count]) => mark + shortCount(count));
  const cost = costOf(usage);
  return [...parts, cost ? `$${cost.toFixed(3)}` : ""].filter(Boolean).join("  ");
}

function shortCount(count) {
  if (count < 1000) return String(count);
  return count < 1e6 ? `${(count / 1000).toFixed(count < 10000 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`;
}

function orphanResult(message) {
  return { kind: "tool-entry", title: `Result of ${message.toolName}`, body: toolRow({ name: message.toolName, arguments: {} }, message) };
}

function shellContent(message) {
  const end = message.cancelled ? "cancelled" : message.exitCode ? `exit code ${message.exitCode}` : "";
  return {
    kind: "shell", title: "Shell command", text: () => message.output || "",
    body: element("div", { class: `tool ${message.cancelled || message.exitCode ? "failed" : "done"}` },
      element("div", { class: "tool-head" }, element("code", {}, `$ ${message.command || ""}`)),
      message.output ? preview(withoutTerminalCodes(message.output).replace(/\n+$/, ""), 10, plainBlock) : null,
      end ? element("p", { class: "note" }, end) : null),
  };
}

function systemContent(message) {
  const sections = Object.entries(message.sections || {});
  const removed = (message.toolsRemoved || []).map((tool) => tool.name);
  const prompt = textOf(message.content) || sections.map(([, text]) => text || "").join("\n\n");
  return {
    kind: "system", title: "System prompt", text: () => prompt,
    body: [
      prompt ? preview(prompt, 10, plainBlock) : null,
      sections.filter(([, text]) => text === null).map(([name]) => element("p", { class: "faint" }, `section ${name} removed`)),
      toolList(message.toolsAdded || []),
      removed.length ? element("p", { class: "faint" }, `tools removed: ${removed.join(", ")}`) : null,
    ],
  };
}

function toolList(tools) {
  if (!tools.length) return null;
  return fold("tools", `${tools.length} tools: ${tools.map((tool) => tool.name).join(", ")}`, () =>
    element("dl", {}, tools.map((tool) => [
      element("dt", {}, tool.name),
      element("dd", {}, element("p", {}, tool.description || ""),
        fold("parameters", "parameters", () => element("pre", {}, highlighted(JSON.stringify(tool.parameters, null, 2), "json")))),
    ])));
}
