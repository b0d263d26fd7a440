// A recorded text that may be very long: its beginning, until all of it is asked for.
import { useState } from "react";

import { count } from "../model/format";
import { MarkedText } from "./MarkedText";
import type { Marked } from "./marks";

export const LONGEST = 200_000;
const BEGINNING = 20_000;

type Props = { text: string; short: number; longest?: number; marked?: readonly Marked[] };

/** Of more than `longest` characters, `short` are shown at first; all of them where a text to mark stands beyond. */
export function Long({ text, short, longest = short, marked = [] }: Props) {
  const [isChosen, setWhole] = useState(false);
  const isWhole = text.length <= longest || isChosen || marked.some((each) => isBeyond(text, each, short));
  if (isWhole) return <MarkedText text={text} marked={marked} />;
  return (
    <>
      <MarkedText text={`${text.slice(0, short)}…`} marked={marked} />{" "}
      <button type="button" className="go" onClick={() => setWhole(true)}>
        all {count(text.length)} characters
      </button>
    </>
  );
}

/** A text of a message: what is cut is too long to read, and would hold the page up. */
export function LongText({ text, marked }: { text: string; marked: readonly Marked[] }) {
  return <Long text={text} short={BEGINNING} longest={LONGEST} marked={marked} />;
}

/** Whether the first place of these words is not within the beginning. */
function isBeyond(text: string, marked: Marked, short: number): boolean {
  const words = typeof marked === "string" ? marked : marked.whole;
  return words !== "" && text.indexOf(words) > short - words.length;
}
