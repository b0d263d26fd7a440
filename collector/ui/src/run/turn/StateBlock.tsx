import { useState } from "react";

import type { RunTurn } from "../../api/types";
import { compact } from "../../model/format";
import { Said } from "../../parts/Said";
import { useOnPage } from "../OnPage";
import { Pinned, usePinned } from "../state/Pinned";
import { WholeState } from "../state/WholeState";
import { Block } from "./Block";
import styles from "./StateBlock.module.css";

/** A value of the state is shown up to so many characters. */
const LONGEST = 400;

/** What this turn changed in the state, the old value struck out; the whole state on request; pinned keys over the run. */
export function StateBlock({ turn }: { turn: RunTurn }) {
  const { run, go, live } = useOnPage();
  const [isWhole, setWhole] = useState(false);
  const [pinned, pin] = usePinned();
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
      <Pinned run={run.run} length={live.last} at={turn.last_seq} pinned={pinned} onUnpin={pin} onMove={go} />
      {turn.state.length === 0 && <p className={`sub ${styles.none}`}>Nothing of the state changed here.</p>}
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
      {isWhole && <WholeState run={run.run} at={turn.last_seq} pinned={pinned} onPin={pin} />}
    </Block>
  );
}

function cut(value: unknown): string {
  const text = compact(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}
