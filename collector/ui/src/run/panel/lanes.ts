// The calls of a run as lanes: one for each agent, a bar for each call of a model or a tool. Pure.
import type { TimedCall } from "../../api/types";
import type { Interval } from "./timeAxis";

/** A bar. `end` of a call that is under way is the end of what is known; `isOpen` says so. */
export type Bar = Interval & {
  seq: number;
  ended: number | null;
  turn: number | null;
  kind: "model" | "tool" | "step";
  name: string;
  isOpen: boolean;
  isFailed: boolean;
};

/** A lane: `start` to `end` is the time in which the agent was at work. */
export type Lane = Interval & { name: string; isOpen: boolean; isFailed: boolean; bars: Bar[] };

/** Whether nothing below this call is shown in its place. */
const isWork = (call: TimedCall, parents: ReadonlySet<number>): boolean =>
  call.kind === "model" || call.kind === "tool" || (call.kind === "step" && !parents.has(call.seq));

/** The seqs of the calls that made others. */
export const parentsOf = (calls: readonly TimedCall[]): ReadonlySet<number> =>
  new Set(calls.flatMap((call) => (call.parent === null ? [] : [call.parent])));

export const endOf = (call: TimedCall, known: number): number =>
  call.elapsed_ms === null ? Math.max(known, call.started_ms) : call.started_ms + call.elapsed_ms;

/** The times in which models, tools or steps of the program were at work. An agent that waits for its user is not. */
export function workOf(calls: readonly TimedCall[], known: number): Interval[] {
  const parents = parentsOf(calls);
  return calls
    .filter((call) => isWork(call, parents))
    .map((call) => ({ start: call.started_ms, end: endOf(call, known) }));
}

/**
 * Lanes in the order in which their agents began. `known`: ms since the run began up to which it is known. Agents of one name
 * share a lane if they did not work at the same time. Calls outside of any agent have the lane `unnamed`, of their actor.
 */
export function lanesOf(calls: readonly TimedCall[], known: number, unnamed: string): Lane[] {
  const parents = parentsOf(calls);
  const own = new Map<string, Lane>();
  const lane = (key: string, name: string, start: number): Lane => {
    const found = own.get(key) ?? { name, start, end: start, isOpen: false, isFailed: false, bars: [] };
    own.set(key, found);
    return found;
  };
  const names = new Map(calls.filter((call) => call.kind === "agent").map((call) => [call.seq, call.name]));
  for (const call of calls) {
    const end = endOf(call, known);
    const isOpen = call.status === "open";
    const isFailed = call.status === "failed";
    if (call.kind === "agent") {
      const agent = lane(`${call.seq} ${call.name}`, call.name, call.started_ms);
      Object.assign(agent, { end: Math.max(agent.end, end), isOpen, isFailed });
    } else if (isWork(call, parents)) {
      const name = call.actor ?? (call.agent === null ? undefined : names.get(call.agent)) ?? unnamed;
      const within = lane(`${call.agent ?? ""} ${name}`, name, call.started_ms);
      within.end = Math.max(within.end, end);
      const { seq, ended_seq: ended, turn, name: what } = call;
      within.bars.push({
        seq,
        ended,
        turn,
        kind: call.kind as Bar["kind"],
        name: what,
        start: call.started_ms,
        end,
        isOpen,
        isFailed,
      });
    }
  }
  return shared([...own.values()]);
}

/** Joins lanes of one name that follow each other. */
function shared(lanes: readonly Lane[]): Lane[] {
  const byName = new Map<string, Lane[]>();
  const kept: Lane[] = [];
  for (const lane of lanes) {
    const same = byName.get(lane.name) ?? [];
    const free = same.find((before) => before.end <= lane.start);
    if (free === undefined) {
      byName.set(lane.name, [...same, lane]);
      kept.push(lane);
    } else {
      free.bars.push(...lane.bars);
      Object.assign(free, { end: lane.end, isOpen: lane.isOpen, isFailed: free.isFailed || lane.isFailed });
    }
  }
  return kept;
}

/** Moments of events: what is known of them from the calls. `seqs` rise, and `ms` do not fall. */
export type Moments = { seqs: readonly number[]; ms: readonly number[] };

export function momentsOf(calls: readonly TimedCall[]): Moments {
  const known = calls.flatMap((call): [number, number][] => [
    [call.seq, call.started_ms],
    ...(call.ended_seq === null || call.elapsed_ms === null
      ? []
      : [[call.ended_seq, call.started_ms + call.elapsed_ms] as [number, number]]),
  ]);
  known.sort((a, b) => a[0] - b[0]);
  let reached = 0;
  return {
    seqs: known.map(([seq]) => seq),
    ms: known.map(([, ms]) => (reached = Math.max(reached, ms))),
  };
}

/** The moment of an event; between two that are known, in proportion. */
export function msOf({ seqs, ms }: Moments, seq: number): number {
  const after = firstNotBelow(seqs, seq);
  if (seqs.length === 0) return 0;
  if (after === 0) return ms[0] ?? 0;
  if (after === seqs.length) return ms.at(-1) ?? 0;
  const [low, high] = [seqs[after - 1] ?? 0, seqs[after] ?? 0];
  const [start, end] = [ms[after - 1] ?? 0, ms[after] ?? 0];
  return start + ((seq - low) / Math.max(1, high - low)) * (end - start);
}

/** The last event at which a call began or ended up to a moment; before the first of them, the first. */
export function seqAt({ seqs, ms }: Moments, moment: number): number {
  const after = firstNotBelow(ms, moment + 1e-6);
  return seqs[Math.max(0, after - 1)] ?? 1;
}

/** The index of the first number that is not below `least`; the length if there is none. `numbers` do not fall. */
function firstNotBelow(numbers: readonly number[], least: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The most agents that were at work at the same time, and how long at least one of them was. */
export function workload(lanes: readonly Lane[]): { atOnce: number; busy: number } {
  const edges = lanes.flatMap((lane) =>
    lane.bars.flatMap((bar): [number, number][] => [
      [bar.start, 1],
      [bar.end, -1],
    ]),
  );
  edges.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let [now, atOnce, busy, since] = [0, 0, 0, 0];
  for (const [ms, step] of edges) {
    if (now === 0) since = ms;
    now += step;
    if (now === 0) busy += ms - since;
    atOnce = Math.max(atOnce, now);
  }
  return { atOnce, busy };
}
