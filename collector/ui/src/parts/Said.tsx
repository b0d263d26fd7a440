import styles from "./Said.module.css";
import { saidPieces } from "./said";

/** A recorded text, isolated: its direction ends where it ends. Characters that would not be seen are shown by their names. */
export function Said({ children, className }: { children: string | null | undefined; className?: string | undefined }) {
  return (
    <bdi className={className}>
      {saidPieces(children ?? "").map((piece, n) =>
        piece.isNamed ? (
          <span key={n} className={styles.named} title="A character that cannot be seen">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}
