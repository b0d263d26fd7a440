// The event under the playhead as it was recorded, and the log of the run around it, on request.
import { useState } from "react";

import type { Page, RecordedEvent, RunLog, RunTurn } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, localTime } from "../../model/format";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { EventPanel } from "../events/EventPanel";
import { runPath, useOnPage } from "../OnPage";
import { Block } from "./Block";
import styles from "./EventBlock.module.css";

/** `turn` null: the run has none. */
export function EventBlock({ turn, at }: { turn: RunTurn | null; at: number }) {
  const [shown, setShown] = useState<"event" | "logs" | null>(turn === null ? "event" : null);
  const seq = turn === null || (at >= turn.seq && at <= turn.last_seq) ? Math.max(at, 1) : turn.seq;
  return (
    <Block label="Recorded">
      <p className={styles.acts}>
        <button
          type="button"
          className="go"
          aria-expanded={shown === "event"}
          onClick={() => setShown(shown === "event" ? null : "event")}
        >
          event {count(seq)} as recorded
        </button>
        <button
          type="button"
          className="go"
          aria-expanded={shown === "logs"}
          onClick={() => setShown(shown === "logs" ? null : "logs")}
        >
          log events of this turn
        </button>
      </p>
      {shown === "event" && <OneEvent seq={seq} />}
      {shown === "logs" && turn !== null && <Logs turn={turn} />}
    </Block>
  );
}

function OneEvent({ seq }: { seq: number }) {
  const { run } = useOnPage();
  const { data, error, again } = useApi<Page<RecordedEvent>>(
    `${runPath(run.run)}/events`,
    { after: seq - 1, limit: 1, preview: 160 },
    run.ended !== null,
  );
  if (error !== null) return <Failed error={error} what="the event" onAgain={again} />;
  if (data === null) return <Loading what="the event" />;
  const event = data.items[0];
  return event === undefined ? <p className="sub">There is no event {seq}.</p> : <EventPanel event={event} />;
}

/** The log events of the time of the turn. */
function Logs({ turn }: { turn: RunTurn }) {
  const { run } = useOnPage();
  const { data, error, again } = useApi<Page<RunLog>>(`${runPath(run.run)}/logs`, { limit: 1000 }, run.ended !== null);
  if (error !== null) return <Failed error={error} what="the log" onAgain={again} />;
  if (data === null) return <Loading what="the log" />;
  const from = Date.parse(turn.time);
  const to = turn.elapsed_ms === null ? Infinity : from + turn.elapsed_ms;
  const mine = data.items.filter((log) => Date.parse(log.time) >= from && Date.parse(log.time) <= to);
  if (mine.length === 0)
    return (
      <p className="sub">
        {data.next_cursor === null
          ? "No log event was recorded while this turn was under way."
          : `None of the first ${count(data.items.length)} log events is of this turn.`}
      </p>
    );
  return (
    <ol className={styles.logs}>
      {mine.map((log, n) => (
        <li key={n}>
          <span className="num ink-faint">{localTime(log.time)}</span>{" "}
          <b>
            <Said>{log.name}</Said>
          </b>{" "}
          <code>
            <Said>{JSON.stringify(log.attributes)}</Said>
          </code>
        </li>
      ))}
    </ol>
  );
}
