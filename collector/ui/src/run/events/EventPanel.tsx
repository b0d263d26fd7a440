import { useState } from "react";

import { apiUrl } from "../../api/client";
import type { RecordedEvent } from "../../api/types";
import { count } from "../../model/format";
import { Copy } from "../../parts/Copy";
import { ContentLink } from "../../parts/ContentLink";
import { Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { SpanOf } from "./SpanOf";
import styles from "./EventPanel.module.css";

/** Contents beyond this are shown in part, and can be downloaded whole. */
const SHOWN = 100_000;

/** An event as it was recorded, and the contents that it names. */
export function EventPanel({ event }: { event: RecordedEvent | undefined }) {
  if (event === undefined) return <Loading what="the event" />;
  const { previews, ...rest } = event;
  return (
    <div className={styles.event}>
      {Object.entries(event.refs).map(([name, ref]) => (
        <Content key={`${name} ${ref}`} name={name} target={ref} preview={previews?.[name]} />
      ))}
      <h2>
        {event.kind} <Copy className="icon" text={JSON.stringify(rest, null, 2)} label="Copy" />
      </h2>
      <pre>
        <Said>{JSON.stringify(rest, null, 2)}</Said>
      </pre>
      {event.span !== null && <SpanOf key={event.span} run={event.run} span={event.span} />}
    </div>
  );
}

/** Always as text: what was recorded is never executed by the page. */
function Content({ name, target, preview }: { name: string; target: string; preview: string | undefined }) {
  const [text, setText] = useState<string | null>(null);
  const url = apiUrl(`/content/${target}`);
  const show = () => {
    fetch(url, { credentials: "same-origin", headers: { range: `bytes=0-${SHOWN - 1}` } })
      .then(async (answer) =>
        answer.ok ? pretty(await answer.text()) : `The collector answered with ${answer.status}.`,
      )
      .then(setText, () => setText("The collector does not answer."));
  };
  return (
    <div className={styles.value}>
      <h2>
        <Said>{name}</Said>{" "}
        {text === null && (
          <button type="button" className="go" onClick={show}>
            show whole
          </button>
        )}{" "}
        <ContentLink target={target}>open</ContentLink>{" "}
        <a className="link" href={url} download>
          download
        </a>
      </h2>
      <pre>
        <Said>{text ?? preview ?? ""}</Said>
      </pre>
      {text !== null && text.length >= SHOWN && (
        <span className="sub">The first {count(SHOWN)} bytes are shown: download it to see all.</span>
      )}
    </div>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
