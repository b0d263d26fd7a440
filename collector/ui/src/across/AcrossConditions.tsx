import { useMemo } from "react";

import type { Page, RunSummary } from "../api/types";
import { useApi } from "../api/useApi";
import type { Conditions } from "./links";
import conditions from "../parts/Conditions.module.css";

const DAY_MS = 86_400_000;
/** Periods that are asked for most, in days. */
const PERIODS: [string, number][] = [
  ["24 hours", 1],
  ["7 days", 7],
  ["30 days", 30],
];
/** Conditions with suggestions from the newest runs. */
const NAMED: [string, (run: RunSummary) => readonly string[]][] = [
  ["agent", (run) => run.agents],
  ["model", (run) => run.models],
  ["tool", (run) => run.tools],
  ["tag", (run) => run.tags],
];
const SUGGESTING = 100;

/** The time so many days ago, in whole minutes. */
const since = (days: number) => new Date(Math.floor(Date.now() / 60_000) * 60_000 - days * DAY_MS).toISOString();

/** Which runs, and when a run has succeeded: everything is in the address. */
export function AcrossConditions({
  get,
  set,
}: {
  get: (name: string) => string | null;
  set: (changes: Conditions) => void;
}) {
  const newest = useApi<Page<RunSummary>>("/runs", { limit: SUGGESTING }, true);
  const others = ["status", "session", "user", "text", "until", "since"].filter((name) => get(name) !== null);
  return (
    <div className={conditions.line} role="group" aria-label="Conditions">
      {PERIODS.map(([name, days]) => (
        <button
          key={name}
          type="button"
          className={conditions.chip}
          aria-pressed={isPeriod(get("since"), get("until"), days)}
          onClick={() => set({ since: isPeriod(get("since"), get("until"), days) ? null : since(days), until: null })}
        >
          {name}
        </button>
      ))}
      {NAMED.map(([name, values]) => (
        <Field
          key={name}
          name={name}
          size={11}
          value={get(name)}
          values={(newest.data?.items ?? []).flatMap(values)}
          set={set}
        />
      ))}
      <Field
        name="outcome"
        label="success is"
        size={11}
        value={get("outcome")}
        values={[]}
        set={set}
        placeholder="completed"
        hint="A condition for a score, such as reward>=1; without one, a completed run has succeeded."
      />
      <Field
        name="task"
        label="same task"
        size={11}
        value={get("task")}
        values={["input", "name", "session", "user"]}
        set={set}
        placeholder="input"
        hint="What runs of one task have in common: input, name, session, user, or tag: and what the tag begins with."
      />
      {others.map((name) => (
        <button
          key={name}
          type="button"
          className={conditions.chip}
          aria-pressed="true"
          onClick={() => set({ [name]: null })}
        >
          {name}: {get(name)} ✕
        </button>
      ))}
    </div>
  );
}

/** Whether a time in the address is so many days ago, to the hour. */
function isPeriod(since: string | null, until: string | null, days: number): boolean {
  return since !== null && until === null && Math.abs(Date.now() - Date.parse(since) - days * DAY_MS) < DAY_MS / 24;
}

type FieldProps = {
  name: string;
  label?: string;
  size: number;
  value: string | null;
  values: readonly string[];
  set: (changes: Conditions) => void;
  placeholder?: string;
  hint?: string;
};

/** A condition that is applied by Enter, by leaving the field, or by choosing a suggestion. */
function Field({ name, label = name, size, value, values, set, placeholder, hint }: FieldProps) {
  const suggested = useMemo(() => new Set(values), [values]);
  const apply = (text: string) => text.trim() !== (value ?? "") && set({ [name]: text.trim() });
  return (
    <label title={hint}>
      {label}
      <input
        key={value ?? ""}
        className="input"
        size={size}
        list={`across-${name}`}
        defaultValue={value ?? ""}
        placeholder={placeholder}
        onChange={(event) => suggested.has(event.target.value) && apply(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && apply(event.currentTarget.value)}
        onBlur={(event) => apply(event.target.value)}
      />
      <datalist id={`across-${name}`}>
        {[...suggested].map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}
