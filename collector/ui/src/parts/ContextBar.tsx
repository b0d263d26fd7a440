// A context as one bar, by kind of content, in the order in which the model reads it.
import type { ContextPart } from "../api/types";
import { count, percent } from "../model/format";
import styles from "./ContextBar.module.css";
import kinds from "./contextKinds.module.css";

const NAMES: Readonly<Record<ContextPart["kind"], string>> = {
  system: "system",
  tools: "tools",
  user: "user",
  model: "model",
  results: "results",
  new: "new",
};

/** `newest`: what the new messages are, whose colour they have. `isEstimated`: the sizes of the parts are not counted. */
type Props = { parts: readonly ContextPart[]; newest: "user" | "results"; isEstimated?: boolean };

/** The colour of a part, full where it is new. */
const look = (part: ContextPart, newest: Props["newest"]): string =>
  part.kind === "new" ? `${kinds[newest] ?? ""} ${styles.new ?? ""}` : (kinds[part.kind] ?? "");

/** The bar. Its description names each part with its tokens. */
export function ContextBar({ parts, newest, isEstimated = false }: Props) {
  const sum = parts.reduce((all, part) => all + part.tokens, 0);
  const said = parts.map((part) => `${NAMES[part.kind]} ${count(part.tokens)}`).join(", ");
  return (
    <span
      className={styles.bar}
      role="img"
      aria-label={`${count(sum)} tokens${isEstimated ? ", parts estimated" : ""}: ${said}`}
    >
      {parts.map(
        (part) =>
          part.tokens > 0 && (
            <span
              key={part.kind}
              className={`${styles.part} ${look(part, newest)}`}
              style={{ width: `${(part.tokens / Math.max(1, sum)) * 100}%` }}
              title={`${NAMES[part.kind]}: ${count(part.tokens)} tokens, ${percent(part.tokens / Math.max(1, sum))}`}
            />
          ),
      )}
    </span>
  );
}

/** What the colours of the bar mean, with the tokens of each part. */
export function ContextLegend({ parts, newest }: Pick<Props, "parts" | "newest">) {
  return (
    <span className={styles.legend}>
      {parts.map((part) => (
        <span key={part.kind}>
          <i className={`${styles.swatch} ${look(part, newest)}`} aria-hidden="true" />
          {NAMES[part.kind]} <span className="num">{count(part.tokens)}</span>
        </span>
      ))}
    </span>
  );
}
