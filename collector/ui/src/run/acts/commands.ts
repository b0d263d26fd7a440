// Commands to paste into a shell. Pure.
import type { RecordedEvent } from "../../api/types";

/** Runs the program again up to an event, and on from there with another outcome of the form that this event has. */
export function forkCommand(
  run: string,
  at: number,
  event: Pick<RecordedEvent, "kind" | "previews"> | undefined,
): string {
  return `playhead fork ${run} --at ${at} --outcome ${quoted(outcomeFor(event))} -- python agent.py`;
}

type Answer = { text: string | null; tools: readonly Record<string, unknown>[] };

/** A fork in which the model answers this: a text, or calls of tools in the form of Chat Completions. */
export function forkWithAnswer(run: string, at: number, { text, tools }: Answer): string {
  const calls = tools.map(({ name, arguments: given }, n) => ({
    id: `call_${n + 1}`,
    type: "function",
    function: { name, arguments: JSON.stringify(given ?? {}) },
  }));
  const message = calls.length === 0 ? (text ?? "") : { role: "assistant", content: text, tool_calls: calls };
  return `playhead fork ${run} --at ${at} --outcome ${quoted(JSON.stringify({ message }))} -- python agent.py`;
}

/** A fork in which the model is asked with other messages, or another system prompt. */
export const forkWithEdits = (run: string, at: number, edits: { messages?: object; system?: string }): string =>
  `playhead fork ${run} --at ${at} --outcome ${quoted(JSON.stringify(edits))} -- python agent.py`;

export const resumeCommand = (run: string): string => `playhead resume ${run} -- python agent.py`;

function outcomeFor(event: Pick<RecordedEvent, "kind" | "previews"> | undefined): string {
  if (event?.kind.startsWith("llm_")) return '{"message": "..."}';
  if (event?.kind.startsWith("tool_") && event.kind !== "tool_failed")
    return `{"result": ${jsonOrText(event.previews?.result)}}`;
  return '{"result": "..."}';
}

/** A text as one word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function jsonOrText(preview: string | undefined): string {
  if (preview === undefined) return '"..."';
  try {
    return JSON.stringify(JSON.parse(preview));
  } catch {
    return JSON.stringify(preview);
  }
}
