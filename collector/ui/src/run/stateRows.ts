// The state as rows of a name and a value. Pure.
import type { StateAt } from "../api/types";

/** Fields of the state that people look for first; what the program set comes before them. */
const SHOWN = ["status", "agent", "model", "llm_calls", "tool_calls", "input_tokens", "output_tokens", "context_tokens", "cost", "plan", "open_calls", "pending_approvals", "checkpoint", "compressions", "errors"] as const;

/** What the program set, then the fields that have a value. */
export function stateRows(state: StateAt): [string, unknown][] {
  const values = (state.values ?? {}) as Record<string, unknown>;
  const own = Object.entries((values.user_state ?? state.user_state) as Record<string, unknown>);
  const fields = SHOWN.map((name): [string, unknown] => [name, values[name] ?? (state as Record<string, unknown>)[name]]);
  return [...own, ...fields.filter(([, value]) => !isEmpty(value))];
}

const isEmpty = (value: unknown): boolean => value === null || value === undefined || (Array.isArray(value) && value.length === 0);
