import { useState } from "react";

import { type ApiError, get } from "../../api/client";
import type { TraceSpan } from "../../api/types";
import { Copy } from "../../parts/Copy";
import { Failed } from "../../parts/Notices";
import { Said } from "../../parts/Said";

/** The span that an event is of, as it was received: attributes, events, links. It is asked for by a click. */
export function SpanOf({ run, span }: { run: string; span: string }) {
  const [found, setFound] = useState<TraceSpan | "asking" | "missing" | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const show = () => {
    setFound("asking");
    get<TraceSpan>(`/runs/${run}/spans/${span}`).then(setFound, (failed: ApiError) => {
      if (failed.status === 404) setFound("missing");
      else setError(failed);
    });
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
      <pre>
        <Said>{text}</Said>
      </pre>
    </section>
  );
}
