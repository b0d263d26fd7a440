import { duration } from "../../model/format";
import { useNow } from "../../parts/useNow";
import styles from "./Connection.module.css";
import type { LiveRun } from "./useLiveRun";

/** Whether what is shown is of now, and how old the last event is. */
export function LiveConnection({ live }: { live: LiveRun }) {
  const now = useNow(1_000);
  if (live.cutSince !== null) return <span className={styles.said}>not connected</span>;
  const age = live.heardAt === null ? null : Math.max(0, now - live.heardAt);
  return (
    <span className={styles.said}>
      <i className={styles.dot} aria-hidden="true" /> connected
      {age !== null && `, last event ${age < 1_000 ? "just now" : `${duration(Math.floor(age / 1_000) * 1_000)} ago`}`}
    </span>
  );
}
