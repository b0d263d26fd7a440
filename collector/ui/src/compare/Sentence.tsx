import { Said } from "../parts/Said";
import styles from "./ComparePage.module.css";
import { sentencePieces } from "./sentencePieces";

/** A sentence, its names and values in mono. */
export function Sentence({ text }: { text: string }) {
  return sentencePieces(text).map((piece, n) =>
    piece.isCode ? (
      <code key={n} className={styles.code}>
        <Said>{piece.text}</Said>
      </code>
    ) : (
      <Said key={n}>{piece.text}</Said>
    ),
  );
}
