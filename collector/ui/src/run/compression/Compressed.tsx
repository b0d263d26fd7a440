// The context before a compression and after it on one axis, by kind; what went is hatched.
import type { CompressionAudit, RunTurn, SeenContext } from "../../api/types";
import { count, percent } from "../../model/format";
import kinds from "../../parts/contextKinds.module.css";
import { Strength } from "../../parts/Strength";
import { Block } from "../turn/Block";
import styles from "./Compression.module.css";
import { Managed } from "./Managed";

const KINDS = ["system", "tools", "results", "talk"] as const;
type Kind = (typeof KINDS)[number];
const NAMES: Readonly<Record<Kind, string>> = {
  system: "system",
  tools: "tools",
  results: "results",
  talk: "user and model",
};

function partsOf(saw: SeenContext | undefined): Record<Kind, number> | null {
  if (saw === undefined || saw.parts.length === 0) return null;
  const sums: Record<Kind, number> = { system: 0, tools: 0, results: 0, talk: 0 };
  for (const { kind, tokens } of saw.parts)
    sums[kind === "system" || kind === "tools" || kind === "results" ? kind : "talk"] += tokens;
  return sums;
}

export function Compressed({
  audit,
  turn,
  before,
}: {
  audit: CompressionAudit;
  turn: RunTurn;
  before: RunTurn | null;
}) {
  const { messages, tokens } = audit;
  const [was, is] = [partsOf(before?.saw), partsOf(turn.saw)];
  const [sizeBefore, sizeAfter] = [before?.saw.tokens ?? tokens.before, turn.saw.tokens ?? tokens.after];
  const axis = Math.max(sizeBefore ?? 0, sizeAfter ?? 0, 1);
  const went =
    tokens.saved === null
      ? ""
      : tokens.saved < 0
        ? `${count(-tokens.saved)} tokens more`
        : `${count(tokens.saved)} tokens less`;
  return (
    <Block
      label="Compressed"
      of="before this turn"
      margin={
        <>
          <p>
            <span className="tag cut">
              {count(messages.before)} → {count(messages.after)} messages
            </span>{" "}
            {audit.origin === "declared" ? "declared by the program" : audit.reason}{" "}
            {audit.origin !== "declared" && <Strength word={audit.strength} />}
          </p>
          <p>
            {count(messages.kept)} kept
            {audit.preserved_messages > 0 && ` (${count(audit.preserved_messages)} preserved)`},{" "}
            {count(messages.summarised)} summarised
            {messages.summarised > 0 && audit.summary != null && " into 1"}, {count(messages.dropped)} dropped.
            {sizeBefore !== null &&
              turn.saw.limit !== null &&
              ` Before, the context was ${percent(sizeBefore / turn.saw.limit)} of ${count(Math.round(turn.saw.limit / 1000))}k.`}
          </p>
          <Managed audit={audit} />
        </>
      }
    >
      <div
        className={styles.bars}
        role="img"
        aria-label={`Context before ${sizeBefore === null ? "not known" : count(sizeBefore)} tokens, after ${sizeAfter === null ? "not known" : count(sizeAfter)}`}
      >
        <Track name={before === null ? "before" : `turn ${before.number}`} parts={was} size={sizeBefore} axis={axis} />
        <Track
          name={`turn ${turn.number}`}
          parts={is}
          size={sizeAfter}
          axis={axis}
          gone={(sizeBefore ?? 0) - (sizeAfter ?? 0)}
        />
      </div>
      <p className={styles.legend}>
        {KINDS.map((kind) => (
          <span key={kind}>
            <i className={kinds[kind]} aria-hidden="true" />
            {NAMES[kind]}{" "}
            <span className="num">
              {was !== null && `${count(was[kind])} → `}
              {is === null ? "–" : count(is[kind])}
            </span>
          </span>
        ))}
        <span>
          {went}
          {tokens.basis !== "reported" && went !== "" && ` (${tokens.basis})`}
        </span>
      </p>
    </Block>
  );
}

type TrackProps = {
  name: string;
  parts: Record<Kind, number> | null;
  size: number | null;
  axis: number;
  gone?: number;
};

function Track({ name, parts, size, axis, gone = 0 }: TrackProps) {
  const width = (tokens: number) => ({ width: `${(tokens / axis) * 100}%` });
  return (
    <>
      <span>{name}</span>
      <span className={styles.track}>
        {parts === null ? (
          <i className={kinds.unknown} style={width(size ?? 0)} />
        ) : (
          KINDS.map((kind) => parts[kind] > 0 && <i key={kind} className={kinds[kind]} style={width(parts[kind])} />)
        )}
        {gone > 0 && <i className={styles.gone} style={width(gone)} title={`${count(gone)} tokens went`} />}
      </span>
      <b className="num">{size === null ? "–" : count(size)}</b>
    </>
  );
}
