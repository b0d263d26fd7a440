import { useState } from "react";

import type { RunTurn, StateAt } from "../../api/types";
import { useApi } from "../../api/useApi";
import { compact } from "../../model/format";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { runPath, useOnPage } from "../OnPage";
import { Block } from "./Block";
import styles from "./StateBlock.module.css";

/** A value of the state is shown up to so many characters. */
const LONGEST = 400;

/** What this turn changed in the state, the old value struck out; the whole state on request. */
export function StateBlock({ turn }: { turn: RunTurn }) {
  const [isWhole, setWhole] = useState(false);
  return (
    <Block
      label="State"
      of={turn.state.length > 0 ? "changed here" : undefined}
      margin={
        <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "only what changed" : "whole state"}
        </button>
      }
    >
      {turn.state.length === 0 && <p className="sub">Nothing of the state changed here.</p>}
      <dl className={styles.state}>
        {turn.state.map((change) => (
          <div key={change.path}>
            <dt>
              <Said>{change.path}</Said>
            </dt>
            <dd>
              {change.before !== null && (
                <>
                  <s>
                    <span className="visually-hidden">before: </span>
                    <Said>{cut(change.before)}</Said>
                  </s>{" "}
                </>
              )}
              <span className={styles.now}>
                <Said>{cut(change.after)}</Said>
              </span>
            </dd>
          </div>
        ))}
      </dl>
      {isWhole && <WholeState at={turn.last_seq} />}
    </Block>
  );
}

function cut(value: unknown): string {
  const text = compact(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}

function WholeState({ at }: { at: number }) {
  const { run } = useOnPage();
  const { data, error, again } = useApi<StateAt>(`${runPath(run.run)}/state`, { at }, true);
  if (error !== null) return <Failed error={error} what="the state" onAgain={again} />;
  if (data === null) return <Loading what="the state" />;
  return (
    <pre className={styles.whole} tabIndex={0} aria-label="Whole state">
      <Said>{JSON.stringify(data, null, 2)}</Said>
    </pre>
  );
}
