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

/** Events that were folded, their steps, and what is needed to fold those that follow: calls that are open, by span. */
export type Folded = {
  readonly events: readonly RecordedEvent[];
  readonly rows: readonly Step[];
  readonly open: ReadonlyMap<string, number>;
  readonly depth: number;
};

const NOTHING: Folded = { events: [], rows: [], open: new Map(), depth: 0 };

/** The steps of these events, in their order. Messages that a call gave are told by the call's row. */
export function steps(events: readonly RecordedEvent[]): readonly Step[] {
  return fold(events, NOTHING).rows;
}

/** The same as a fold of all events; where `before` folded the first of them, only the others are looked at. */
export function fold(events: readonly RecordedEvent[], before: Folded = NOTHING): Folded {
  const known = isBeginning(before.events, events) ? before : NOTHING;
  const rows = known.rows.slice();
  const open = new Map(known.open);
  let depth = known.depth;
  for (let n = known.events.length; n < events.length; n++) {
    const event = events[n] as RecordedEvent;
    const opened = ENDS.has(event.kind) && event.span !== null ? open.get(event.span) : undefined;
    const row = opened === undefined ? undefined : rows[opened];
    if (opened !== undefined && row !== undefined) {
      rows[opened] = closed(row, event);
      open.delete(event.span as string);
      if (row.kind === "step" || row.kind === "agent") depth = Math.max(0, depth - 1);
      continue;
    }
    if (HIDDEN.has(event.kind) || (event.kind === "message_added" && event.data.source === "output")) continue;
    rows.push(begin(event, depth));
    if (event.kind in OPENS && event.span !== null) {
      open.set(event.span, rows.length - 1);
      if (event.kind === "step_started") depth += 1;
    }
  }
  return { events, rows, open, depth };
}

/** Events may be replaced later, so that each one is compared. */
function isBeginning(first: readonly RecordedEvent[], events: readonly RecordedEvent[]): boolean {
  return first.length <= events.length && first.every((event, n) => event === events[n]);
}

/** The index of the row that the playhead stands in: the last one that began, or that ended exactly there; -1: none. */
export function rowAt(rows: readonly Step[], at: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.seq ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const found = low - 1;
  for (let n = found; n >= 0 && n > found - NEAR; n--) if (rows[n]?.end === at) return n;
  return found;
}

/** Rows before the playhead of which one may end there. */
const NEAR = 50;

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

/** A row is replaced and not changed: who drew it compares. */
function closed(row: Step, event: RecordedEvent): Step {
  const { elapsed_ms: elapsed } = event.data as { elapsed_ms?: number };
  return {
    ...row,
    end: event.seq,
    ended: elapsed === undefined ? Date.parse(event.time) : row.started + elapsed, // times here are whole ms
    failed: event.kind.endsWith("_failed"),
    target: row.kind === "tool" ? event.seq : row.target,
  };
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
