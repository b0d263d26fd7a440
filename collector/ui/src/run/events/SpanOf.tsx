import { useState } from "react";

import { type ApiError, get } from "../../api/client";
import type { Page, TraceSpan } from "../../api/types";
import { Copy } from "../../parts/Copy";
import { Failed } from "../../parts/Notices";

const PAGE = 1000;
/** Pages that are read to find a span. */
const PAGES = 100;

/** The span that an event is of, as it was received: attributes, events, links. It is asked for by a click. */
export function SpanOf({ run, span }: { run: string; span: string }) {
  const [found, setFound] = useState<TraceSpan | "asking" | "missing" | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const show = () => {
    setFound("asking");
    search(run, span).then((each) => setFound(each ?? "missing"), setError);
  };
  if (error !== null) return <Failed error={error} />;
  if (found === null || found === "asking")
    return (
      <p>
        <button type="button" className="button" disabled={found !== null} onClick={show}>
          {found === null ? "Show the span as received" : "Reading …"}
        </button>
      </p>
    );
  if (found === "missing") return <p className="sub">The span has not arrived.</p>;
  const text = JSON.stringify(found, null, 2);
  return (
    <section aria-label="Span">
      <h2>
        span {span} <Copy className="icon" text={text} label="Copy" />
      </h2>
      <pre>{text}</pre>
    </section>
  );
}

/** Spans are answered a page after another; null: it is in none of them. Throws ApiError. */
async function search(run: string, span: string): Promise<TraceSpan | null> {
  let cursor: string | null = null;
  for (let n = 0; n < PAGES; n++) {
    const page: Page<TraceSpan> = await get(`/runs/${run}/spans`, { limit: PAGE, cursor });
    const found = page.items.find((each) => each.span === span);
    cursor = page.next_cursor;
    if (found !== undefined || cursor === null) return found ?? null;
  }
  return null;
}
