import { useEffect, useState, type MouseEvent } from "react";

import { type ApiError, get } from "../../api/client";
import type { StateAt } from "../../api/types";
import { compact, count } from "../../model/format";
import { plot, samples, stepPath } from "../../model/pinned";
import { Failed } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { runPath } from "../OnPage";
import styles from "./State.module.css";
import { stateRows } from "./stateRows";

const KEPT = "pinned";
const WIDTH = 400;
const HEIGHT = 28;
/** Requests at the same time. */
const AT_ONCE = 4;

/** The keys of the state that the reader pinned; kept for all runs. */
export function usePinned(): [readonly string[], (name: string) => void] {
  const [pinned, setPinned] = useState<readonly string[]>(() =>
    (localStorage.getItem(KEPT) ?? "").split("\n").filter(Boolean),
  );
  const turn = (name: string) =>
    setPinned((before) => {
      const now = before.includes(name) ? before.filter((each) => each !== name) : [...before, name];
      localStorage.setItem(KEPT, now.join("\n"));
      return now;
    });
  return [pinned, turn];
}

type Props = {
  run: string;
  length: number;
  at: number;
  pinned: readonly string[];
  onUnpin: (name: string) => void;
  onMove: (seq: number) => void;
};

/** Pinned keys, each as a line over the whole run; a click moves the playhead. */
export function Pinned({ run, length, at, pinned, onUnpin, onMove }: Props) {
  const { states, isWhole, error } = useStates(pinned.length === 0 ? null : run, length);
  const positions = samples(length);
  if (pinned.length === 0) return null;
  if (error !== null) return <Failed error={error} />;
  const here = positions.findLastIndex((seq) => seq <= at);
  const click = (event: MouseEvent<SVGSVGElement>) => {
    const room = event.currentTarget.getBoundingClientRect();
    onMove(1 + Math.round(((event.clientX - room.left) / room.width) * (length - 1)));
  };
  return (
    <div className={styles.pinned} aria-label="Pinned keys" role="group" aria-busy={!isWhole}>
      {pinned.map((name) => {
        const values = positions.map((_, n) => states[n]?.get(name));
        const { heights, scale } = plot(values);
        const x = length < 2 ? 0 : ((at - 1) / (length - 1)) * WIDTH;
        return (
          <div key={name}>
            <div>
              <b>
                <Said>{name}</Said>
              </b>{" "}
              <code>
                <Said>{values[here] === undefined ? "–" : compact(values[here]).slice(0, 60)}</Said>
              </code>{" "}
              <span className="sub">over the run: {scale}</span>
              <button type="button" className="icon" onClick={() => onUnpin(name)} aria-label={`Unpin ${name}`}>
                ✕
              </button>
            </div>
            <svg
              viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
              preserveAspectRatio="none"
              role="img"
              aria-label={`${name} over the run: ${scale}`}
              onClick={click}
            >
              <path className={styles.line} d={stepPath(positions, heights, length, WIDTH, HEIGHT)} />
              <path className={styles.cross} d={`M${x} 0V${HEIGHT}`} />
            </svg>
          </div>
        );
      })}
      {positions.length < length && (
        <span className="sub">
          Looked at {positions.length} of {count(length)} events.
        </span>
      )}
    </div>
  );
}

type States = {
  states: readonly (ReadonlyMap<string, unknown> | undefined)[];
  isWhole: boolean;
  error: ApiError | null;
};

/** The state at the sampled events, a few requests at a time; while they come, the first ones. */
function useStates(run: string | null, length: number): States {
  const [states, setStates] = useState<readonly (ReadonlyMap<string, unknown> | undefined)[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const [isWhole, setWhole] = useState(false);
  useEffect(() => {
    if (run === null) return;
    setWhole(false);
    const stop = new AbortController();
    const positions = samples(length);
    const found = new Array<ReadonlyMap<string, unknown> | undefined>(positions.length);
    const ask = async (from: number) => {
      for (let n = from; n < positions.length; n += AT_ONCE) {
        found[n] = new Map(
          stateRows(await get<StateAt>(`${runPath(run)}/state`, { at: positions[n], hydrate: true }, stop.signal)),
        );
        if (n % (AT_ONCE * 3) === from) setStates([...found]);
      }
      setStates([...found]);
    };
    Promise.all(Array.from({ length: AT_ONCE }, (_, n) => ask(n))).then(
      () => setWhole(true),
      (failure: ApiError) => !stop.signal.aborted && setError(failure),
    );
    return () => stop.abort();
  }, [run, length]);
  return { states, isWhole, error };
}
