// What a run that goes on is doing: a line per agent, what it does and for how long; those that finished, with their answer.
import { useEffect, useState } from "react";

import type { AgentNow, RunVerdict } from "../../api/types";
import { count, duration } from "../../model/format";
import { plainLine } from "../../model/plainLine";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import { useNow } from "../../parts/useNow";
import { LiveConnection } from "../live/Connection";
import { useOnPage } from "../OnPage";
import styles from "./UnderWay.module.css";

const TICK_MS = 500;

export function UnderWay({ verdict }: { verdict: RunVerdict }) {
  const { live, go } = useOnPage();
  const now = useNow(TICK_MS);
  const asOf = useAsOf(verdict);
  const open = verdict.agents.filter((agent) => agent.status === "open").length;
  return (
    <section className={styles.under} aria-label="Under way">
      <p className={styles.head}>
        <b>Under way</b>{" "}
        <span>
          {open === 0
            ? "nothing that was recorded"
            : `${count(open)} of ${count(verdict.agents.length)} ${verdict.agents.length === 1 ? "agent" : "agents"}`}
        </span>
        <span className={styles.right}>
          <LiveConnection live={live} />
        </span>
      </p>
      <ul className={styles.agents}>
        {verdict.agents.map((agent) => (
          <li key={`${agent.group} ${agent.name} ${agent.seq}`}>
            <Mark status={agent.status} />
            <b>
              <Said>{agent.name ?? "the run"}</Said>
            </b>
            <span className={styles.what}>
              <What agent={agent} />
            </span>
            <span className={styles.since}>
              {agent.status === "open" &&
                agent.elapsed_ms !== null &&
                `for ${duration(agent.elapsed_ms + Math.max(0, now - asOf))}`}
            </span>
            <TurnLink seq={agent.seq} onGo={go}>
              {agent.turn === null ? `event ${agent.seq}` : `turn ${agent.turn}`}
            </TurnLink>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** When this answer came, in ms since 1970. */
function useAsOf(verdict: RunVerdict): number {
  const [asOf, setAsOf] = useState(() => Date.now());
  useEffect(() => setAsOf(Date.now()), [verdict]);
  return asOf;
}

const MARKS: Readonly<Record<AgentNow["status"], string>> = { open: "●", completed: "✓", failed: "✕", cancelled: "−" };
const INKS: Readonly<Record<AgentNow["status"], string>> = {
  open: "ink-play",
  completed: "ink-good",
  failed: "ink-bad",
  cancelled: "ink-faint",
};

function Mark({ status }: { status: AgentNow["status"] }) {
  return (
    <span className={`${INKS[status]} ${status === "open" ? (styles.pulse ?? "") : ""}`} aria-hidden="true">
      {MARKS[status]}
    </span>
  );
}

function What({ agent }: { agent: AgentNow }) {
  if (agent.status === "open")
    return (
      <code>
        <Said>{plainLine(agent.text ?? "…")}</Said>
      </code>
    );
  const word = { completed: "finished", failed: "raised", cancelled: "was cancelled" }[agent.status];
  return (
    <>
      {word}
      {agent.elapsed_ms !== null && ` after ${duration(agent.elapsed_ms)}`}
      {agent.text !== null && (
        <>
          : “<Said>{plainLine(agent.text ?? "")}</Said>”
        </>
      )}
    </>
  );
}
