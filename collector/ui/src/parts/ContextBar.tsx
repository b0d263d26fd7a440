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

/** `isEstimated`: the sizes of the parts are not counted. `ofTokens`: the whole axis; default: the sum of the parts. */
type Props = { parts: readonly ContextPart[]; ofTokens?: number | null; isEstimated?: boolean };

/** The bar. Its description names each part with its tokens. */
export function ContextBar({ parts, ofTokens, isEstimated = false }: Props) {
  const sum = parts.reduce((all, part) => all + part.tokens, 0);
  const axis = Math.max(sum, ofTokens ?? sum, 1);
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
              className={`${styles.part} ${kinds[part.kind] ?? ""} ${styles[part.kind] ?? ""}`}
              style={{ width: `${(part.tokens / axis) * 100}%` }}
              title={`${NAMES[part.kind]}: ${count(part.tokens)} tokens, ${percent(part.tokens / Math.max(1, sum))}`}
            />
          ),
      )}
    </span>
  );
}

/** What the colours of the bar mean, with the tokens of each part. */
export function ContextLegend({ parts }: { parts: readonly ContextPart[] }) {
  return (
    <span className={styles.legend}>
      {parts.map((part) => (
        <span key={part.kind}>
          <i className={`${styles.swatch} ${kinds[part.kind] ?? ""} ${styles[part.kind] ?? ""}`} aria-hidden="true" />
          {NAMES[part.kind]} <span className="num">{count(part.tokens)}</span>
        </span>
      ))}
    </span>
  );
}
