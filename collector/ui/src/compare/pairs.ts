// Pairs of calls as lines: how the two compare, what each side says, and which pair is next. Pure.
import type { CallPair, ComparedCall } from "../api/types";
import { count } from "../model/format";
import { plainLine } from "../model/plainLine";

export type PairWord = { sign: string; word: string };

/** A sign and a word for how the calls of a pair compare, so that colour is never the only one. */
export function pairWord(pair: Pick<CallPair, "op" | "differs" | "a" | "b">): PairWord {
  switch (pair.op) {
    case "same":
      return { sign: "=", word: "equal" };
    case "similar":
      return { sign: "≈", word: pair.a?.did === "answered" ? "other words" : "same call, other words" };
    case "only_a":
      return { sign: "−", word: "only in A" };
    case "only_b":
      return { sign: "+", word: "only in B" };
    default:
      return { sign: "≠", word: changedWord(pair) };
  }
}

function changedWord({ a, b, differs }: Pick<CallPair, "differs" | "a" | "b">): string {
  if (differs.includes("status"))
    return a?.did === "failed" ? "failed in A" : b?.did === "failed" ? "failed in B" : "status";
  if (a?.did === "called" && b?.did === "called") return "other call";
  if (a?.kind === "llm" && b?.kind === "llm") return a.did === b.did ? "answer" : "other action";
  return differs.includes("arguments") ? "arguments" : (differs[0] ?? "changed");
}

export type SideLine = { before: string; code: string | null; text: string };

/** One side of a pair in a line: a call, the result of one, or what was answered. */
export function sideLine(call: ComparedCall): SideLine {
  if (call.did === "answered") return { before: "", code: null, text: `“${plainLine(call.shown)}”` };
  if (call.kind === "llm" && call.did !== "called") return { before: `${call.did} `, code: null, text: call.shown };
  if (call.kind === "llm" || call.turn === null) return { before: "", code: call.shown, text: "" };
  return { before: call.did === "failed" ? "error of " : "result of ", code: call.name ?? call.kind, text: "" };
}

/** Whether the runs did something else here, or one of them nothing. */
export const isDifference = ({ op }: Pick<CallPair, "op">): boolean => op !== "same" && op !== "similar";

/** Number of the next difference from a pair, `by` 1 or -1; null if there is none. */
export function nextDifference(items: readonly Pick<CallPair, "op">[], from: number, by: 1 | -1): number | null {
  for (let n = from + by; n >= 0 && n < items.length; n += by) {
    const pair = items[n];
    if (pair !== undefined && isDifference(pair)) return n;
  }
  return null;
}

/** "3 equal, 2 in other words, 1 changed, 2 only in B": without what there is none of. */
export function countsText(counts: Record<"same" | "similar" | "changed" | "only_a" | "only_b", number>): string {
  const words: [number, string][] = [
    [counts.same, "equal"],
    [counts.similar, "in other words"],
    [counts.changed, "changed"],
    [counts.only_a, "only in A"],
    [counts.only_b, "only in B"],
  ];
  return words
    .filter(([number]) => number > 0)
    .map(([number, word]) => `${count(number)} ${word}`)
    .join(", ");
}

/** " (+2)", " (−1)", " (+12 %)" of large figures; "" where nothing differs or nothing is known. */
export function delta(a: number | null | undefined, b: number | null | undefined, asShare = false): string {
  if (a == null || b == null || a === b) return "";
  const sign = b > a ? "+" : "−";
  if (!asShare) return ` (${sign}${count(Math.abs(b - a))})`;
  const share = a === 0 ? null : Math.round((100 * Math.abs(b - a)) / a);
  return share === null || share === 0 ? "" : ` (${sign}${count(share)} %)`;
}

/** A word, or words with these signs between them. Each character is looked at once, however long a word is. */
const WORDS = /[\p{L}\p{N}]+(?:[.,:-]+[\p{L}\p{N}]+)*/gu;

/** Numbers and identifiers: of words with signs between them, from the first one that has a digit. */
const named = (text: string): string[] =>
  (text.match(WORDS) ?? []).flatMap((words) => {
    const digit = words.search(/\d/);
    if (digit < 0) return [];
    return [words.slice(1 + Math.max(...[...".,:-"].map((sign) => words.lastIndexOf(sign, digit))))];
  });

/** Numbers and identifiers of a text that the other text does not have, each once, as they stand there. */
export function onlyNamedIn(text: string, other: string): string[] {
  const theirs = new Set(named(other).map((each) => each.toLowerCase()));
  return [...new Set(named(text))].filter((each) => !theirs.has(each.toLowerCase()));
}
