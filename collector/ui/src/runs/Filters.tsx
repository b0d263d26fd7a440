// One line of conditions, and chips of what the shown runs have: everything is in the address.
import type { RunSummary } from "../api/types";

type Props = {
  runs: readonly RunSummary[];
  get: (name: string) => string | null;
  set: (changes: Record<string, string | null>) => void;
  json: string;
};
const STATUSES = ["running", "completed", "failed", "cancelled"];
/** Conditions with values that the shown runs suggest. */
const NAMED: [string, (run: RunSummary) => readonly string[]][] = [
  ["agent", (run) => run.agents],
  ["model", (run) => run.models],
  ["tool", (run) => run.tools],
  ["tag", (run) => run.tags],
  ["session", (run) => (run.session === null ? [] : [run.session])],
  ["user", (run) => (run.user === null ? [] : [run.user])],
];

export function Filters({ runs, get, set, json }: Props) {
  const others = ["since", "until", "fork_of", "score", "text"].filter((name) => get(name) !== null);
  return (
    <div className="filters" role="group" aria-label="Conditions">
      {STATUSES.map((status) => (
        <button
          key={status}
          type="button"
          className="chip"
          aria-pressed={get("status") === status}
          onClick={() => set({ status: get("status") === status ? null : status })}
        >
          {status}
        </button>
      ))}
      {NAMED.map(([name, values]) => (
        <label key={name}>
          {name}
          <input
            key={get(name) ?? ""}
            className="input"
            size={9}
            list={`${name}-values`}
            defaultValue={get(name) ?? ""}
            onChange={(event) => suggested(runs, values).has(event.target.value) && set({ [name]: event.target.value })}
            onKeyDown={(event) => event.key === "Enter" && set({ [name]: event.currentTarget.value })}
            onBlur={(event) => event.target.value === "" && get(name) !== null && set({ [name]: null })}
          />
          <datalist id={`${name}-values`}>{[...suggested(runs, values)].map((value) => <option key={value} value={value} />)}</datalist>
        </label>
      ))}
      {others.map((name) => (
        <button key={name} type="button" className="chip" aria-pressed="true" onClick={() => set({ [name]: null })}>
          {name}: {get(name)} ✕
        </button>
      ))}
      <a className="link" href={json} style={{ marginLeft: "auto" }}>As JSON</a>
    </div>
  );
}

const suggested = (runs: readonly RunSummary[], values: (run: RunSummary) => readonly string[]): ReadonlySet<string> =>
  new Set(runs.flatMap(values));
