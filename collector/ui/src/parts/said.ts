// Recorded texts as they are shown: nothing in them may change what stands beside them. Pure.

/** Characters that turn the direction of a text around, and others that show nothing: Unicode's general category Cf without joiners, and control characters. */
const UNSEEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const EACH_UNSEEN = new RegExp(UNSEEN, "g");

/** A piece of a text: as it is, or a character that is named (`U+202E`) because it would not be seen. */
export type SaidPiece = { text: string; isNamed: boolean };

/** `code point` as Unicode writes it: U+202E. */
export const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** A text in pieces, with the names of the characters that would not be seen. Most texts are one piece. */
export function saidPieces(text: string): SaidPiece[] {
  if (!UNSEEN.test(text)) return text === "" ? [] : [{ text, isNamed: false }];
  const pieces: SaidPiece[] = [];
  let from = 0;
  for (const found of text.matchAll(EACH_UNSEEN)) {
    if (found.index > from) pieces.push({ text: text.slice(from, found.index), isNamed: false });
    pieces.push({ text: codePoint(found[0]), isNamed: true });
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isNamed: false });
  return pieces;
}

/** The text with these characters as their names: for titles and labels, where nothing can be marked. */
export const saidPlainly = (text: string): string =>
  saidPieces(text)
    .map((piece) => (piece.isNamed ? `[${piece.text}]` : piece.text))
    .join("");
