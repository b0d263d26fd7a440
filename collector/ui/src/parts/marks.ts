// Words of a text that are marked: what a finding contradicts, what a search found. Pure.

/** A piece of a text, and whether it is one of the marked ones. */
export type MarkedPiece = { text: string; isMarked: boolean };

/** The text in pieces, with every place of every marked text; where two overlap, the earlier and longer one counts. */
export function markedPieces(text: string, marked: readonly string[]): MarkedPiece[] {
  const wanted = marked.filter((each) => each !== "").sort((a, b) => b.length - a.length);
  const pieces: MarkedPiece[] = [];
  let from = 0;
  while (from < text.length) {
    const next = firstOf(text, wanted, from);
    if (next === null) break;
    if (next.at > from) pieces.push({ text: text.slice(from, next.at), isMarked: false });
    pieces.push({ text: text.slice(next.at, next.at + next.length), isMarked: true });
    from = next.at + next.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isMarked: false });
  return pieces;
}

function firstOf(text: string, wanted: readonly string[], from: number): { at: number; length: number } | null {
  let found: { at: number; length: number } | null = null;
  for (const each of wanted) {
    const at = text.indexOf(each, from);
    if (at >= 0 && (found === null || at < found.at)) found = { at, length: each.length };
  }
  return found;
}
