// Messages of Chat Completions as texts that a person edits, and what became of them. Pure.
import { plainLine } from "../../model/plainLine";

export type ChatMessage = Record<string, unknown>;

/** A message as a text: what was said, or, of a message that is more than a text, its JSON. */
export type Editable = { role: string; text: string; isJson: boolean };

export function editable(message: ChatMessage): Editable {
  const role = String(message.role ?? "");
  const isText = typeof message.content === "string" && message.tool_calls === undefined;
  return { role, text: isText ? String(message.content) : JSON.stringify(message, null, 2), isJson: !isText };
}

/** The message with another text, or why the text is none. */
export function edited(message: ChatMessage, text: string): { message: ChatMessage } | { problem: string } {
  if (!editable(message).isJson) return { message: { ...message, content: text } };
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { message: value as ChatMessage };
    return { problem: "A message is an object: {…}." };
  } catch (error) {
    return { problem: `This is no JSON: ${(error as Error).message}` };
  }
}

/** Messages with another text than the recorded one, by their numbers from 0. */
const changes = (messages: readonly ChatMessage[], texts: ReadonlyMap<number, string>): [number, string][] =>
  [...texts].filter(([n, text]) => messages[n] !== undefined && editable(messages[n]).text !== text);

export const countChanged = (messages: readonly ChatMessage[], texts: ReadonlyMap<number, string>): number =>
  changes(messages, texts).length;

/** What to send: null where nothing was changed. A problem names the message by its number. */
export function changedMessages(
  messages: readonly ChatMessage[],
  texts: ReadonlyMap<number, string>,
): { messages: ChatMessage[] | null } | { problem: string } {
  const sent = [...messages];
  const changed = changes(messages, texts);
  for (const [n, text] of changed) {
    const result = edited(messages[n] as ChatMessage, text);
    if ("problem" in result) return { problem: `Message ${n + 1}: ${result.problem}` };
    sent[n] = result.message;
  }
  return { messages: changed.length === 0 ? null : sent };
}

/**
 * The outcome with which a fork asks its model with the same changes: each text by the position of its message; null where
 * nothing was changed, or where a changed text is no message. `system`: another text of instructions apart from the messages.
 */
export function editOutcome(
  messages: readonly ChatMessage[],
  texts: ReadonlyMap<number, string>,
  system: string | null,
): { messages?: Record<string, unknown>; system?: string } | null {
  const edits: Record<string, unknown> = {};
  for (const [n, text] of changes(messages, texts)) {
    const message = messages[n] as ChatMessage;
    const result = edited(message, text);
    if ("problem" in result) return null;
    edits[String(n)] = editable(message).isJson ? result.message : text;
  }
  const outcome = {
    ...(Object.keys(edits).length > 0 && { messages: edits }),
    ...(system !== null && { system }),
  };
  return Object.keys(outcome).length > 0 ? outcome : null;
}

/** A message in a few words: the tools that it asks for, or its beginning. */
export function brief(message: ChatMessage, most = 80): string {
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as { function?: { name?: string } }[]) : [];
  const names = calls.flatMap((call) => (call.function?.name === undefined ? [] : [call.function.name]));
  const text = typeof message.content === "string" ? message.content : JSON.stringify(message.content ?? "");
  const said = names.length > 0 ? names.join(", ") : plainLine(text);
  return said.length > most ? `${said.slice(0, most)}…` : said;
}

/** Instructions outside of the messages as one text; null: there are none. */
export function systemText(system: unknown): string | null {
  if (system === null || system === undefined || system === "") return null;
  if (typeof system === "string") return system;
  const parts = Array.isArray(system) ? (system as unknown[]) : [system];
  const texts = parts.map((part) => {
    if (typeof part !== "object" || part === null) return String(part);
    const { content, text } = part as { content?: unknown; text?: unknown };
    return String(content ?? text ?? JSON.stringify(part));
  });
  return texts.join("\n");
}
