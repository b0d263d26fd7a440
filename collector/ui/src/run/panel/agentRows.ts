// What each agent of a run did, as rows of a table. Pure.
import type { TimedCall, TurnRow } from "../../api/types";
import { endOf } from "./lanes";
import { union } from "./timeAxis";

/**
 * An agent: `seq` is the first event of its first work, `calledBy` the agent around it. Times in ms: `took` from its begin to its
 * end, `model` and `tool` the time in which at least one of its own calls of that kind was under way. Tokens and cost are null
 * where none of its calls has them.
 */
export type AgentRow = {
  seq: number;
  name: string;
  depth: number;
  calledBy: string | null;
  times: number;
  status: TimedCall["status"];
  lost: boolean;
  turns: number;
  tools: number;
  errors: number;
  input: number | null;
  output: number | null;
  cost: number | null;
  took: number;
  model: number;
  tool: number;
  onPath: boolean;
};

/** Agents in the order in which they began. Several of one name, called by the same one, are one row: `times` says how many. */
export function agentRows(
  calls: readonly TimedCall[],
  lines: readonly TurnRow[],
  known: number,
  unnamed: string,
): AgentRow[] {
  const bySeq = new Map(calls.map((call) => [call.seq, call]));
  const usage = new Map(
    lines.flatMap((line) => (line.kind === "turn" && line.turn !== null ? [[line.turn, line] as const] : [])),
  );
  const rows = new Map<string, AgentRow>();
  const own = new Map<AgentRow, TimedCall[]>();
  const rowOf = (agent: TimedCall | undefined, name: string, first: TimedCall): AgentRow => {
    const around =
      agent === undefined
        ? undefined
        : agent.name === name && agent.agent !== null
          ? bySeq.get(agent.agent)
          : agent.name === name
            ? undefined
            : agent;
    const key = `${around?.name ?? ""}\n${name}`;
    const found = rows.get(key);
    if (found !== undefined) return found;
    const made: AgentRow = {
      ...{
        seq: first.seq,
        name,
        depth: depthOf(around, bySeq),
        calledBy: around?.name ?? null,
        times: 0,
        status: "completed",
        lost: false,
      },
      ...{
        turns: 0,
        tools: 0,
        errors: 0,
        input: null,
        output: null,
        cost: null,
        took: 0,
        model: 0,
        tool: 0,
        onPath: false,
      },
    };
    rows.set(key, made);
    own.set(made, []);
    return made;
  };
  for (const call of calls) {
    if (call.kind === "step") continue;
    const agent = call.kind === "agent" ? call : call.agent === null ? undefined : bySeq.get(call.agent);
    const name = call.kind === "agent" ? call.name : (call.actor ?? agent?.name ?? unnamed);
    const row = rowOf(agent, name, call);
    if (call.kind === "agent") {
      row.times += 1;
      row.took += endOf(call, known) - call.started_ms;
      row.status = call.status === "completed" ? row.status : call.status;
      row.lost ||= call.lost;
      row.onPath ||= call.on_path;
      continue;
    }
    own.get(row)?.push(call);
    row.onPath ||= call.on_path;
    if (call.status === "failed") row.errors += 1;
    if (call.kind === "tool") row.tools += 1;
    else addTurn(row, call.turn === null ? undefined : usage.get(call.turn));
  }
  for (const [row, calls] of own) {
    const time = (kind: TimedCall["kind"] | null) =>
      union(
        calls
          .filter((call) => kind === null || call.kind === kind)
          .map((call) => ({ start: call.started_ms, end: endOf(call, known) })),
      ).reduce((sum, each) => sum + each.end - each.start, 0);
    row.model = time("model");
    row.tool = time("tool");
    if (row.times === 0) row.took = time(null);
  }
  return [...rows.values()];
}

function addTurn(row: AgentRow, line: TurnRow | undefined): void {
  row.turns += 1;
  if (line === undefined) return;
  if (line.input_tokens !== null) row.input = (row.input ?? 0) + line.input_tokens;
  if (line.output_tokens !== null) row.output = (row.output ?? 0) + line.output_tokens;
  if (line.cost !== null) row.cost = (row.cost ?? 0) + line.cost;
}

function depthOf(around: TimedCall | undefined, bySeq: ReadonlyMap<number, TimedCall>): number {
  let depth = 0;
  for (let agent = around; agent !== undefined; agent = agent.agent === null ? undefined : bySeq.get(agent.agent))
    depth += 1;
  return depth;
}
