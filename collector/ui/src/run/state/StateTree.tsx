// A value of the state as a tree: short ones in one line, refs as links, positions as links to their event.
import type { ReactNode } from "react";

import { compact } from "../../model/format";
import { isRef, isShort } from "../../model/values";
import { ContentLink } from "../../parts/ContentLink";

/** Lists and objects of more entries are shown up to here. */
const MOST = 100;
/** Objects in a list of up to so many entries take one line. */
const FEW = 4;

type Props = { name: string; value: unknown; onMove: (seq: number) => void };

export function Value({ name, value, onMove }: Props): ReactNode {
  if (typeof value === "string")
    return isRef(value) ? <ContentLink target={value}>{value.slice(0, 15)}</ContentLink> : value;
  if (name === "seq" && typeof value === "number")
    return (
      <button type="button" className="go" onClick={() => onMove(value)}>
        event {value}
      </button>
    );
  if (value === null || typeof value !== "object" || isShort(value)) return compact(value);
  const entries = Object.entries(value).filter(([key, inner]) => inner !== null && key !== "span");
  if (name === "" && entries.length <= FEW)
    return entries.map(([key, inner], n) => (
      <span key={key}>
        {n > 0 && ", "}
        <span className="key">{key === "seq" ? "at" : key}</span> <Value name={key} value={inner} onMove={onMove} />
      </span>
    ));
  return (
    <>
      {entries.slice(0, MOST).map(([key, inner]) => (
        <div key={key} className="inner">
          <span className="key">{Array.isArray(value) ? "-" : `${key}:`}</span>{" "}
          <Value name={Array.isArray(value) ? "" : key} value={inner} onMove={onMove} />
        </div>
      ))}
      {entries.length > MOST && <div className="inner sub">and {entries.length - MOST} others</div>}
    </>
  );
}
