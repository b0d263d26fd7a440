// The state as rows of a name and a value. Pure.
import type { StateAt } from "../../api/types";

/** Fields of the state that people look for first; what the program set comes before them. */
const SHOWN = [
  "status",
  "agent",
  "model",
  "llm_calls",
  "tool_calls",
  "input_tokens",
  "output_tokens",
  "context_tokens",
  "cost",
  "plan",
  "open_calls",
  "pending_approvals",
  "checkpoint",
  "compressions",
  "errors",
] as const;

/** Fields that name large contents: their refs are shown, which are links. */
const AS_REFS: ReadonlySet<string> = new Set(["checkpoint"]);

/** What the program set, then the fields that have a value. */
export function stateRows(state: StateAt): [string, unknown][] {
  const values = (state.values ?? {}) as Record<string, unknown>;
  const own = Object.entries((values.user_state ?? state.user_state) as Record<string, unknown>);
  const fields = SHOWN.map((name): [string, unknown] => [
    name,
    AS_REFS.has(name)
      ? (state as Record<string, unknown>)[name]
      : (values[name] ?? (state as Record<string, unknown>)[name]),
  ]);
  return [...own, ...fields.filter(([, value]) => !isEmpty(value))];
}

/** The contents in which values of rows are stored, by the row's name. */
export function stateRefs(state: StateAt): ReadonlyMap<string, string> {
  const refs = new Map<string, string>();
  for (const [name, ref] of Object.entries(state.user_state)) if (ref !== null) refs.set(name, ref);
  if (state.plan !== null) refs.set("plan", state.plan);
  return refs;
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);
