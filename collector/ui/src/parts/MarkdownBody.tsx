// Markdown as it is drawn: react-markdown and its parser, which are loaded when the first message needs them (see Markdown.tsx).
import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

import styles from "./Markdown.module.css";
import { type Marked, markedPieces } from "./marks";
import { saidPieces } from "./said";

/** Nothing of other hosts is loaded, and no link leaves this page: an address is shown as a text that can be copied. */
const COMPONENTS: Components = {
  a: ({ href, children }) => <Address what={children} to={href} />,
  img: ({ src, alt }) =>
    typeof src === "string" && isInlineImage(src) ? (
      <img className={styles.image} src={src} alt={alt ?? ""} />
    ) : (
      <Address what={`image${alt ? ` “${alt}”` : ""}`} to={typeof src === "string" ? src : undefined} />
    ),
  table: ({ children }) => (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => <span>{checked ? "☑" : "☐"} </span>,
  h1: ({ children }) => <p className={styles.heading}>{children}</p>,
  h2: ({ children }) => <p className={styles.heading}>{children}</p>,
  h3: ({ children }) => <p className={styles.heading}>{children}</p>,
  h4: ({ children }) => <p className={styles.heading}>{children}</p>,
  h5: ({ children }) => <p className={styles.heading}>{children}</p>,
  h6: ({ children }) => <p className={styles.heading}>{children}</p>,
};

function Address({ what, to }: { what: ReactNode; to: string | undefined }) {
  const isSame = typeof what === "string" && what === to;
  return (
    <span className={styles.address}>
      {!isSame && <>{what} </>}
      {to !== undefined && to !== "" && !to.startsWith("#") && <code>{to}</code>}
    </span>
  );
}

/** Pictures that are in the text itself. */
const isInlineImage = (address: string): boolean => /^data:image\/(png|jpeg|gif|webp|avif);base64,/i.test(address);

/** Addresses stay as they were written, because none is followed. */
const asWritten = (address: string): string => address;

type Node = { type: string; value?: string; children?: Node[]; tagName?: string; properties?: Record<string, unknown> };

/** A rehype plugin: marks words, and names characters that would not be seen, in every text of the tree. HTML is a text, too. */
function markTexts(marked: readonly Marked[]) {
  const pieces = (text: string): Node[] =>
    markedPieces(text, marked).flatMap((piece) => {
      const said = saidPieces(piece.text).map((each) =>
        each.isNamed ? element("span", [textNode(each.text)], styles.named) : textNode(each.text),
      );
      return piece.isMarked ? [element("mark", said, "bad")] : said;
    });
  const walk = (node: Node): void => {
    if (node.children === undefined) return;
    node.children = node.children.flatMap((child) => {
      if (child.type === "text" || child.type === "raw") return pieces(child.value ?? "");
      walk(child);
      return [child];
    });
  };
  return () => walk;
}

const textNode = (value: string): Node => ({ type: "text", value });
const element = (tagName: string, children: Node[], className: string | undefined): Node => ({
  type: "element",
  tagName,
  properties: { className: className ?? "" },
  children,
});

export default function MarkdownBody({ text, marked }: { text: string; marked: readonly Marked[] }) {
  return (
    <div className={styles.markdown} dir="auto">
      <ReactMarkdown
        remarkPlugins={[remarkGfm]}
        rehypePlugins={[markTexts(marked)]}
        components={COMPONENTS}
        urlTransform={asWritten}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}
