// The conditions of a search, as they stand in the address. Pure.

export type Condition = { name: string; values: readonly string[] | null; title: string };

/** Sets a condition; null or an empty value takes it back. */
export type SetCondition = (name: string, value: string | null) => void;

/** A condition by which the shown results can be narrowed: how often they have each value, and the one that is set. */
export type Facet = { name: string; counts: { value: string; count: number }[]; chosen: string | null };

const RESULTS = ["ok", "error", "empty", "cancelled", "unknown"];
const TIMES: Condition[] = [
  { name: "since", values: null, title: "the run began then or later, as 2026-11-23 or 2026-11-23T08:00" },
  { name: "until", values: null, title: "the run began before then" },
];

/** What decisions are searched by; `values` null: any text. */
export const OF_DECISIONS: readonly Condition[] = [
  { name: "tool", values: null, title: "this tool was called, or asked for" },
  { name: "argument", values: null, title: "name=value: the call has this argument" },
  { name: "value", values: null, title: "any argument has this value" },
  {
    name: "source",
    values: ["user", "tool_result", "assistant", "system", "definition", "derived", "program", "not_found", "invented"],
    title: "where such a value comes from",
  },
  {
    name: "attribution",
    values: [
      "user_request",
      "follow_up",
      "error_recovery",
      "plan_step",
      "agent_message",
      "agent_initiative",
      "unknown",
    ],
    title: "why the tool was called",
  },
  { name: "result", values: [...RESULTS, "open"], title: "what the call came to" },
  { name: "after", values: ["first", ...RESULTS], title: "what the tool call before it came to" },
  {
    name: "kind",
    values: ["tool_call", "tool_request", "answer", "handoff", "branch", "approval", "stop"],
    title: "what kind of decision",
  },
  { name: "agent", values: null, title: "who decided" },
  { name: "status", values: ["completed", "failed", "cancelled", "lost"], title: "how the run ended" },
  ...TIMES,
];

/** What texts are searched by, beside their words. */
export const OF_TEXTS: readonly Condition[] = [
  { name: "role", values: ["system", "user", "assistant", "tool", "developer"], title: "whose message it is" },
  ...TIMES,
];

/** How often each value occurs, the most frequent first; at most `most`. Null is not counted. */
export function tally(values: readonly (string | null)[], most: number): { value: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || a.value.localeCompare(b.value))
    .slice(0, most);
}
