// Which model calls belong together: those of one agent, one after the other. Pure.
import type { RecordedEvent } from "../../api/types";

/** The agent's call in which each call is, by span; null: it is in none that is known. */
export type Agents = (span: string | null) => string | null;

/** The nearest agent around each call, as the calls' parents say; where they say nothing, null for all. */
export function agentsOf(events: readonly RecordedEvent[]): Agents {
  const around = new Map<string, string | null>();
  for (const { kind, span, data } of events) {
    if (span === null || around.has(span)) continue;
    const { parent, step_kind: step } = data as { parent?: string; step_kind?: string };
    if (kind === "step_started" && step === "agent") around.set(span, span);
    else if (kind === "run_started") around.set(span, null);
    else if (kind === "step_started" || kind === "tool_called" || kind === "llm_called")
      around.set(span, parent === undefined ? null : (around.get(parent) ?? null));
  }
  return (span) => (span === null ? null : (around.get(span) ?? null));
}

/** The model call of the same agent before this one; null: it is the first. Agents of one name that run beside each other are several. */
export function previousCall(
  events: readonly RecordedEvent[],
  call: { seq: number; actor: string | null },
): number | null {
  const agents = agentsOf(events.slice(0, call.seq));
  const mine = agents(events[call.seq - 1]?.span ?? null);
  for (let n = call.seq - 2; n >= 0; n--) {
    const event = events[n];
    if (event?.kind === "llm_called" && event.actor === call.actor && agents(event.span) === mine) return event.seq;
  }
  return null;
}

/** The messages that compressions behind event `after`, up to event `upto`, replaced by a summary. */
export function summarised(events: readonly RecordedEvent[], after: number, upto: number): ReadonlySet<string> {
  const found = events.slice(after, upto).filter((event) => event.kind === "context_compressed");
  return new Set(found.flatMap((event) => (event.data as { summarised?: string[] }).summarised ?? []));
}
