// What runs wait for: decisions, answers and events, oldest first. The first answer counts.
import { useEffect, useState } from "react";

import { useLive } from "../api/live";
import { useMay } from "../api/session";
import type { WaitedFor } from "../api/types";
import { count } from "../model/format";
import { Empty, Failed, Loading } from "../parts/Notices";
import styles from "./Approvals.module.css";
import { Request } from "./Request";
import { refreshWaiting, useWaiting } from "./waiting";

const NEWS = "approval_requested,approval_granted,approval_denied,input_requested,input_received,run_completed";

export function ApprovalsPage() {
  const { items, isCut, error } = useWaiting();
  const [answered, setAnswered] = useState<ReadonlyMap<string, WaitedFor>>(new Map());
  const [isLost, setLost] = useState(false);
  const mayAnswer = useMay("admin");
  useLive(
    "/runs/stream",
    { kinds: NEWS },
    { event: () => void refreshWaiting(), missed: () => void refreshWaiting(), lost: setLost },
  );
  useEffect(() => void refreshWaiting(), []);
  const open = items ?? [];
  const known = new Set(open.map((each) => each.id));
  // What was answered here stays where it was, with its answer, until the page is left.
  const shown = [...open, ...[...answered.values()].filter((each) => !known.has(each.id))].sort((a, b) =>
    a.created < b.created ? -1 : 1,
  );
  const stillOpen = open.filter((each) => !answered.has(each.id));
  const withKeys = stillOpen.find((each) => each.kind === "approval")?.id;
  return (
    <main className={styles.page} aria-label="Approvals">
      <div className={styles.head}>
        <h1>{titleOf(items === null ? null : stillOpen.length)}</h1>
        {isLost && <span className="ink-bad">not live: connecting again</span>}
        {!mayAnswer && shown.length > 0 && (
          <span className="sub">
            Your key may read, but not answer: that needs a key with the scope <code>admin</code>.
          </span>
        )}
      </div>
      {error !== null && <Failed error={error} what="what runs wait for" onAgain={() => void refreshWaiting()} />}
      {items === null && error === null && <Loading what="what runs wait for" />}
      {items !== null && shown.length === 0 && (
        <Empty>
          No run waits for a decision, an answer or an event. A program asks with{" "}
          <code>playhead.approval("delete 3 files", risk="high")</code>, <code>playhead.ask("Which branch?")</code> or{" "}
          <code>playhead.wait_for("payment", key=order)</code>; what it asks is shown here as soon as it does.
        </Empty>
      )}
      {shown.map((each) => (
        <Request
          key={each.id}
          asked={answered.get(each.id) ?? each}
          hasKeys={each.id === withKeys}
          onAnswer={(now) => setAnswered((before) => new Map(before).set(now.id, now))}
        />
      ))}
      {isCut && (
        <p className="notice sub">The oldest {count(open.length)} are shown; others follow when these are answered.</p>
      )}
    </main>
  );
}

function titleOf(open: number | null): string {
  if (open === null) return "Approvals";
  if (open === 0) return "Nothing waits";
  return open === 1 ? "1 waits for an answer" : `${count(open)} wait for an answer`;
}
