// One message by its parts: what was said as Markdown or as its text, tool calls and results, reasoning, images; or all of it as JSON.
import { useState, type ReactNode } from "react";

import type { Message, Part } from "../api/types";
import { useApi } from "../api/useApi";
import { bytesText } from "../model/bytes";
import { kindOf, sizeOfBase64 } from "../model/context";
import { ContentLink } from "./ContentLink";
import { LongText } from "./Long";
import { Markdown } from "./Markdown";
import { imageSource, readPart } from "./messageParts";
import styles from "./MessageView.module.css";
import { Said } from "./Said";

export type MessageMode = "text" | "markdown" | "json";
const MODES: readonly [MessageMode, string][] = [
  ["text", "Text"],
  ["markdown", "Markdown"],
  ["json", "JSON"],
];

type Props = {
  /** The message as recorded; null: it is not stored. */
  message: Message | null;
  /** How it is shown at first; default: what models say as Markdown, everything else as its text. */
  mode?: MessageMode;
  /** Words to mark, such as those that a finding contradicts. */
  marked?: readonly string[];
  /** Without the switch: for lists in which each message is short. */
  isPlain?: boolean;
};

/** A message, and the switch between its text, Markdown and JSON. */
export function MessageView({ message, mode, marked = [], isPlain = false }: Props) {
  const [chosen, setChosen] = useState<MessageMode | null>(null);
  if (message === null) return <p className="sub">It is not stored: it arrives later, or was masked.</p>;
  const shown = chosen ?? mode ?? (kindOf(message.role) === "assistant" ? "markdown" : "text");
  return (
    <div className={styles.message}>
      {!isPlain && (
        <div className={styles.modes} role="group" aria-label="Show as">
          {MODES.map(([each, label]) => (
            <button key={each} type="button" aria-pressed={each === shown} onClick={() => setChosen(each)}>
              {label}
            </button>
          ))}
        </div>
      )}
      {shown === "json" ? (
        <pre>
          <LongText text={JSON.stringify(message, null, 2)} marked={marked} />
        </pre>
      ) : (
        <MessageParts parts={message.parts} mode={shown} marked={marked} />
      )}
    </div>
  );
}

/** The parts of a message, one below the other. */
export function MessageParts({
  parts,
  mode = "text",
  marked = [],
}: {
  parts: readonly Part[];
  mode?: "text" | "markdown";
  marked?: readonly string[];
}) {
  return parts.map((part, n) => <OnePart key={n} part={part} mode={mode} marked={marked} />);
}

type PartProps = { part: Part; mode: "text" | "markdown"; marked: readonly string[] };

function OnePart({ part, mode, marked }: PartProps) {
  const read = readPart(part);
  switch (read.kind) {
    case "text":
      return <Text text={read.text} mode={mode} marked={marked} />;
    case "reasoning":
      return (
        <Labelled label="thought" className={styles.thought}>
          <Text text={read.text} mode={mode} marked={marked} />
        </Labelled>
      );
    case "call":
      return (
        <Labelled label="calls">
          <code>
            <Said className="ink-tool">{read.name}</Said>
          </code>
          <Value value={read.given} marked={marked} />
        </Labelled>
      );
    case "result":
      return (
        <Labelled label="result">
          {read.parts === null ? (
            <Value value={read.value} marked={marked} />
          ) : (
            <MessageParts parts={read.parts} mode="text" marked={marked} />
          )}
        </Labelled>
      );
    case "blob":
      return <Blob mime={read.mime} base64={read.base64} />;
    case "address":
      return (
        <p className={styles.medium}>
          {read.what}:{" "}
          <code>
            <Said>{read.address}</Said>
          </code>
        </p>
      );
    case "apart":
      return <Apart target={read.target} of={read.of} bytes={read.bytes} mode={mode} marked={marked} />;
    case "other":
      return <Value value={part} marked={marked} />;
  }
}

function Text({ text, mode, marked }: { text: string; mode: "text" | "markdown"; marked: readonly string[] }) {
  if (mode === "markdown") return <Markdown text={text} marked={marked} />;
  return (
    <div className={styles.text} dir="auto">
      <LongText text={text} marked={marked} />
    </div>
  );
}

function Labelled({
  label,
  className,
  children,
}: {
  label: string;
  className?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div className={className}>
      <span className={styles.label}>{label}</span> {children}
    </div>
  );
}

/** A text as it is; any other value as laid out JSON. */
function Value({ value, marked }: { value: unknown; marked: readonly string[] }) {
  if (value === undefined || value === null) return null;
  return (
    <pre className={styles.value}>
      <LongText text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} marked={marked} />
    </pre>
  );
}

/** Bytes within a message: a picture is drawn, of others the kind and the size are said. */
function Blob({ mime, base64 }: { mime: string; base64: string }) {
  const said = `${mime}, ${bytesText(sizeOfBase64(base64))}`;
  const source = imageSource(mime, base64);
  return source === null ? (
    <p className={styles.medium}>[{said}]</p>
  ) : (
    <figure className={styles.figure}>
      <img src={source} alt={`Image in the message: ${said}`} />
      <figcaption className="sub">{said}</figcaption>
    </figure>
  );
}

/** A part up to this size is loaded by itself. */
const SMALL = 2_000_000;

/** A large part, which is stored as a content of its own. */
function Apart({
  target,
  of,
  bytes,
  mode,
  marked,
}: {
  target: string;
  of: string;
  bytes: number;
  mode: "text" | "markdown";
  marked: readonly string[];
}) {
  const [isAsked, setAsked] = useState(bytes <= SMALL);
  const { data, error } = useApi<Part>(isAsked ? `/content/${target}` : null, {}, true);
  if (data !== null) return <OnePart part={data} mode={mode} marked={marked} />;
  return (
    <p className={styles.medium}>
      [{of || "part"}, {bytesText(bytes)}]{" "}
      {error !== null ? (
        error.message
      ) : isAsked ? (
        "…"
      ) : (
        <button type="button" className="go" onClick={() => setAsked(true)}>
          show
        </button>
      )}{" "}
      <ContentLink target={target}>as stored</ContentLink>
    </p>
  );
}
