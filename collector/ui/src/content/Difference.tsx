// Two contents, line by line: what only one of them has.
import { diffLines } from "diff";
import { useEffect, useMemo } from "react";

import type { ContentAbout } from "../api/types";
import { useApi } from "../api/useApi";
import { bytesText } from "../model/bytes";
import { count } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { prettyText } from "./pretty";
import { useText } from "./ranges";
import { Said } from "../parts/Said";
import styles from "./Content.module.css";

/** Larger contents are not compared: it would take the browser too long. */
const MOST_COMPARED = 1024 * 1024;
const MOST_MS = 2_000;
/** Equal lines beside a change that are shown. */
const AROUND = 3;

export function Difference({ about, other }: { about: ContentAbout; other: string }) {
  const second = useApi<ContentAbout>(`/content/${other}/about`, { limit: 1 }, true);
  if (second.error !== null) return <Failed error={second.error} />;
  if (second.data === null) return <Loading what="the other content" />;
  const large = [about, second.data].find((each) => each.size > MOST_COMPARED);
  if (large !== undefined)
    return (
      <div className="notice">
        One of them has {bytesText(large.size)}; up to {bytesText(MOST_COMPARED)} can be compared here. Download both to
        compare them.
      </div>
    );
  return <Lines a={about} b={second.data} />;
}

function Lines({ a, b }: { a: ContentAbout; b: ContentAbout }) {
  const first = useText(a.ref, a.size);
  const second = useText(b.ref, b.size);
  const { rest: restOfFirst } = first;
  const { rest: restOfSecond } = second;
  useEffect(() => restOfFirst(), [restOfFirst]);
  useEffect(() => restOfSecond(), [restOfSecond]);
  const isThere = first.isWhole && second.isWhole;
  const changes = useMemo(
    () => (isThere ? diffLines(prettyText(first.text), prettyText(second.text), { timeout: MOST_MS }) : null),
    [isThere, first.text, second.text],
  );
  const error = first.error ?? second.error;
  if (error !== null) return <Failed error={error} />;
  if (!isThere) return <Loading what="both contents" />;
  if (changes === undefined || changes === null)
    return <div className="notice">They differ in too much to be compared here. Download both to compare them.</div>;
  if (changes.every((change) => !change.added && !change.removed))
    return <div className="notice">Both say the same.</div>;
  return (
    <div className={styles.difference} tabIndex={0} role="region" aria-label="Difference">
      <p className="sub">
        <span className="ink-cut">− only in this content</span> &nbsp;{" "}
        <span className="ink-tool">+ only in the other</span>
      </p>
      <pre>
        {changes.map((change, n) =>
          change.added ? (
            <ins key={n}>
              <Said>{signed("+ ", change.value)}</Said>
            </ins>
          ) : change.removed ? (
            <del key={n}>
              <Said>{signed("− ", change.value)}</Said>
            </del>
          ) : (
            <span key={n}>
              <Said>{signed("  ", folded(change.value, n === 0, n === changes.length - 1))}</Said>
            </span>
          ),
        )}
      </pre>
    </div>
  );
}

const lines = (text: string): string[] => text.replace(/\n$/, "").split("\n");
const signed = (sign: string, text: string): string =>
  lines(text)
    .map((line) => `${sign}${line}`)
    .join("\n");

/** Equal lines, of many only those beside a change. */
function folded(text: string, isFirst: boolean, isLast: boolean): string {
  const all = lines(text);
  const before = isFirst ? 0 : AROUND;
  const after = isLast ? 0 : AROUND;
  const hidden = all.length - before - after;
  if (hidden <= 1) return text;
  return [...all.slice(0, before), `… ${count(hidden)} equal lines`, ...all.slice(all.length - after)].join("\n");
}
