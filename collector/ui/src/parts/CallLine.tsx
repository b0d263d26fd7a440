import type { ShownCall } from "../api/types";
import styles from "./CallLine.module.css";
import { Said } from "./Said";

/** A tool call in one line: the tool in its colour, the values of its arguments. A failed one has a cross. */
export function CallLine({ call }: { call: Pick<ShownCall, "name" | "shown" | "status"> }) {
  const given = call.shown.startsWith(`${call.name}(`) ? call.shown.slice(call.name.length) : `(${call.shown})`;
  return (
    <span className={styles.call}>
      {call.status === "failed" && (
        <span className="ink-bad">
          <span aria-hidden="true">✕ </span>
          <span className="visually-hidden">failed: </span>
        </span>
      )}
      <Said className="ink-tool">{call.name}</Said>
      <Said>{given}</Said>
    </span>
  );
}
