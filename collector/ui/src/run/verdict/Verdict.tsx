// What came of a run, and why: its error, its suspects, what it waits for, what is under way, or its answer.
import type { RunDetail, RunVerdict, Suspects } from "../../api/types";
import { duration } from "../../model/format";
import { plainLine } from "../../model/plainLine";
import { OUTCOMES } from "../../parts/Outcome";
import { Said } from "../../parts/Said";
import { Link } from "wouter";

import { scoreName } from "../scoreName";
import { ErrorChain } from "./ErrorChain";
import { Findings, FirstFinding } from "./Findings";
import { NothingKnown } from "./NothingKnown";
import { Succeeded } from "./Succeeded";
import { UnderWay } from "./UnderWay";
import styles from "./Verdict.module.css";
import { WaitsFor } from "./WaitsFor";

type Props = {
  run: RunDetail;
  verdict: RunVerdict | null;
  suspects: Suspects | null;
  isLooking: boolean;
  folded: boolean;
  onFold: () => void;
};

export function Verdict({ run, verdict, suspects, isLooking, folded, onFold }: Props) {
  if (verdict === null)
    return (
      <section className={styles.verdict} aria-label="Verdict" aria-busy="true">
        <div className={styles.out}>
          <p className={styles.big}>
            <span className="bones" aria-hidden="true">
              <i />
            </span>
          </p>
        </div>
      </section>
    );
  if (folded)
    return (
      <section className={styles.line} aria-label="Verdict">
        <Word verdict={verdict} />
        <span className={styles.lineText}>
          <OneLine verdict={verdict} suspects={suspects} />
        </span>
        <FoldButton folded onFold={onFold} />
      </section>
    );
  return (
    <section
      className={`${styles.verdict ?? ""} ${verdict.waits_for.length > 0 ? (styles.waits ?? "") : ""}`}
      aria-label="Verdict"
    >
      <div className={styles.out}>
        <Word verdict={verdict} />
        <RestsOn run={run} verdict={verdict} />
        <FoldButton folded={false} onFold={onFold} />
      </div>
      <div className={styles.why}>
        <Why run={run} verdict={verdict} suspects={suspects} isLooking={isLooking} />
      </div>
    </section>
  );
}

function Word({ verdict }: { verdict: RunVerdict }) {
  const look = OUTCOMES[verdict.outcome.word];
  return (
    <p className={`${styles.big} ${look.ink}`}>
      <span aria-hidden="true">{look.mark}</span> {look.sentence}
    </p>
  );
}

function FoldButton({ folded, onFold }: { folded: boolean; onFold: () => void }) {
  return (
    <button
      type="button"
      className={`button quiet ${styles.fold}`}
      aria-expanded={!folded}
      title={folded ? "Unfold" : "Fold into one line"}
      onClick={onFold}
    >
      {folded ? "Unfold" : <span className="visually-hidden">Fold</span>}{" "}
      <span className="visually-hidden">the verdict, key </span>
      <kbd>v</kbd>
    </button>
  );
}

/** What the word rests on: a score and when it is a success, or how the run ended; and how runs of this task end. */
function RestsOn({ run, verdict }: { run: RunDetail; verdict: RunVerdict }) {
  const { outcome, error, task } = verdict;
  const isScored = outcome.value !== null;
  return (
    <div className={styles.rests}>
      {isScored ? (
        <p>
          <b className="num">
            <Said>{`${scoreName(outcome.because)} ${String(outcome.value)}`}</Said>
          </b>{" "}
          <span className="ink-faint">
            success is <Said>{conditionOf(verdict.condition)}</Said>
          </span>
        </p>
      ) : error !== null && !error.handled ? (
        <p>
          <b className="num">
            <Said>{error.type}</Said>
          </b>
        </p>
      ) : null}
      {error === null || error.handled ? (
        <p>
          {verdict.other_errors === 0
            ? "No call raised an error."
            : `${verdict.other_errors} ${verdict.other_errors === 1 ? "error was" : "errors were"} handled.`}
        </p>
      ) : (
        <p>
          after {duration(run.elapsed_ms)}
          {verdict.other_errors > 0 && `; ${verdict.other_errors} other handled`}
        </p>
      )}
      {task !== null && task.scored > 0 && (
        <p>
          {task.succeeded} of {task.scored} {task.scored === 1 ? "run" : "runs"}{" "}
          {task.task === "input" ? (
            "with the same input"
          ) : (
            <>
              of{" "}
              <Link className="go" href={`/?${taskQuery(task.task)}`}>
                <Said>{task.task.replace(/^tag:/, "")}</Said>
              </Link>
            </>
          )}{" "}
          succeeded.
        </p>
      )}
    </div>
  );
}

/** `≥ 0.5` of `reward>=0.5`. */
const conditionOf = (condition: string): string =>
  condition
    .replace(/^[^<>=]*/, "")
    .replace(">=", "≥ ")
    .replace("<=", "≤ ");

/** The list of the runs of a task: by its tag, or by the name of a session or user. */
function taskQuery(task: string): string {
  const [kind, ...rest] = task.split(":");
  const value = rest.join(":");
  return new URLSearchParams(kind === "tag" ? { tag: value } : { text: value }).toString();
}

function Why({
  run,
  verdict,
  suspects,
  isLooking,
}: Omit<Props, "folded" | "onFold" | "verdict"> & { verdict: RunVerdict }) {
  const { word } = verdict.outcome;
  if (verdict.waits_for.length > 0) return <WaitsFor asked={verdict.waits_for} />;
  if (word === "running") return <UnderWay verdict={verdict} />;
  const isError = verdict.error !== null && !verdict.error.handled;
  const hasSuspects = suspects !== null && suspects.items.length > 0;
  return (
    <>
      {isError && verdict.error !== null && <ErrorChain error={verdict.error} verdict={verdict} />}
      {word === "succeeded" && <Succeeded verdict={verdict} />}
      {hasSuspects && <Findings run={run.run} suspects={suspects} isFolded={isError} />}
      {isLooking && !isError && <p className={styles.looking}>Looking for what went wrong …</p>}
      {!isError && !hasSuspects && !isLooking && word !== "succeeded" && (
        <NothingKnown run={run} verdict={verdict} suspects={suspects} />
      )}
    </>
  );
}

/** The verdict's reason in one line. */
function OneLine({ verdict, suspects }: { verdict: RunVerdict; suspects: Suspects | null }) {
  const asked = verdict.waits_for[0];
  if (asked !== undefined) return <Said>{asked.action ?? asked.name ?? asked.key}</Said>;
  if (verdict.error !== null && !verdict.error.handled)
    return (
      <b className="ink-bad">
        <Said>{`${verdict.error.type}: ${verdict.error.message}`}</Said>
      </b>
    );
  if (suspects?.items[0] !== undefined) return <FirstFinding suspect={suspects.items[0]} />;
  return <Said>{plainLine(verdict.answer ?? "")}</Said>;
}
