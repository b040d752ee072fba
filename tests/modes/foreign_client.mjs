// Drives a session with a client of another implementation, and prints what came of it as one JSON object.
// Arguments: module with `RpcClient`, script that starts the agent, working directory, provider, model.
const [clientModule, cliPath, cwd, provider, model] = process.argv.slice(2);
const { RpcClient } = await import(clientModule);

const client = new RpcClient({ cliPath, cwd, provider, model, args: ["--offline"] });
const seen = [];
let onDelta;
client.onEvent((event) => {
  seen.push(event.type);
  if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") onDelta?.();
});
const firstDelta = () => new Promise((resolve) => { onDelta = resolve; });
const result = {};
await client.start();
try {
  const state = await client.getState();
  result.start = [state.model.id, state.messageCount, state.isStreaming];
  const first = await client.promptAndWait("first question");
  result.prompt = [first.at(0).type, first.at(-1).type, await client.getLastAssistantText()];
  const firstFile = (await client.getState()).sessionFile;

  // Steer and follow up while the model speaks, then stop it.
  let delta = firstDelta();
  await client.prompt("second question");
  await delta;
  await client.steer("steered");
  await client.followUp("followed");
  result.pending = (await client.getState()).pendingMessageCount;
  await client.abort();
  result.aborted = (await client.getState()).isStreaming;
  result.cleared = await client.clearQueue();
  const settled = client.waitForIdle(20000);
  await client.prompt("third question");
  await settled;
  result.third = await client.getLastAssistantText();

  await client.setSessionName("driven");
  await client.setThinkingLevel("high");
  result.levels = [await client.getAvailableThinkingLevels(), await client.cycleThinkingLevel()];
  result.models = (await client.getAvailableModels()).map((each) => each.id);
  result.setModel = (await client.setModel(provider, model)).id;
  result.cycled = await client.cycleModel();
  const shell = await client.bash("echo shell; exit 3");
  result.bash = [shell.output, shell.exitCode, shell.cancelled];
  result.entries = (await client.getEntries()).entries.length > 5;
  result.tree = (await client.getTree()).tree.length;
  result.messages = (await client.getMessages()).map((each) => each.role);
  const stats = await client.getSessionStats();
  result.stats = [stats.userMessages, stats.contextUsage.contextWindow];
  result.commands = await client.getCommands();
  result.page = (await client.exportHtml()).path;
  result.ownPage = (await client.exportHtml("own.html")).path;

  const compacted = await client.compact("be brief");
  result.compact = [compacted.summary.includes("summary"), typeof compacted.tokensBefore, typeof compacted.firstKeptEntryId];

  const forkMessages = await client.getForkMessages();
  result.forkMessages = forkMessages.map((each) => each.text);
  result.fork = await client.fork(forkMessages[1].entryId);
  result.forkedFile = (await client.getState()).sessionFile !== firstFile;
  result.clone = await client.clone();
  result.newSession = await client.newSession();
  result.emptyCount = (await client.getState()).messageCount;
  result.switch = await client.switchSession(firstFile);
  const back = await client.getState();
  result.back = [back.sessionFile === firstFile, back.sessionName];
  try {
    await client.setModel("none", "none");
  } catch (error) {
    result.refusal = error.message.includes("none/none");
  }
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  await client.setAutoCompaction(true);
  await client.setAutoRetry(true);
  await client.abortRetry();
  await client.abortBash();
  result.settled = seen.filter((type) => type === "agent_settled").length;
} finally {
  await client.stop();
}
console.log(JSON.stringify(result));
