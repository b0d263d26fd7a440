import { Copy } from "../../parts/Copy";
import styles from "./Command.module.css";

/** A command to paste, with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <>
      <pre className={styles.command} tabIndex={0} aria-label="Command">
        {text}
      </pre>
      <p>
        <Copy text={text} label="Copy" />
      </p>
    </>
  );
}
