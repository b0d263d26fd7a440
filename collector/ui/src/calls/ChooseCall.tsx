// The call to compare with: a turn of the same run, or of another one by its id.
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";

import type { Page, TurnRow } from "../api/types";
import { useApi } from "../api/useApi";
import { count } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { type CallPlace, writePlace } from "./callDiff";
import styles from "./CallsPage.module.css";

/** Characters of a turn's text in the list. */
const SHORT = 80;
const MOST = 1_000;

export function ChooseCall({ a }: { a: CallPlace }) {
  const [, go] = useLocation();
  const [run, setRun] = useState(a.run);
  const isId = /^[0-9a-f]{32}$/.test(run);
  const { data, error } = useApi<Page<TurnRow>>(isId ? `/runs/${run}/turns` : null, { limit: MOST });
  const turns = (data?.items ?? []).filter((row) => row.kind === "turn" && (run !== a.run || row.seq !== a.seq));
  const [chosen, setChosen] = useState<number | null>(null);
  const seq = chosen ?? turns[0]?.seq ?? null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (seq !== null) go(`/calls?a=${writePlace(a)}&b=${writePlace({ run, seq })}`);
  };
  return (
    <form className={styles.choose} onSubmit={submit} aria-label="Compare with">
      <h1>Compare the call at event {count(a.seq)} with …</h1>
      <label>
        run{" "}
        <input
          className="input"
          size={34}
          value={run}
          onChange={(event) => {
            setRun(event.target.value.trim().toLowerCase());
            setChosen(null);
          }}
        />
      </label>
      {!isId && <p className="ink-bad">A run’s id has 32 digits from 0 to f.</p>}
      {error !== null && <Failed error={error} what="the turns of this run" />}
      {isId && data === null && error === null && <Loading what="turns" />}
      {data !== null && turns.length === 0 && <p>This run has no other call of a model.</p>}
      {turns.length > 0 && (
        <label>
          turn{" "}
          <select className="input" value={seq ?? ""} onChange={(event) => setChosen(Number(event.target.value))}>
            {turns.map((row) => (
              <option key={row.seq} value={row.seq}>
                {`${row.turn ?? ""} ${row.calls[0]?.shown ?? row.text ?? row.model ?? ""}`.slice(0, SHORT)}
              </option>
            ))}
          </select>
        </label>
      )}
      <button className="button primary" type="submit" disabled={seq === null}>
        Compare
      </button>
    </form>
  );
}
