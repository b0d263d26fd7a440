// Sentences of a comparison, in which names and recorded values stand between backticks. Pure.

export type SentencePiece = { text: string; isCode: boolean };

/** The sentence in pieces: words, and names or values. A backtick without its second one is part of the words. */
export function sentencePieces(sentence: string): SentencePiece[] {
  return sentence
    .split(/(`[^`]*`)/)
    .filter((text) => text !== "")
    .map((text) =>
      text.length >= 2 && text.startsWith("`") && text.endsWith("`")
        ? { text: text.slice(1, -1), isCode: true }
        : { text, isCode: false },
    );
}
