// Gemini CLI's own compression (`GeminiClient.tryCompressChat`, which the command /compress calls): what its chat has
// afterwards. Jobs and answers as in jobs.py. Its code keeps the newest 30 %: `keep` has no influence.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = process.argv[2]; // where package.json and node_modules are
const require = createRequire(join(folder, "package.json"));
const home = mkdtempSync(join(tmpdir(), "compaction-"));
Object.assign(process.env, {
  HOME: home,
  GEMINI_CLI_HOME: home,
  GEMINI_API_KEY: "none",
  GOOGLE_GEMINI_BASE_URL: process.env.MODEL_URL,
});
for (const level of ["log", "info", "debug", "warn"]) console[level] = console.error;
const core = await import(pathToFileURL(require.resolve("@google/gemini-cli-core")));
const { version } = require("@google/gemini-cli-core/package.json");

const config = new core.Config({
  sessionId: "compaction",
  targetDir: home,
  cwd: home,
  debugMode: false,
  model: "gemini-2.5-flash",
  usageStatisticsEnabled: false,
  telemetry: { enabled: false },
});
await config.initialize();
await config.refreshAuth(core.AuthType.USE_GEMINI);
const client = config.getGeminiClient();

process.stdout.write(JSON.stringify({ version }) + "\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { messages } = JSON.parse(line);
  let answer;
  try {
    answer = { messages: await compact(messages) };
  } catch (error) {
    console.error(error);
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
rmSync(home, { recursive: true, force: true });
process.exit(0); // its timers would keep the process alive

// The last message is about to be sent: Gemini CLI compresses what is before it.
async function compact(messages) {
  const contents = contentsOf(messages);
  const request = contents.pop();
  await client.resumeChat(contents.map((content, at) => ({ id: `message-${at}`, content })));
  await client.tryCompressChat("compaction", true);
  return messagesOf([...client.getHistory().map(withoutMachine), request].filter(({ parts }) => parts.length > 0));
}

// Gemini CLI puts what it knows about the machine before every chat, before as well as after a compression.
function withoutMachine({ role, parts }) {
  return { role, parts: parts.filter((part) => !part.text?.startsWith("<session_context>")) };
}

function contentsOf(messages) {
  const names = new Map();
  const contents = [];
  for (const message of messages) {
    const parts = message.content && message.role !== "tool" ? [{ text: message.content }] : [];
    for (const call of message.tool_calls ?? []) {
      names.set(call.id, call.function.name);
      const args = JSON.parse(call.function.arguments);
      parts.push({ functionCall: { id: call.id, name: call.function.name, args } });
    }
    if (message.role === "tool") {
      const id = message.tool_call_id;
      parts.push({ functionResponse: { id, name: names.get(id), response: { output: message.content } } });
    }
    contents.push({ role: message.role === "assistant" ? "model" : "user", parts });
  }
  return contents;
}

function messagesOf(contents) {
  return contents.flatMap(({ role, parts }) => {
    const results = parts.filter((part) => part.functionResponse);
    if (results.length > 0) {
      return results.map(({ functionResponse: { id, response } }) => ({
        role: "tool",
        tool_call_id: id,
        content: response.output,
      }));
    }
    const calls = parts.filter((part) => part.functionCall);
    const message = {
      role: role === "model" ? "assistant" : "user",
      content: parts.map((part) => part.text ?? "").join("") || null,
    };
    if (calls.length > 0) {
      message.tool_calls = calls.map(({ functionCall: { id, name, args } }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      }));
    }
    return [message];
  });
}
