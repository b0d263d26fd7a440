// Messages of Chat Completions as texts that a person edits, and what became of them. Pure.

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

/** What to send: null where nothing was changed. A problem names the message by its number. */
export function changedMessages(
  messages: readonly ChatMessage[],
  texts: ReadonlyMap<number, string>,
): { messages: ChatMessage[] | null } | { problem: string } {
  const changed = [...texts].filter(([n, text]) => messages[n] !== undefined && editable(messages[n]).text !== text);
  if (changed.length === 0) return { messages: null };
  const sent = [...messages];
  for (const [n, text] of changed) {
    const result = edited(messages[n] as ChatMessage, text);
    if ("problem" in result) return { problem: `Message ${n + 1}: ${result.problem}` };
    sent[n] = result.message;
  }
  return { messages: sent };
}

/** A message in a few words: the tools that it asks for, or its beginning. */
export function brief(message: ChatMessage, most = 80): string {
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as { function?: { name?: string } }[]) : [];
  const names = calls.flatMap((call) => (call.function?.name === undefined ? [] : [call.function.name]));
  const text = typeof message.content === "string" ? message.content : JSON.stringify(message.content ?? "");
  const said = names.length > 0 ? names.join(", ") : text.replaceAll(/\s+/g, " ").trim();
  return said.length > most ? `${said.slice(0, most)}…` : said;
}
