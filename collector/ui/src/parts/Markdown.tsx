import { lazy, Suspense } from "react";

import styles from "./Markdown.module.css";
import { MarkedText } from "./MarkedText";
import type { Marked } from "./marks";

const Body = lazy(() => import("./MarkdownBody"));
/** Longer texts are shown as they are: a parser would hold the page up. */
const LONGEST = 200_000;

/**
 * A recorded text as Markdown: no HTML in it, nothing loaded from other hosts, links as texts with their addresses.
 * `marked` are words to mark. While the parser is loaded, the text is shown as it is.
 */
export function Markdown({ text, marked = [] }: { text: string; marked?: readonly Marked[] }) {
  const plain = (
    <div className={styles.plain}>
      <MarkedText text={text} marked={marked} />
    </div>
  );
  if (text.length > LONGEST) return plain;
  return (
    <Suspense fallback={plain}>
      <Body text={text} marked={marked} />
    </Suspense>
  );
}
