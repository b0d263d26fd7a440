// What an approval would do, from the arguments of the call that it is about. Pure.
import { diffWordsWithSpace } from "diff";

/** Pairs of names under which tools take what is there and what is to be there instead. */
const PAIRS: readonly [string, string][] = [
  ["old", "new"],
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["before", "after"],
  ["from", "to"],
  ["search", "replace"],
];

/** A word of a line, and whether it is one that changes. */
export type Word = { text: string; isChanged: boolean };
/** A line that goes or comes, in words; or one that stays. */
export type ChangedLine = { sign: "-" | "+" | " "; words: Word[] };
export type Change = { lines: ChangedLine[]; others: [name: string, value: unknown][] };

/** A change of a text as lines that go and come, and the other arguments; null: the arguments say no such change. */
export function changeIn(details: unknown): Change | null {
  if (typeof details !== "object" || details === null || Array.isArray(details)) return null;
  const given = new Map(Object.entries(details));
  for (const [before, after] of PAIRS) {
    const [old, next] = [given.get(before), given.get(after)];
    if (typeof old !== "string" || typeof next !== "string") continue;
    return {
      lines: changedLines(old, next),
      others: [...given].filter(([name]) => name !== before && name !== after),
    };
  }
  return null;
}

/** The old text as lines that go and the new one as lines that come, with the words that differ; equal texts stay. */
export function changedLines(old: string, next: string): ChangedLine[] {
  const words = diffWordsWithSpace(old, next);
  const side = (sign: "-" | "+", isOther: (part: { added?: boolean; removed?: boolean }) => boolean): ChangedLine[] =>
    inLines(
      words
        .filter((part) => !isOther(part))
        .map((part) => ({ text: part.value, isChanged: part.added === true || part.removed === true })),
    ).map((line) => ({ sign, words: line }));
  if (old === next) return inLines([{ text: old, isChanged: false }]).map((line) => ({ sign: " ", words: line }));
  return [
    ...(old === "" ? [] : side("-", (part) => part.added === true)),
    ...(next === "" ? [] : side("+", (part) => part.removed === true)),
  ];
}

function inLines(words: readonly Word[]): Word[][] {
  const lines: Word[][] = [[]];
  for (const word of words)
    word.text.split("\n").forEach((text, n) => {
      if (n > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ text, isChanged: word.isChanged });
    });
  return lines;
}
