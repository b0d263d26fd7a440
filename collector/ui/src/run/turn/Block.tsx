import type { ReactNode } from "react";

import styles from "./Block.module.css";

type Props = {
  label: string;
  /** Below the label: of what, since when. */
  of?: ReactNode;
  /** Beside the content: where it comes from, what contradicts it. */
  margin?: ReactNode;
  /** The content is suspected: a red rule at its left. */
  isHot?: boolean;
  isBad?: boolean;
  /** It goes on with the block above: no line between. */
  isSame?: boolean;
  id?: string;
  /** Lines below the content that have a margin each: of `Block.row`s. */
  rows?: ReactNode;
  children: ReactNode;
};

/** A block of a turn: what it is, its content, and what is said beside it. */
export function Block({ label, of, margin, isHot = false, isBad = false, isSame = false, id, rows, children }: Props) {
  const classes = [styles.block, isHot && styles.hot, isSame && styles.same].filter(Boolean).join(" ");
  return (
    <section className={classes} aria-label={label} id={id}>
      <div className={styles.label}>
        <b className={isBad ? "ink-bad" : undefined}>{label}</b> {of}
      </div>
      <div className={styles.content}>{children}</div>
      {margin != null && margin !== false && <div className={styles.margin}>{margin}</div>}
      {rows}
    </section>
  );
}
