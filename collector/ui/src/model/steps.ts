// Events folded into the steps that people read: a call and its end are one row. Pure.
import type { RecordedEvent } from "../api/types";

export type Lane = "model" | "tool" | "message" | "state" | "compression";
export type StepKind = "agent" | "step" | "model" | "tool" | "message" | "state" | "compression" | "other";

/** A row of the tree. `seq`..`end`: its first and last event; `end` null: it has not ended. Times are ms since 1970. */
export type Step = {
  seq: number;
  end: number | null;
  kind: StepKind;
  name: string;
  depth: number;
  failed: boolean;
  started: number;
  ended: number | null;
  /** The event that the playhead goes to when the row is chosen. */
  target: number;
};

const OPENS: Record<string, StepKind> = { llm_called: "model", tool_called: "tool", step_started: "step" };
const ENDS = new Set([
  "llm_completed", "llm_failed", "tool_completed", "tool_failed", "tool_denied", "step_completed", "step_failed",
]);
const STATE = new Set(["state_changed", "checkpoint_created", "plan_changed", "memory_written", "memory_read"]);
/** Events that are told by the row of another one, or by the header. */
const HIDDEN = new Set(["run_started", "run_completed", "run_sealed"]);

/** The steps of these events, in their order. Messages that a call gave are told by the call's row. */
export function steps(events: readonly RecordedEvent[]): Step[] {
  const rows: Step[] = [];
  const open = new Map<string, Step>();
  let depth = 0;
  for (const event of events) {
    if (ENDS.has(event.kind)) {
      const row = event.span === null ? undefined : open.get(event.span);
      if (row !== undefined) {
        close(row, event);
        open.delete(event.span as string);
        if (row.kind === "step" || row.kind === "agent") depth = Math.max(0, depth - 1);
        continue;
      }
    }
    if (HIDDEN.has(event.kind) || (event.kind === "message_added" && event.data.source === "output")) continue;
    const row = begin(event, depth);
    rows.push(row);
    if (event.kind in OPENS && event.span !== null) {
      open.set(event.span, row);
      if (event.kind === "step_started") depth += 1;
    }
  }
  return rows;
}

function begin(event: RecordedEvent, depth: number): Step {
  const at = Date.parse(event.time);
  const kind = kindOf(event);
  const isOpen = event.kind in OPENS;
  return {
    seq: event.seq,
    end: isOpen ? null : event.seq,
    kind,
    name: nameOf(event, kind),
    depth,
    failed: event.kind.endsWith("_failed"),
    started: at,
    ended: isOpen ? null : at,
    target: event.seq,
  };
}

function close(row: Step, event: RecordedEvent): void {
  row.end = event.seq;
  const { elapsed_ms: elapsed } = event.data as { elapsed_ms?: number };
  row.ended = elapsed === undefined ? Date.parse(event.time) : row.started + elapsed; // times here are whole ms
  row.failed = event.kind.endsWith("_failed");
  if (row.kind === "tool") row.target = event.seq;
}

function kindOf(event: RecordedEvent): StepKind {
  if (event.kind === "step_started") return event.data.step_kind === "agent" ? "agent" : "step";
  const opened = OPENS[event.kind];
  if (opened !== undefined) return opened;
  if (event.kind === "message_added") return "message";
  if (event.kind === "context_compressed") return "compression";
  return STATE.has(event.kind) ? "state" : "other";
}

function nameOf(event: RecordedEvent, kind: StepKind): string {
  const data = event.data as { name?: string; model?: string; key?: string; role?: string };
  if (kind === "model") return data.model ?? "model call";
  if (kind === "message") return `${data.role ?? "message"}: ${event.previews?.message ?? ""}`;
  if (kind === "compression") return "context compressed";
  if (event.kind === "state_changed") return `${data.key ?? "state"} set`;
  return data.name ?? event.kind.replaceAll("_", " ");
}

/** The lane of the timeline that an event is drawn in; null: none. */
export function laneOf(kind: string): Lane | null {
  if (kind.startsWith("llm_")) return "model";
  if (kind.startsWith("tool_")) return "tool";
  if (kind === "message_added" || kind.startsWith("input_")) return "message";
  if (kind === "context_compressed") return "compression";
  return STATE.has(kind) || kind.startsWith("approval_") ? "state" : null;
}

/** Whether something went wrong in this event. */
export const isError = (kind: string): boolean => kind.endsWith("_failed") || kind === "error";
