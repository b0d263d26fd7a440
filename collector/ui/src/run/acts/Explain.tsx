import { useState } from "react";

import { type ApiError, post } from "../../api/client";
import type { Explanation } from "../../api/types";
import { localDateTime, percent } from "../../model/format";
import { Dialog } from "../../parts/Dialog";
import { Failed, Loading } from "../../parts/Notices";
import { Markdown } from "../../parts/Markdown";
import { Said } from "../../parts/Said";
import { runPath } from "../OnPage";
import styles from "./Explain.module.css";

type Asked = { explanation: Explanation } | { error: ApiError } | "asking" | null;

/** Asks the model that the operator configured to explain a decision (`seq`), or the whole run. */
export function Explain({ run, seq, onClose }: { run: string; seq: number | null; onClose: () => void }) {
  const [asked, setAsked] = useState<Asked>(null);
  const ask = (again: boolean) => {
    setAsked("asking");
    post<Explanation>(`${runPath(run)}/explain`, { seq, again }).then(
      (explanation) => setAsked({ explanation }),
      (error: ApiError) => setAsked({ error }),
    );
  };
  return (
    <Dialog title={seq === null ? "Explain the run" : "Explain this turn"} onClose={onClose} isWide>
      <p className="sub">
        Asks the model that this collector is configured with. Its answer is an opinion, made afterwards; it is kept,
        and shown again without asking.
      </p>
      {asked === null && (
        <button type="button" className="button primary" onClick={() => ask(false)}>
          Explain
        </button>
      )}
      {asked === "asking" && <Loading what="the explanation" />}
      {asked !== null && asked !== "asking" && "error" in asked && (
        <Failed error={asked.error} what="an explanation" onAgain={() => ask(false)} />
      )}
      {asked !== null && asked !== "asking" && "explanation" in asked && (
        <Explained explanation={asked.explanation} onAgain={() => ask(true)} />
      )}
    </Dialog>
  );
}

function Explained({ explanation, onAgain }: { explanation: Explanation; onAgain: () => void }) {
  const lists: [string, readonly string[]][] = [
    ["Key decisions", explanation.key_decisions],
    ["Mistakes", explanation.mistakes],
    ["Alternatives", explanation.alternatives],
  ];
  const isParsed = explanation.goal !== null || lists.some(([, items]) => items.length > 0);
  return (
    <div className={styles.explained}>
      {explanation.goal !== null && (
        <>
          <h2>Goal</h2>
          <p>
            <Said>{explanation.goal}</Said>
          </p>
        </>
      )}
      {lists
        .filter(([, items]) => items.length > 0)
        .map(([name, items]) => (
          <div key={name}>
            <h2>{name}</h2>
            <ul>
              {items.map((item, n) => (
                <li key={n}>
                  <Said>{item}</Said>
                </li>
              ))}
            </ul>
          </div>
        ))}
      {!isParsed && <Markdown text={explanation.text} />}
      <p className="sub">
        <Said>{explanation.model}</Said>, {localDateTime(explanation.created)}.{" "}
        {explanation.confidence !== null && `Its confidence: ${percent(explanation.confidence)}. `}It saw: <Said>{explanation.shown}</Said>{" "}
        <button type="button" className="go" onClick={onAgain}>
          Ask anew
        </button>
      </p>
    </div>
  );
}
