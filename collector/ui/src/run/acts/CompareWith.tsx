import { type FormEvent, useState } from "react";
import { Link, useLocation } from "wouter";

import type { Page, RunDetail, RunSummary } from "../../api/types";
import { useApi } from "../../api/useApi";
import { duration, shortId } from "../../model/format";
import { Dialog } from "../../parts/Dialog";
import { Loading } from "../../parts/Notices";
import { Outcome } from "../../parts/Outcome";
import { Said } from "../../parts/Said";
import { useOnPage } from "../OnPage";
import styles from "./CompareWith.module.css";

const SHOWN = 12;

/** Runs to compare with: those of the same task that succeeded, then the newest of the same name; or any, by its id. */
export function CompareWith({ run, onClose }: { run: RunDetail; onClose: () => void }) {
  const { suspects } = useOnPage();
  const [, go] = useLocation();
  const [id, setId] = useState("");
  const { data } = useApi<Page<RunSummary>>(run.name === null ? null : "/runs", { text: run.name, limit: SHOWN + 1 });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (id.trim() !== "") go(`/compare/${run.run}/${encodeURIComponent(id.trim())}`);
  };
  const siblings = suspects?.siblings.runs ?? [];
  return (
    <Dialog title="Compare with" onClose={onClose}>
      {siblings.length > 0 && (
        <>
          <h2>Succeeded at the same task</h2>
          <ul className={styles.list}>
            {siblings.map((each) => (
              <li key={each}>
                <Link className="go" href={`/compare/${run.run}/${each}`}>
                  {shortId(each)}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      <h2>
        Newest runs of <Said>{run.name ?? "this name"}</Said>
      </h2>
      {data === null && run.name !== null ? (
        <Loading what="runs" />
      ) : (
        <ul className={styles.list}>
          {(data?.items ?? [])
            .filter((each) => each.run !== run.run)
            .slice(0, SHOWN)
            .map((each) => (
              <li key={each.run}>
                <Link className="go" href={`/compare/${run.run}/${each.run}`}>
                  {shortId(each.run)}
                </Link>{" "}
                <Outcome word={each.outcome.word} />{" "}
                <span className="sub">
                  {duration(each.elapsed_ms)} <Said>{each.tags.join(" · ")}</Said>
                </span>
              </li>
            ))}
        </ul>
      )}
      <form className={styles.form} onSubmit={submit}>
        <label htmlFor="compare-id">Another run, by its id</label>
        <input id="compare-id" className="input" value={id} onChange={(event) => setId(event.target.value)} />
        <button type="submit" className="button">
          Compare
        </button>
      </form>
    </Dialog>
  );
}
