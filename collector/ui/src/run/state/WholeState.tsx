// The whole state after an event, by its keys. A pinned key is plotted over the run, on every turn.
import type { StateAt } from "../../api/types";
import { useApi } from "../../api/useApi";
import { compact } from "../../model/format";
import { ContentLink } from "../../parts/ContentLink";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { runPath } from "../OnPage";
import styles from "./State.module.css";
import { stateRefs, stateRows } from "./stateRows";

const SHORT = 80;
/** A value is shown up to so many characters; all of it is stored as a content. */
const LONGEST = 4_000;

type Props = { run: string; at: number; pinned: readonly string[]; onPin: (name: string) => void };

export function WholeState({ run, at, pinned, onPin }: Props) {
  const { data, error, again } = useApi<StateAt>(`${runPath(run)}/state`, { at, hydrate: true }, true);
  if (error !== null) return <Failed error={error} what="the state" onAgain={again} />;
  if (data === null) return <Loading what="the state" />;
  const refs = stateRefs(data);
  return (
    <dl className={styles.whole} aria-label={`State after event ${at}`}>
      {stateRows(data).map(([name, value]) => (
        <div key={name}>
          <dt>
            <button
              type="button"
              className={styles.pin}
              aria-pressed={pinned.includes(name)}
              aria-label={`Pin ${name}`}
              title={pinned.includes(name) ? "Unpin" : "Pin: plot it over the run"}
              onClick={() => onPin(name)}
            >
              {pinned.includes(name) ? "●" : "○"}
            </button>{" "}
            <Said>{name}</Said>
          </dt>
          <dd>
            <Value value={value} />
            {refs.has(name) && (
              <>
                {" "}
                <ContentLink target={refs.get(name) ?? ""} />
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ value }: { value: unknown }) {
  const short = typeof value === "string" ? value : compact(value);
  if (short.length <= SHORT)
    return (
      <code>
        <Said>{short}</Said>
      </code>
    );
  const whole = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <pre>
      <Said>{whole.length > LONGEST ? `${whole.slice(0, LONGEST)} …` : whole}</Said>
    </pre>
  );
}
