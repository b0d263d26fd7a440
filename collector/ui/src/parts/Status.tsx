import styles from "./Status.module.css";

const INK: Record<string, string> = {
  completed: "ink-good",
  failed: "ink-bad",
  running: "ink-model",
  cancelled: "ink-state",
  lost: "ink-bad",
};

/** The status of a record as a word with a dot of its colour. What came of a run is its outcome: see Outcome.tsx. */
export function Status({ status }: { status: string }) {
  return (
    <span className={`${styles.status ?? ""} ${INK[status] ?? ""}`} data-status={status}>
      {status}
    </span>
  );
}
