import { useState } from "react";

import type { Diff, StateAt } from "../../api/types";
import { useApi } from "../../api/useApi";
import { compact } from "../../model/format";
import { ContentLink } from "../../parts/ContentLink";
import { Failed, Loading } from "../../parts/Notices";
import { Pinned, usePinned } from "./Pinned";
import { stateRefs, stateRows } from "./stateRows";
import { Value } from "./StateTree";

/** The state right after an event; what the event changed is marked, with what it was. */
export function StatePanel({
  run,
  length,
  at,
  onMove,
}: {
  run: string;
  length: number;
  at: number;
  onMove: (seq: number) => void;
}) {
  const [pinned, turn] = usePinned();
  const [isOnlyChanges, setOnlyChanges] = useState(false);
  const { data, error, isStale } = useApi<StateAt>(`/runs/${run}/state`, { at, hydrate: true }, true);
  const diff = useApi<Diff>(at > 1 ? `/runs/${run}/diff` : null, { from: at - 1, to: at, hydrate: true }, true);
  const refs = data === null ? null : stateRefs(data);
  const was = diff.data === null || diff.isStale || isStale ? new Map<string, unknown>() : changed(diff.data);
  return (
    <>
      <div className="bar-head">
        <h2>State</h2> after event {at}
        <label className="r">
          <input type="checkbox" checked={isOnlyChanges} onChange={(event) => setOnlyChanges(event.target.checked)} />{" "}
          only changes
        </label>
      </div>
      <div className="scroll fades" role="region" aria-label="State" tabIndex={0}>
        <Pinned run={run} length={length} at={at} pinned={pinned} onUnpin={turn} onMove={onMove} />
        {error !== null && <Failed error={error} />}
        {data === null && error === null && <Loading what="the state" />}
        {data !== null && (
          <div className="tree">
            {stateRows(data)
              .filter(([name]) => !isOnlyChanges || was.has(name))
              .map(([name, value]) => (
                <Field
                  key={name}
                  name={name}
                  value={value}
                  was={was.has(name) ? { value: was.get(name) } : null}
                  target={refs?.get(name)}
                  isPinned={pinned.includes(name)}
                  onPin={() => turn(name)}
                  onMove={onMove}
                />
              ))}
            {isOnlyChanges && was.size === 0 && <span className="sub">This event changed nothing of it.</span>}
          </div>
        )}
      </div>
    </>
  );
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

type FieldProps = {
  name: string;
  value: unknown;
  was: { value: unknown } | null;
  target: string | undefined;
  isPinned: boolean;
  onPin: () => void;
  onMove: (seq: number) => void;
};

function Field({ name, value, was, target, isPinned, onPin, onMove }: FieldProps) {
  return (
    <div className="field">
      <button
        type="button"
        className="pin"
        aria-pressed={isPinned}
        onClick={onPin}
        title={isPinned ? "Unpin" : "Pin: plot it over the run"}
        aria-label={`Pin ${name}`}
      >
        {isPinned ? "●" : "○"}
      </button>
      <div>
        <span className="key">{name}:</span>{" "}
        {was !== null && was.value !== undefined && was.value !== null && (
          <>
            <s className="was">{typeof was.value === "string" ? was.value : compact(was.value)}</s>{" "}
          </>
        )}
        <span className={was === null ? "" : "chg"}>
          <Value name={name} value={value} onMove={onMove} />
        </span>
        {target !== undefined && (
          <>
            {" "}
            <ContentLink target={target} />
          </>
        )}
      </div>
    </div>
  );
}
