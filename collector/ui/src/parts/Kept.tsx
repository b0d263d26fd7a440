// How long a run is kept, in a few words: the tier that it is in, and that it is pinned. Nothing for most runs.
import type { RunDetail, RunSummary } from "../api/types";
import { localDateTime } from "../model/format";
import { Said } from "./Said";

/** Marks in the list of runs. */
export function KeptMarks({ run }: { run: RunSummary }) {
  const tier = run.completeness.retained;
  return (
    <>
      {tier !== "hot" && tier !== "warm" && (
        <>
          {" "}
          <span className="tag" title="Thinned by a retention rule: of what it recorded, some is gone">
            {tier}
          </span>
        </>
      )}
      {run.pinned && (
        <>
          {" "}
          <span className="tag" title="No retention rule thins or deletes it">
            pinned
          </span>
        </>
      )}
    </>
  );
}

/** At the head of a run: what a rule let go, or that none may. */
export function KeptLine({ run }: { run: RunDetail }) {
  const { tier, thinned, rule, pin } = run.retention;
  const isThinned = tier === "cold" || tier === "archive";
  if (!isThinned && pin === null) return null;
  return (
    <span className="sub">
      {isThinned && (
        <>
          thinned{thinned !== null && ` on ${localDateTime(thinned)}`} by rule <Said>{rule ?? ""}</Said> ({tier}):
          values that are missing are gone{" "}
        </>
      )}
      {pin !== null && (
        <>
          pinned{pin.reason !== null && ": "}
          <Said>{pin.reason ?? ""}</Said>
        </>
      )}
    </span>
  );
}
