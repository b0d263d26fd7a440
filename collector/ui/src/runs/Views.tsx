// Views of the list: the usual ones, those that people saved, and saving what is shown.
import { type FormEvent, useId, useState } from "react";
import { Link } from "wouter";

import { type ApiError, post, remove } from "../api/client";
import type { Page, RunsOverview, SavedView } from "../api/types";
import { useApi } from "../api/useApi";
import { count } from "../model/format";
import { Dialog } from "../parts/Dialog";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";
import { conditionsIn, hasTotals, viewQuery } from "./query";
import styles from "./RunsPage.module.css";

type View = { name: string; query: string; isSaved: boolean };

/** What most people look for first. Failed ones are those that a score calls so, and those that an error ended. */
const USUAL: readonly View[] = [
  { name: "All", query: "", isSaved: false },
  { name: "Failed", query: "outcome=failed&outcome=crashed", isSaved: false },
  { name: "Waiting", query: "outcome=waiting", isSaved: false },
  { name: "Suspect: strong", query: "suspect=strong", isSaved: false },
  { name: "Over $0.10", query: "cost_above=0.1", isSaved: false },
];
const AUTHOR = "answers.by";

type Props = {
  query: URLSearchParams;
  /** The totals of all runs without any condition, if they are known. */
  all: RunsOverview | null;
  /** Counts up when runs have changed: the counts are asked for again. */
  turn: number;
};

export function Views({ query, all, turn }: Props) {
  const [saved, setSaved] = useState(0);
  const [isSaving, setSaving] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const { data } = useApi<Page<SavedView>>("/views", {}, false, saved);
  const shown = viewQuery(query);
  const views = [
    ...USUAL,
    ...(data?.items ?? []).map((view) => ({ name: view.name, query: view.query, isSaved: true })),
  ];
  const isKnown = views.some((view) => viewQuery(new URLSearchParams(view.query)) === shown);
  const takeOut = (name: string) =>
    void remove(`/views/${encodeURIComponent(name)}`).then(
      () => setSaved((n) => n + 1),
      (error: ApiError) => setProblem(error.message),
    );
  return (
    <>
      <nav className={styles.views} aria-label="Views">
        {views.map((view) => {
          const isShown = viewQuery(new URLSearchParams(view.query)) === shown;
          return (
            <span key={`${view.isSaved} ${view.name}`} className={styles.view}>
              <Link href={view.query === "" ? "/" : `/?${view.query}`} aria-current={isShown ? "true" : undefined}>
                <Said>{view.name}</Said> <Count view={view} all={all} turn={turn} />
              </Link>
              {view.isSaved && isShown && (
                <button
                  type="button"
                  className="button quiet"
                  aria-label={`Delete the view ${saidPlainly(view.name)}`}
                  title="Delete this view"
                  onClick={() => takeOut(view.name)}
                >
                  ✕
                </button>
              )}
            </span>
          );
        })}
        {!isKnown && (
          <button type="button" className="button quiet" onClick={() => setSaving(true)}>
            + Save this view
          </button>
        )}
      </nav>
      {problem !== null && (
        <p className="failed" role="alert">
          {problem}
        </p>
      )}
      {isSaving && <SaveView query={shown} onSaved={() => setSaved((n) => n + 1)} onClose={() => setSaving(false)} />}
    </>
  );
}

/** How many runs a view has. Those of the usual views come with the totals of all runs. */
function Count({ view, all, turn }: { view: View; all: RunsOverview | null; turn: number }) {
  const query = new URLSearchParams(view.query);
  const isInAll = view.query === "" || query.getAll("outcome").length === [...query].length;
  const isAsked = !isInAll && hasTotals(query);
  const { data } = useApi<RunsOverview>(
    isAsked ? "/runs/overview" : null,
    { ...conditionsIn(query), steps: 1 },
    false,
    turn,
  );
  const runs = isInAll ? ofOutcomes(all, query.getAll("outcome")) : (data?.runs ?? null);
  return runs === null ? null : <span className={`num ${styles.viewCount}`}>{count(runs)}</span>;
}

function ofOutcomes(all: RunsOverview | null, words: readonly string[]): number | null {
  if (all === null) return null;
  if (words.length === 0) return all.runs;
  return all.outcomes.reduce((sum, each) => sum + (words.includes(each.word) ? each.runs : 0), 0);
}

function SaveView({ query, onSaved, onClose }: { query: string; onSaved: () => void; onClose: () => void }) {
  const [problem, setProblem] = useState<string | null>(null);
  const [name, setName] = useState("");
  const field = useId();
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === "") return setProblem("Write a name for the view.");
    const author = localStorage.getItem(AUTHOR) || null;
    post<SavedView>("/views", { name: name.trim(), query, author }).then(
      () => {
        onSaved();
        onClose();
      },
      (error: ApiError) => setProblem(error.message),
    );
  };
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <form className={styles.save} onSubmit={save}>
        <label htmlFor={field}>Its name; a view of the same name is replaced</label>
        <input
          id={field}
          className="input"
          value={name}
          maxLength={100}
          autoFocus
          onChange={(event) => setName(event.target.value)}
        />
        <code className="ink-soft">{query === "" ? "all runs" : query}</code>
        {problem !== null && (
          <p className="failed" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="button main">
          Save
        </button>
      </form>
    </Dialog>
  );
}
