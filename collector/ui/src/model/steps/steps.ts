// Events folded into the steps that people read: a call and its end are one row. Pure.
import type { RecordedEvent } from "../../api/types";

export type Lane = "model" | "tool" | "message" | "state" | "compression";
export type StepKind = "agent" | "step" | "model" | "tool" | "message" | "state" | "compression" | "other";

/**
 * A row of the tree. `seq`..`end`: its first and last event; `end` null: it has not ended. `parent`: the seq of the row
 * that it is below; null: of none. Times are ms since 1970.
 */
export type Step = {
  seq: number;
  end: number | null;
  span: string | null;
  kind: StepKind;
  name: string;
  parent: number | null;
  depth: number;
  failed: boolean;
  started: number;
  ended: number | null;
  /** Of a model call that has ended: tokens in and out, as the provider counted them. */
  tokens: { input: number; output: number } | null;
  /** The event that the playhead goes to when the row is chosen. */
  target: number;
};

const OPENS: Record<string, StepKind> = { llm_called: "model", tool_called: "tool", step_started: "step" };
const ENDS = new Set([
  "llm_completed",
  "llm_failed",
  "tool_completed",
  "tool_failed",
  "tool_denied",
  "step_completed",
  "step_failed",
]);
const STATE = new Set(["state_changed", "checkpoint_created", "plan_changed", "memory_written", "memory_read"]);
/** Events that are told by the row of another one, or by the header. */
const HIDDEN = new Set(["run_started", "run_completed", "run_sealed"]);

/**
 * Events that were folded, their rows in the order in which they began, and what is needed to fold those that follow:
 * indexes of the rows of open calls and of all calls, by span; those of open steps, the innermost one last; and the
 * span of the run's own call.
 */
export type Folded = {
  readonly events: readonly RecordedEvent[];
  readonly rows: readonly Step[];
  readonly open: ReadonlyMap<string, number>;
  readonly calls: ReadonlyMap<string, number>;
  readonly path: readonly number[];
  readonly root: string | null;
};

const NOTHING: Folded = { events: [], rows: [], open: new Map(), calls: new Map(), path: [], root: null };

/** The steps of these events, in their order. Messages that a call gave are told by the call's row. */
export function steps(events: readonly RecordedEvent[]): readonly Step[] {
  return fold(events, NOTHING).rows;
}

/** The same as a fold of all events; where `before` folded the first of them, only the others are looked at. */
export function fold(events: readonly RecordedEvent[], before: Folded = NOTHING): Folded {
  const known = isBeginning(before.events, events) ? before : NOTHING;
  const folding = new Folding(known);
  for (let n = known.events.length; n < events.length; n++) folding.add(events[n] as RecordedEvent);
  const { rows, open, calls, path, root } = folding;
  return { events, rows, open, calls, path, root };
}

/** Rows while events are added to a copy of what was folded before. */
class Folding {
  readonly rows: Step[];
  readonly open: Map<string, number>;
  readonly calls: Map<string, number>;
  path: readonly number[];
  root: string | null;

  constructor(before: Folded) {
    this.rows = before.rows.slice();
    this.open = new Map(before.open);
    this.calls = new Map(before.calls);
    this.path = before.path;
    this.root = before.root;
  }

  add(event: RecordedEvent): void {
    if (event.kind === "run_started") this.root = event.span;
    if (this.end(event) || HIDDEN.has(event.kind) || (event.kind === "message_added" && event.data.source === "output"))
      return;
    const parent = this.parentOf(event);
    const row = begin(event, parent === null ? null : (this.rows[parent] ?? null));
    if (event.kind in OPENS && event.span !== null) this.begin(event.span, row);
    this.rows.push(row);
  }

  /** Closes the row of a call; false when the event ends none. */
  private end(event: RecordedEvent): boolean {
    const opened = ENDS.has(event.kind) && event.span !== null ? this.open.get(event.span) : undefined;
    const row = opened === undefined ? undefined : this.rows[opened];
    if (opened === undefined || row === undefined) return false;
    this.rows[opened] = closed(row, event);
    this.open.delete(event.span as string);
    if (this.path.includes(opened)) this.path = this.path.filter((each) => each !== opened);
    return true;
  }

  private begin(span: string, row: Step): void {
    const place = this.rows.length;
    this.open.set(span, place);
    this.calls.set(span, place);
    if (row.kind === "step" || row.kind === "agent") this.path = [...this.path, place];
    // What a call brought in comes before it, and is of its span.
    for (let n = place - 1; this.rows[n]?.span === span; n--)
      this.rows[n] = { ...(this.rows[n] as Step), parent: row.parent, depth: row.depth };
  }

  /** The index of the row that an event's row is below. Without a call's parent, it is the innermost open step. */
  private parentOf(event: RecordedEvent): number | null {
    const isCall = event.kind in OPENS;
    const around = isCall ? (event.data as { parent?: string }).parent : event.span;
    if (around != null && around === this.root) return null;
    const found = around == null ? undefined : this.calls.get(around);
    if (found === undefined) return isCall && around != null ? null : (this.path.at(-1) ?? null);
    const row = this.rows[found];
    return isCall || row?.kind !== "model" ? found : this.indexOf(row.parent);
  }

  private indexOf(seq: number | null): number | null {
    const found = seq === null ? -1 : rowAt(this.rows, seq, false);
    return found < 0 ? null : found;
  }
}

/** Events may be replaced later, so that each one is compared. */
function isBeginning(first: readonly RecordedEvent[], events: readonly RecordedEvent[]): boolean {
  return first.length <= events.length && first.every((event, n) => event === events[n]);
}

/**
 * The index of the row that the playhead stands in, of rows in the order in which they began: the last one that began,
 * or (`orEnds`) that ended exactly there; -1: none.
 */
export function rowAt(rows: readonly Step[], at: number, orEnds = true): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.seq ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const found = low - 1;
  for (let n = found; orEnds && n >= 0 && n > found - NEAR; n--) if (rows[n]?.end === at) return n;
  return found;
}

/** Rows before the playhead of which one may end there. */
const NEAR = 50;

function begin(event: RecordedEvent, parent: Step | null): Step {
  const at = Date.parse(event.time);
  const kind = kindOf(event);
  const isOpen = event.kind in OPENS;
  return {
    seq: event.seq,
    end: isOpen ? null : event.seq,
    span: event.span,
    kind,
    name: nameOf(event, kind),
    parent: parent?.seq ?? null,
    depth: parent === null ? 0 : parent.depth + 1,
    failed: event.kind.endsWith("_failed"),
    started: at,
    ended: isOpen ? null : at,
    tokens: null,
    target: event.seq,
  };
}

/** A row is replaced and not changed: who drew it compares. */
function closed(row: Step, event: RecordedEvent): Step {
  const { elapsed_ms: elapsed, usage } = event.data as {
    elapsed_ms?: number;
    usage?: { input_tokens?: number; output_tokens?: number };
  };
  return {
    ...row,
    end: event.seq,
    ended: elapsed === undefined ? Date.parse(event.time) : row.started + elapsed, // times here are whole ms
    failed: event.kind.endsWith("_failed"),
    tokens:
      row.kind === "model" && usage?.input_tokens !== undefined
        ? { input: usage.input_tokens, output: usage.output_tokens ?? 0 }
        : null,
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
