import { lazy, Suspense } from "react";

import { LONGEST, LongText } from "./Long";
import styles from "./Markdown.module.css";
import type { Marked } from "./marks";

const Body = lazy(() => import("./MarkdownBody"));

/**
 * A recorded text as Markdown: no HTML in it, nothing loaded from other hosts, links as texts with their addresses.
 * `marked` are words to mark. While the parser is loaded, the text is shown as it is.
 */
export function Markdown({ text, marked = [] }: { text: string; marked?: readonly Marked[] }) {
  const plain = (
    <div className={styles.plain}>
      <LongText text={text} marked={marked} />
    </div>
  );
  if (text.length > LONGEST) return plain; // a parser would hold the page up
  return (
    <Suspense fallback={plain}>
      <Body text={text} marked={marked} />
    </Suspense>
  );
}
