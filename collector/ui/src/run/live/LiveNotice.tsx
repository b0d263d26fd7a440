// Above the turn of a run that goes on: that it is not connected; and for screen readers, what ended.
import { useEffect, useRef, useState } from "react";

import type { TurnRow } from "../../api/types";
import { localTime } from "../../model/format";
import { announced } from "./announced";
import styles from "./LiveNotice.module.css";
import type { LiveRun } from "./useLiveRun";

type Props = {
  live: LiveRun;
  rows: readonly TurnRow[];
  isWhole: boolean;
  isRunning: boolean;
  outcome: string | undefined;
};

export function LiveNotice({ live, rows, isWhole, isRunning, outcome }: Props) {
  return (
    <>
      {live.cutSince !== null && (
        <p className={styles.cut} role="status">
          Not connected since {localTime(new Date(live.cutSince).toISOString()).slice(0, 5)}. What you see is from then.
        </p>
      )}
      <Announcer rows={rows} isWhole={isWhole} isRunning={isRunning} outcome={outcome} />
    </>
  );
}

/** Outcomes of runs that have not ended. */
const GOING_ON = ["running", "waiting"];

/** The one live region of the page: it says what is over, of what became known while the page was open. */
function Announcer({ rows, isWhole, isRunning, outcome }: Omit<Props, "live">) {
  const known = useRef<readonly TurnRow[] | null>(null);
  const wasRunning = useRef(isRunning);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!isWhole) return;
    const news = known.current === null ? [] : announced(known.current, rows);
    known.current = rows;
    if (wasRunning.current && news.length > 0) setSaid(news.join(". "));
  }, [rows, isWhole]);
  useEffect(() => {
    if (isRunning) wasRunning.current = true;
    else if (wasRunning.current && outcome !== undefined && !GOING_ON.includes(outcome)) {
      wasRunning.current = false; // what came of it is asked for after the end: until then, the answer is the old one
      setSaid(`The run has ended: ${outcome}`);
    }
  }, [isRunning, outcome]);
  return (
    <div className="visually-hidden" role="log" aria-live="polite" aria-label="What has ended">
      {said}
    </div>
  );
}
