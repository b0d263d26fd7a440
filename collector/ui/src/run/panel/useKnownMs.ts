import { useEffect, useState } from "react";

import type { TimedCall } from "../../api/types";

const STEP_MS = 500;

/**
 * Up to which moment a run is known, in ms since it began: its end (`elapsed`), else the last start or end of a call; while the run goes on, plus the time
 * since the answer came. The clocks of the browser and of the program need not agree.
 */
export function useKnownMs(
  calls: readonly TimedCall[],
  asOf: number,
  isRunning: boolean,
  elapsed: number | null,
): number {
  const [now, setNow] = useState(asOf);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(performance.now()), STEP_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const last = calls.reduce((most, call) => Math.max(most, call.started_ms + (call.elapsed_ms ?? 0)), 0);
  return isRunning ? last + Math.max(0, now - asOf) : Math.max(last, elapsed ?? 0);
}
