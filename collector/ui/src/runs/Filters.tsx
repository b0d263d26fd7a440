// The filter line, chips of the conditions that hold, and facets of the runs that are shown: everything is in the address.
import type { RunSummary } from "../api/types";
import { FilterLine } from "./FilterLine";
import { facets, NAMES } from "./filterTerms";

type Props = {
  runs: readonly RunSummary[];
  get: (name: string) => string | null;
  set: (changes: Record<string, string | null>) => void;
  json: string;
};
const STATUSES = ["running", "completed", "failed", "cancelled", "lost"];

export function Filters({ runs, get, set, json }: Props) {
  const held = ["text", ...Object.keys(NAMES)].filter((name) => name !== "status" && get(name) !== null);
  return (
    <div className="filters" role="group" aria-label="Conditions">
      <FilterLine runs={runs} onApply={set} />
      <div className="chips">
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
        {facets(runs, get).map(([name, value, times]) => (
          <button
            key={`${name} ${value}`}
            type="button"
            className="chip"
            title={`${times} of the shown runs`}
            onClick={() => set({ [name]: value })}
          >
            {name}: {value} <span className="num">{times}</span>
          </button>
        ))}
        {held.map((name) => (
          <button
            key={name}
            type="button"
            className="chip"
            aria-pressed="true"
            title="Take this condition back"
            onClick={() => set({ [name]: null })}
          >
            {name}: {get(name)} ✕
          </button>
        ))}
      </div>
      <a className="link" href={json}>
        As JSON
      </a>
    </div>
  );
}
