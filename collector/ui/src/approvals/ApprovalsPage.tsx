// What runs wait for: decisions, answers and events, oldest first. The first answer counts.
import { useEffect, useState } from "react";

import { useLive } from "../api/live";
import type { Session, WaitedFor } from "../api/types";
import { count } from "../model/format";
import { Empty, Failed, Loading } from "../parts/Notices";
import { Request } from "./Request";
import { refreshWaiting, useWaiting } from "./waiting";

const NEWS = "approval_requested,approval_granted,approval_denied,input_requested,input_received,run_completed";
const NAME = "answers.by";

export function ApprovalsPage({ session }: { session: Session }) {
  const { items, isCut, error } = useWaiting();
  const [by, setBy] = useState(() => localStorage.getItem(NAME) ?? "");
  const [answered, setAnswered] = useState<ReadonlyMap<string, WaitedFor>>(new Map());
  const [isLost, setLost] = useState(false);
  useLive(
    "/runs/stream",
    { kinds: NEWS },
    { event: () => void refreshWaiting(), missed: () => void refreshWaiting(), lost: setLost },
  );
  useEffect(() => void refreshWaiting(), []);
  useEffect(() => localStorage.setItem(NAME, by), [by]);
  const mayAnswer = session.scopes.includes("admin");
  const open = items ?? [];
  const known = new Set(open.map((each) => each.id));
  // What was answered here stays where it was, with its answer, until the page is left.
  const shown = [...open, ...[...answered.values()].filter((each) => !known.has(each.id))].sort((a, b) =>
    a.created < b.created ? -1 : 1,
  );
  return (
    <main className="page approvals" aria-label="Approvals">
      <div className="head">
        <h1>
          {items === null
            ? "Approvals"
            : open.length === 0
              ? "Nothing waits"
              : `${count(open.length)}${isCut ? "+" : ""} ${open.length === 1 ? "waits" : "wait"} for an answer`}
        </h1>
        {isLost && <span className="ink-bad">not live: connecting again</span>}
        <label className="by">
          answer as{" "}
          <input
            className="input"
            size={14}
            value={by}
            placeholder="your name"
            onChange={(event) => setBy(event.target.value)}
          />
        </label>
      </div>
      {error !== null && <Failed error={error} />}
      {items === null && error === null && <Loading what="what runs wait for" />}
      {!mayAnswer && shown.length > 0 && (
        <p className="notice">
          Your key may read, but not answer: that needs a key with the scope <code>admin</code>.
        </p>
      )}
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
          by={by}
          mayAnswer={mayAnswer}
          onAnswer={(now) => setAnswered((before) => new Map(before).set(now.id, now))}
        />
      ))}
      {isCut && (
        <p className="notice sub">The oldest {count(open.length)} are shown; others follow when these are answered.</p>
      )}
    </main>
  );
}
