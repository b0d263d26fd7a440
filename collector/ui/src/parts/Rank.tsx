import styles from "./Rank.module.css";

/** A number in a disc. `suspect`: filled; `evidence`: pale; `weak`: outlined. */
export function Rank({
  children,
  as = "evidence",
}: {
  children: number | string;
  as?: "suspect" | "evidence" | "weak";
}) {
  return <span className={`${styles.rank} ${styles[as] ?? ""}`}>{children}</span>;
}
