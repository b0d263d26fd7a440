import type { TimedCall } from "../../api/types";

/** A call for tests: `from` to `to` in ms, null: it is under way. */
export function timed(
  seq: number,
  kind: TimedCall["kind"],
  name: string,
  from: number,
  to: number | null,
  more: Partial<TimedCall> = {},
): TimedCall {
  return {
    seq,
    ended_seq: to === null ? null : seq + 1,
    kind,
    name,
    parent: null,
    agent: null,
    actor: null,
    turn: null,
    started_ms: from,
    elapsed_ms: to === null ? null : to - from,
    own_ms: to === null ? null : to - from,
    status: to === null ? "open" : "completed",
    error: null,
    on_path: true,
    lost: false,
    ...more,
  };
}
