import { Fragment } from "react";

import type { RunMoment, SuccessRate } from "../api/types";
import { Link } from "wouter";
import { percent, shortId } from "../model/format";
import styles from "./Across.module.css";

/** A share with its 95 % interval, drawn from 0 to 1: few runs have wide bands. */
export function Rate({ rate }: { rate: SuccessRate }) {
  const of = rate.succeeded + rate.failed;
  if (rate.rate === null || rate.low === null || rate.high === null) return <span className="sub">no outcome</span>;
  const text = `${rate.succeeded} of ${of} succeeded, 95 % interval ${percent(rate.low)} to ${percent(rate.high)}`;
  return (
    <span className={styles.rate} title={text}>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={text}>
        <rect className={styles.track} x={0} y={4} width={100} height={2} />
        <rect
          className={styles.band}
          x={rate.low * 100}
          y={2}
          width={Math.max(1, (rate.high - rate.low) * 100)}
          height={6}
        />
        <rect className={styles.mark} x={Math.min(98.5, rate.rate * 100)} y={0} width={1.5} height={10} />
      </svg>
      <span className="num">
        {rate.succeeded}/{of}
      </span>
    </span>
  );
}

/** Runs that show it, each a link to the moment. */
export function Evidence({ items }: { items: readonly (RunMoment | string)[] }) {
  return (
    <>
      {items.slice(0, 3).map((each, n) => {
        const [run, seq] = typeof each === "string" ? [each, null] : [each.run, each.seq];
        return (
          <Fragment key={n}>
            {n > 0 && " "}
            <Link className={`go ${styles.evidence}`} href={`/runs/${run}${seq === null ? "" : `?at=${seq}`}`}>
              {shortId(run)}
              {seq === null ? "" : `:${seq}`}
            </Link>
          </Fragment>
        );
      })}
    </>
  );
}
