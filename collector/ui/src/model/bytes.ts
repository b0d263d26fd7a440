// Text and bytes as rows of one height, of which only those in view are drawn. Pure.

/** A row ends at a line's end, or after so many characters. */
export const ROW_CHARACTERS = 160;
export const ROW_BYTES = 16;

/** Where each row of a text begins; the last entry is the length of the text. */
export function rowStarts(text: string, width = ROW_CHARACTERS): number[] {
  const starts = [0];
  let from = 0;
  while (from < text.length) {
    const line = text.indexOf("\n", from);
    const end = line === -1 ? text.length : line + 1;
    const long = from + width < end - (line === -1 ? 0 : 1);
    from = long ? wholeCharacter(text, from + width) : end;
    starts.push(from);
  }
  return starts;
}

/** The same position, or one less, so that the two halves of a character outside the BMP stay together. */
function wholeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** Positions at which a text contains another, capitals or not; at most `most`. */
export function occurrences(text: string, wanted: string, most: number): number[] {
  if (wanted === "") return [];
  const found: number[] = [];
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  for (const match of text.matchAll(pattern)) {
    found.push(match.index);
    if (found.length === most) break;
  }
  return found;
}

/** The row, of those that `rowStarts` gives, in which a character stands. */
export function rowOf(starts: readonly number[], at: number): number {
  let low = 0;
  let high = Math.max(0, starts.length - 2);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

export type Piece = { text: string; kind: "plain" | "found" | "masked" };

/** What stands in place of a masked value, in JSON and in text. */
const MASKED = /\{\s*"\$masked":\s*"[^"]*"\s*\}|<masked>|\[redacted[^\]\n]{0,80}\]/giu;

/** A row as pieces: what was searched for, and what stands in place of masked values. */
export function pieces(text: string, wanted: string): Piece[] {
  const marks: { from: number; to: number; kind: Piece["kind"] }[] = [];
  for (const match of text.matchAll(MASKED))
    marks.push({ from: match.index, to: match.index + match[0].length, kind: "masked" });
  for (const at of occurrences(text, wanted, 100)) marks.push({ from: at, to: at + wanted.length, kind: "found" });
  marks.sort((a, b) => a.from - b.from);
  const all: Piece[] = [];
  let here = 0;
  for (const mark of marks) {
    if (mark.from < here) continue;
    if (mark.from > here) all.push({ text: text.slice(here, mark.from), kind: "plain" });
    all.push({ text: text.slice(mark.from, mark.to), kind: mark.kind });
    here = mark.to;
  }
  if (here < text.length) all.push({ text: text.slice(here), kind: "plain" });
  return all;
}

/** "00000010  68 65 6c 6c 6f …  hello" for up to 16 bytes. */
export function hexRow(bytes: Uint8Array, offset: number): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
  const shown = Array.from(bytes, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "."));
  return `${offset.toString(16).padStart(8, "0")}  ${hex.join(" ").padEnd(ROW_BYTES * 3)} ${shown.join("")}`;
}

/** 1,536 B, 1.5 MiB */
export function bytesText(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${(size / 1024).toFixed(1)} KiB`;
  return `${(size / 1024 / 1024).toFixed(1)} MiB`;
}
