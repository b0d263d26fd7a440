import { Said } from "../parts/Said";
import { changedWords } from "./callDiff";
import styles from "./CallsPage.module.css";

/** Two texts in one, word by word. */
export function Words({ a, b }: { a: string; b: string }) {
  return (
    <p className={styles.text}>
      {changedWords(a, b).map((change, n) =>
        change.op === "removed" ? (
          <del key={n} className={styles.removed}>
            <Said>{change.text}</Said>
          </del>
        ) : change.op === "added" ? (
          <ins key={n} className={styles.added}>
            <Said>{change.text}</Said>
          </ins>
        ) : (
          <Said key={n}>{change.text}</Said>
        ),
      )}
    </p>
  );
}
