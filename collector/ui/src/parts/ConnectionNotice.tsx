import { tryNow, useConnection } from "../api/connection";
import { localTime } from "../model/format";
import styles from "./ConnectionNotice.module.css";

/** Says once for the whole page that nothing answers; goes away by itself when there is an answer. */
export function ConnectionNotice() {
  const connection = useConnection();
  return (
    <div role="alert" className={styles.place}>
      {connection.kind === "silent" && (
        <p className={styles.notice}>
          <span aria-hidden="true">✕</span> The collector does not answer since{" "}
          {localTime(new Date(connection.since).toISOString())}. What you see is from then; it is tried again by itself.{" "}
          <button type="button" className="button" onClick={() => void tryNow()}>
            Try now
          </button>
        </p>
      )}
    </div>
  );
}
