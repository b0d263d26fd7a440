// Recorded texts as they are shown: nothing in them may change what stands beside them. Pure.

/**
 * Characters that turn the direction of a text around, or that show nothing (Unicode's Cc and Cf): also those in which
 * texts are hidden from people. Line ends, tabs, joiners, and signs of Arabic and Syriac that are seen stay.
 */
const UNSEEN = /(?!\u200c|\u200d|[\n\r\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2])[\p{Cc}\p{Cf}\u2028\u2029]/u;
const EACH_UNSEEN = new RegExp(UNSEEN, "gu");

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
