// One thing that a run waits for: the question, what it would do, who asks since when, and the form that answers it.
import { useApi } from "../api/useApi";
import type { RunDetail, WaitedFor } from "../api/types";
import { duration, localDateTime, shortId } from "../model/format";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";
import { TurnLink } from "../parts/TurnLink";
import { useNow } from "../parts/useNow";
import { AnswerForm } from "./AnswerForm";
import styles from "./Approvals.module.css";
import { QuestionLine, WhatItDoes } from "./Question";

type Props = { asked: WaitedFor; hasKeys: boolean; onAnswer: (now: WaitedFor) => void };

export function Request({ asked, hasKeys, onAnswer }: Props) {
  return (
    <article className={styles.request} aria-label={saidPlainly(asked.action ?? asked.name ?? asked.key)}>
      <div className={styles.since}>
        <p className="ink-state">
          <b>
            <span aria-hidden="true">◐</span> {asked.answer === null ? "Waits" : "Waited"}
          </b>
        </p>
        <Since asked={asked} />
        <Asker run={asked.run} />
        {asked.risk !== null && (
          <p>
            <span className={asked.risk === "high" ? "tag bad" : "tag"}>
              risk: <Said>{asked.risk}</Said>
            </span>
          </p>
        )}
      </div>
      <div className={styles.question}>
        <h2>
          <QuestionLine asked={asked} />
        </h2>
        {asked.kind === "event" && (
          <p className="sub">
            an event from outside, by the key{" "}
            <code>
              <Said>{asked.key}</Said>
            </code>
          </p>
        )}
        <WhatItDoes asked={asked} />
      </div>
      <div className={styles.answer}>
        <AnswerForm asked={asked} onAnswer={onAnswer} hasKeys={hasKeys} />
      </div>
    </article>
  );
}

/** The run that asks, as a link to where it asked; a promise with a key of the program's own belongs to none. */
function Asker({ run }: { run: string | null }) {
  const { data } = useApi<RunDetail>(run === null ? null : `/runs/${run}`, {}, true);
  if (run === null) return <p>asked by any run, by its key</p>;
  return (
    <p>
      asked by{" "}
      <TurnLink run={run} seq={data?.happened?.kind === "question" ? data.happened.seq : null}>
        <Said>{`${data?.name ?? "run"} ${shortId(run)}`}</Said>
      </TurnLink>
      {data?.user != null && (
        <>
          {" "}
          for <Said>{data.user}</Said>
        </>
      )}
    </p>
  );
}

/** For how long it has waited, and until when it waits. */
function Since({ asked }: { asked: WaitedFor }) {
  const now = useNow(1_000);
  const left = asked.deadline === null ? null : Date.parse(asked.deadline) - now;
  return (
    <p title={`${localDateTime(asked.created)} · ${asked.created} (UTC)`}>
      for{" "}
      <b className="num">
        {duration(
          Math.max(0, Date.parse(asked.answer?.time ?? new Date(now).toISOString()) - Date.parse(asked.created)),
        )}
      </b>
      {asked.answer === null &&
        (left === null ? (
          ", no deadline"
        ) : (
          <span className={left < 60_000 ? "ink-bad" : ""}>
            {left <= 0 ? "; its deadline has passed" : `; waits for another ${duration(left)}`}
          </span>
        ))}
    </p>
  );
}
