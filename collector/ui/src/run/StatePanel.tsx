import { useState } from "react";

import type { Diff, StateAt } from "../api/types";
import { useApi } from "../api/useApi";
import { compact } from "../model/format";
import { Failed, Loading } from "../parts/Notices";

/** Fields of the state that people look for first; what the program set comes before them. */
const SHOWN = ["status", "agent", "model", "llm_calls", "tool_calls", "input_tokens", "output_tokens", "context_tokens", "cost", "plan", "open_calls", "pending_approvals", "checkpoint", "compressions", "errors"] as const;

/** The state right after an event; what the event changed is marked, with what it was. */
export function StatePanel({ run, at }: { run: string; at: number }) {
  const [isOnlyChanges, setOnlyChanges] = useState(false);
  const { data, error } = useApi<StateAt>(`/runs/${run}/state`, { at, hydrate: true }, true);
  const diff = useApi<Diff>(at > 1 ? `/runs/${run}/diff` : null, { from: at - 1, to: at, hydrate: true }, true);
  const was = diff.data === null ? new Map<string, unknown>() : changed(diff.data);
  return (
    <>
      <div className="bar-head">
        <h2>State</h2> after event {at}
        <label className="r"><input type="checkbox" checked={isOnlyChanges} onChange={(event) => setOnlyChanges(event.target.checked)} /> only changes</label>
      </div>
      <div className="scroll" role="region" aria-label="State" tabIndex={0}>
        {error !== null && <Failed error={error} />}
        {data === null && error === null && <Loading what="the state" />}
        {data !== null && (
          <div className="tree">
            {rows(data).filter(([name]) => !isOnlyChanges || was.has(name)).map(([name, value]) => (
              <Field key={name} name={name} value={value} was={was.has(name) ? { value: was.get(name) } : null} />
            ))}
            {isOnlyChanges && was.size === 0 && <span className="sub">This event changed nothing of it.</span>}
          </div>
        )}
      </div>
    </>
  );
}

function rows(state: StateAt): [string, unknown][] {
  const values = (state.values ?? {}) as Record<string, unknown>;
  const own = Object.entries((values.user_state ?? state.user_state) as Record<string, unknown>);
  const fields = SHOWN.map((name): [string, unknown] => [name, values[name] ?? (state as Record<string, unknown>)[name]]);
  return [...own, ...fields.filter(([, value]) => !isEmpty(value))];
}

/** Names of what changed, and what they were. */
function changed(diff: Diff): Map<string, unknown> {
  const was = new Map<string, unknown>();
  for (const [name, moved] of Object.entries(diff.state.changed)) was.set(name, moved.from);
  for (const each of Object.values(diff.state.keyed)) {
    for (const name of Object.keys(each.added)) was.set(name, undefined);
    for (const [name, moved] of Object.entries(each.changed)) was.set(name, value(diff, moved.from));
  }
  for (const name of Object.keys(diff.state.lists)) was.set(name, undefined);
  return was;
}

const value = (diff: Diff, ref: unknown): unknown => (typeof ref === "string" ? (diff.values?.[ref] ?? ref) : ref);

function Field({ name, value, was }: { name: string; value: unknown; was: { value: unknown } | null }) {
  const isPlain = value === null || typeof value !== "object";
  return (
    <div>
      {name}:{" "}
      {was !== null && was.value !== undefined && was.value !== null && <><s className="was">{compact(was.value)}</s> </>}
      {isPlain ? <span className={was === null ? "" : "chg"}>{typeof value === "string" ? value : compact(value)}</span> : (
        <pre className={was === null ? "" : "chg"}>{JSON.stringify(value, null, 2)}</pre>
      )}
    </div>
  );
}

const isEmpty = (value: unknown): boolean => value === null || value === undefined || (Array.isArray(value) && value.length === 0);
