// One of two compared runs: its name, what came of it, and its figures with how much more or less they are.
import { Link } from "wouter";

import type { ComparedRun, RunDetail } from "../api/types";
import { count, duration, money, shortId } from "../model/format";
import { Outcome } from "../parts/Outcome";
import { Said } from "../parts/Said";
import { runAddress } from "../parts/TurnLink";
import { delta } from "./pairs";
import styles from "./RunHead.module.css";

type Props = {
  side: "A" | "B";
  run: ComparedRun;
  other: ComparedRun;
  /** The figures of the run; null: not yet loaded. */
  data: RunDetail | null;
  /** The run that the differences are from; null: only figures are shown. */
  from: RunDetail | null;
};

/** Tags that are named. */
const TAGS = 8;

export function RunHead({ side, run, other, data, from }: Props) {
  const names = run.name === other.name ? shortId(run.run) : "";
  return (
    <section className={styles.run} aria-label={`Run ${side}`}>
      <h2>
        <span className={styles.side}>{side}</span>{" "}
        <Link className="link" href={runAddress(run.run)}>
          <Said>{run.name ?? "run"}</Said> <code>{names || shortId(run.run)}</code>
        </Link>{" "}
        {data?.outcome != null && <Outcome word={data.outcome.word} asTag />}{" "}
        {(data?.scored ?? []).slice(0, 3).map((score) => (
          <span key={score.name} className="tag">
            <Said>{score.name}</Said> <Said>{String(score.value)}</Said>
          </span>
        ))}
      </h2>
      {data !== null && (
        <p>
          {data.tags.length > 0 && (
            <>
              <Said>{data.tags.slice(0, TAGS).join(" ")}</Said>
              {data.tags.length > TAGS && ` and ${count(data.tags.length - TAGS)} more tags`} ·{" "}
            </>
          )}
          {facts(data, from)}
        </p>
      )}
    </section>
  );
}

function facts(data: RunDetail, from: RunDetail | null): string {
  const tokens = (of: RunDetail | null) => (of === null ? null : of.input_tokens + of.output_tokens);
  return [
    `${count(data.llm_calls)} ${data.llm_calls === 1 ? "turn" : "turns"}${delta(from?.llm_calls, data.llm_calls)}, ` +
      `${count(data.tool_calls)} tool ${data.tool_calls === 1 ? "call" : "calls"}${delta(from?.tool_calls, data.tool_calls)}`,
    `${count(data.input_tokens)} → ${count(data.output_tokens)} tokens${delta(tokens(from), tokens(data), true)}`,
    data.cost === null ? "" : money(data.cost),
    data.elapsed_ms === null ? "" : duration(data.elapsed_ms),
  ]
    .filter((fact) => fact !== "")
    .join(" · ");
}
