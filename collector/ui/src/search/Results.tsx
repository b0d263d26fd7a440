// What is around the results of a search: facets, and its empty, loading, failed and cut states.
import type { ReactNode } from "react";

import { count } from "../model/format";
import { Empty, Failed, Loading } from "../parts/Notices";
import type { Facet, SetCondition } from "./conditions";
import type { Found } from "./usePages";
import conditions from "../parts/Conditions.module.css";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";
import styles from "./Search.module.css";

/** Facets whose values are names that programs gave. */
const NAMES = new Set(["tool", "agent"]);

/** Values that the shown results have, to narrow the search; the chosen one is taken back by another click. */
export function Facets({ facets, set }: { facets: readonly Facet[]; set: SetCondition }) {
  return (
    <aside className={styles.facets} aria-label="In these results">
      {facets
        .filter((facet) => facet.counts.length > 0)
        .map((facet) => (
          <div key={facet.name}>
            <h2>{facet.name}</h2>
            {facet.counts.map(({ value, count: times }) => (
              <button
                key={value}
                type="button"
                className={conditions.chip}
                title={saidPlainly(value)}
                aria-pressed={facet.chosen === value}
                onClick={() => set(facet.name, facet.chosen === value ? null : value)}
              >
                <Said className={styles.said}>{NAMES.has(facet.name) ? value : value.replaceAll("_", " ")}</Said>{" "}
                <span className="num">{count(times)}</span>
              </button>
            ))}
          </div>
        ))}
    </aside>
  );
}

type Props = { found: Found<unknown>; what: string; json: string; facets: ReactNode; children: ReactNode };

export function Results({ found, what, json, facets, children }: Props) {
  const { items, error, isBusy, hasMore, unindexed, more } = found;
  return (
    <div className={styles.found}>
      {facets}
      <div className={styles.results} tabIndex={0} role="region" aria-label="Results" aria-busy={isBusy}>
        <div className={`${styles.summary} sub`}>
          <span role="status">{isBusy ? "" : `${count(items.length)}${hasMore ? " or more" : ""} ${what} found.`}</span>
          {unindexed > 0 && (
            <span>
              {count(unindexed)}
              {unindexed >= 1000 ? " or more" : ""} ended runs are not indexed yet, and were not searched.
            </span>
          )}
          <a className="link" href={json}>
            As JSON
          </a>
        </div>
        {error !== null && <Failed error={error} what={what} onAgain={more} />}
        {items.length === 0 && isBusy && <Loading what="results" />}
        {items.length === 0 && !isBusy && error === null && !hasMore && (
          <Empty>
            No {what} meet all these conditions. Runs are searched some time after they have ended, when nothing more is
            added to them.
          </Empty>
        )}
        {children}
        {hasMore && !isBusy && (
          <p className="notice">
            <button type="button" className="button" onClick={more}>
              Search on
            </button>
          </p>
        )}
      </div>
    </div>
  );
}
