// Words of a text that are marked: what a finding contradicts, what a search found. Pure.

/** A piece of a text, and whether it is one of the marked ones. */
export type MarkedPiece = { text: string; isMarked: boolean };

/** A text to mark wherever it stands, or a number or name that is marked only as a whole: 98, and not the end of 1998. */
export type Marked = string | { whole: string };

/** The text in pieces, with every place of every marked text; where two overlap, the earlier and longer one counts. */
export function markedPieces(text: string, marked: readonly Marked[]): MarkedPiece[] {
  const wanted = marked.filter((each) => wordsOf(each) !== "").sort((a, b) => wordsOf(b).length - wordsOf(a).length);
  const pieces: MarkedPiece[] = [];
  const places = wanted.map((each) => placeOf(text, each, 0));
  let from = 0;
  while (from < text.length) {
    const next = firstOf(text, wanted, places, from);
    if (next === null) break;
    if (next.at > from) pieces.push({ text: text.slice(from, next.at), isMarked: false });
    pieces.push({ text: text.slice(next.at, next.at + next.length), isMarked: true });
    from = next.at + next.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isMarked: false });
  return pieces;
}

const wordsOf = (marked: Marked): string => (typeof marked === "string" ? marked : marked.whole);

/** The next place of any of them. `places` keeps where each stands next, so that no part of the text is searched twice. */
function firstOf(text: string, wanted: readonly Marked[], places: number[], from: number): Place | null {
  let found: Place | null = null;
  wanted.forEach((each, n) => {
    const known = places[n] ?? -1;
    const at = known >= 0 && known < from ? (places[n] = placeOf(text, each, from)) : known;
    if (at >= 0 && (found === null || at < found.at)) found = { at, length: wordsOf(each).length };
  });
  return found;
}

type Place = { at: number; length: number };

const placeOf = (text: string, marked: Marked, from: number): number =>
  typeof marked === "string" ? text.indexOf(marked, from) : wholeAt(text, marked.whole, from);

/** The next place that is not within a longer word, number, date or time; -1: there is none. */
function wholeAt(text: string, words: string, from: number): number {
  for (let at = text.indexOf(words, from); at >= 0; at = text.indexOf(words, at + 1)) {
    const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(at + words.length, at + words.length + 2)];
    if (!/[\p{L}\p{N}]$|\p{N}[.,:-]$/u.test(before) && !/^[\p{L}\p{N}]|^[.,:-]\p{N}/u.test(after)) return at;
  }
  return -1;
}
