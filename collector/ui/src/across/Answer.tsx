// What all questions across runs have: which runs they are about, and what is shown where there is no answer.
import type { ReactNode } from "react";
import { Link } from "wouter";

import type { Population } from "../api/types";
import { type Asked, useApi } from "../api/useApi";
import { count } from "../model/format";
import { Empty, Failed, Loading } from "../parts/Notices";
import { type Conditions, failedRuns, runsLink, succeededRuns } from "./links";
import styles from "./Across.module.css";

/** What every question is asked with: the conditions of the address, and when a run has succeeded. */
export type Question = { params: Conditions; where: Conditions; outcome: string | null; task: string };

type Props<T> = {
  path: string;
  params: Conditions;
  what: string;
  isSecond?: boolean;
  children: (data: T) => ReactNode;
};

/** An answer about runs, or why there is none: it is awaited, refused, or about no runs. A second answer on a page does not say again that there are no runs. */
export function Answer<T extends { population: Population }>({
  path,
  params,
  what,
  isSecond = false,
  children,
}: Props<T>) {
  const { data, error, isStale }: Asked<T> = useApi<T>(`/analytics/${path}`, params);
  if (error !== null) return <Failed error={error} />;
  if (data === null) return <Loading what={what} />;
  if (data.population.runs === 0 && isSecond) return null;
  if (data.population.runs === 0)
    return (
      <Empty>
        No run that has ended meets these conditions
        {data.population.unfinished > 0 && `; ${count(data.population.unfinished)} still run`}. Forks are not counted,
        since they repeat a part of another run.
      </Empty>
    );
  return <div aria-busy={isStale}>{children(data)}</div>;
}

/** The runs that an answer is about, each number a link to them. */
export function About({
  population,
  where,
  outcome,
}: {
  population: Population;
  where: Conditions;
  outcome: string | null;
}) {
  const failed = failedRuns(outcome);
  return (
    <p className={styles.about}>
      {population.more && "the newest "}
      <Link className="link" href={runsLink(where)}>
        {count(population.runs)} runs
      </Link>
      :{" "}
      <Link className="link" href={runsLink(where, succeededRuns(outcome))}>
        {count(population.succeeded)} succeeded
      </Link>
      ,{" "}
      {failed === null ? (
        `${count(population.failed)} failed`
      ) : (
        <Link className="link" href={runsLink(where, failed)}>
          {count(population.failed)} failed
        </Link>
      )}
      {population.without_outcome > 0 && `, ${count(population.without_outcome)} without an outcome`}
      {population.unfinished > 0 && (
        <>
          ;{" "}
          <Link className="link" href={runsLink(where, { status: "running" })}>
            {count(population.unfinished)} still run
          </Link>{" "}
          and are not counted
        </>
      )}
      <span className="sub">
        {" "}
        · {population.outcome === "status" ? "success: the run completed" : `success: ${population.outcome}`}
      </span>
    </p>
  );
}
