import type { AgentNow, RunVerdict } from "../../api/types";
import { duration } from "../../model/format";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import styles from "./UnderWay.module.css";

/** A line per agent: what is under way, and what those that finished answered. */
export function UnderWay({ verdict }: { verdict: RunVerdict }) {
  if (verdict.agents.length === 0) return <p className={styles.none}>Nothing is under way that was recorded.</p>;
  return (
    <ul className={styles.agents}>
      {verdict.agents.map((agent) => (
        <li key={`${agent.group} ${agent.name} ${agent.seq}`}>
          <b>
            <Said>{agent.name ?? "the run"}</Said>
          </b>{" "}
          <Now agent={agent} />{" "}
          <TurnLink seq={agent.seq}>{agent.turn === null ? `event ${agent.seq}` : `turn ${agent.turn}`}</TurnLink>
        </li>
      ))}
    </ul>
  );
}

function Now({ agent }: { agent: AgentNow }) {
  const took =
    agent.elapsed_ms === null ? "" : ` ${agent.status === "open" ? "for" : "after"} ${duration(agent.elapsed_ms)}`;
  if (agent.status === "open")
    return (
      <>
        <span className="ink-play">under way{took}</span>:{" "}
        <code>
          <Said>{agent.text ?? "…"}</Said>
        </code>
      </>
    );
  const word = { completed: "finished", failed: "raised", cancelled: "was cancelled" }[agent.status];
  return (
    <>
      <span className={agent.status === "failed" ? "ink-bad" : "ink-good"}>
        {word}
        {took}
      </span>
      {agent.text !== null && (
        <>
          : “<Said>{agent.text}</Said>”
        </>
      )}
    </>
  );
}
