import { useState } from "react";

import type { WaitedFor } from "../../api/types";
import { AnswerForm } from "../../approvals/AnswerForm";
import { QuestionLine, WhatItDoes } from "../../approvals/Question";
import { ago } from "../../model/format";
import styles from "./WaitsFor.module.css";

/** What the run waits for, and the form that answers it; of several, one below the other. */
export function WaitsFor({ asked }: { asked: readonly WaitedFor[] }) {
  const [answered, setAnswered] = useState<ReadonlyMap<string, WaitedFor>>(new Map());
  return (
    <>
      {asked.map((each, n) => (
        <div key={each.id} className={styles.ask}>
          <div className={styles.question}>
            <h2>
              <QuestionLine asked={each} />
            </h2>
            <p className="sub">
              <Since asked={each} />
              {each.risk !== null && (
                <>
                  {" "}
                  · <span className={each.risk === "high" ? "tag bad" : "tag state"}>risk: {each.risk}</span>
                </>
              )}
            </p>
            <WhatItDoes asked={each} />
          </div>
          <AnswerForm
            asked={answered.get(each.id) ?? each}
            onAnswer={(now) => setAnswered((before) => new Map(before).set(now.id, now))}
            hasKeys={n === 0}
          />
        </div>
      ))}
    </>
  );
}

function Since({ asked }: { asked: WaitedFor }) {
  // eslint-disable-next-line react-hooks/purity -- the verdict is drawn again with each answer, and then counts anew
  const now = Date.now();
  return (
    <span title={`${asked.created} (UTC)`}>
      asked {ago(asked.created, now)}, {asked.deadline === null ? "no deadline" : `until ${asked.deadline} (UTC)`}
    </span>
  );
}
