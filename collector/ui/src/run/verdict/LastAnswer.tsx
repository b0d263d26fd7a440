import type { RunVerdict } from "../../api/types";
import { plainLine } from "../../model/plainLine";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import styles from "./LastAnswer.module.css";

/** The last answer to the user, in two lines. */
export function LastAnswer({ verdict }: { verdict: RunVerdict }) {
  if (verdict.answer === null) return null;
  return (
    <p className={styles.answer}>
      <span className={styles.text}>
        “<Said>{plainLine(verdict.answer)}</Said>”
      </span>{" "}
      {verdict.answer_seq !== null && <TurnLink seq={verdict.answer_seq}>last answer</TurnLink>}
    </p>
  );
}
