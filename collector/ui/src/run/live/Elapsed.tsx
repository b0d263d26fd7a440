import { useEffect, useState } from "react";

import type { RunDetail } from "../../api/types";
import { duration } from "../../model/format";
import { useNow } from "../../parts/useNow";

/** How long a run took; of one that goes on, how long it has taken up to now. */
export function Elapsed({ run }: { run: RunDetail }) {
  return run.status === "running" ? <SoFar run={run} /> : duration(run.elapsed_ms);
}

/** Counts on from the last answer: the clocks of the browser and of the collector need not agree. */
function SoFar({ run }: { run: RunDetail }) {
  const now = useNow(1_000);
  const [asOf, setAsOf] = useState(() => Date.now());
  useEffect(() => setAsOf(Date.now()), [run]);
  const known = run.elapsed_ms ?? Math.max(0, asOf - Date.parse(run.started));
  return duration(known + Math.max(0, now - asOf));
}
