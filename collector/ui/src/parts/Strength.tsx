import type { Happened } from "../api/types";
import styles from "./Strength.module.css";

export type StrengthWord = NonNullable<Happened["strength"]>;

/** How sure a finding is, as a word; red only where it is strong. */
export function Strength({ word }: { word: StrengthWord }) {
  return <span className={word === "strong" ? `${styles.strength} ${styles.strong}` : styles.strength}>{word}</span>;
}
