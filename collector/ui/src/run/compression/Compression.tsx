// A turn whose context was cut: what went, what of it was needed later, and what the model got instead.
import { useMemo, useState, type ReactNode } from "react";
import { Link } from "wouter";

import type { CompressionAudit, ContextAt, Message, NeededFacts, RunTurn, SeenContext, TurnRow } from "../../api/types";
import { useApi } from "../../api/useApi";
import { inkOf, kindOf } from "../../model/context";
import { count, percent } from "../../model/format";
import kinds from "../../parts/contextKinds.module.css";
import { Markdown } from "../../parts/Markdown";
import { MessageView } from "../../parts/MessageView";
import { asMessage } from "../../parts/messageParts";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { runPath, useOnPage } from "../OnPage";
import { Block } from "../turn/Block";
import { shownCall } from "../panel/said";
import { turnAt } from "../turns/rows";
import styles from "./Compression.module.css";
import { type AfterLine, afterLines, type FateLine, fateLines } from "./fates";
import { Facts } from "./Facts";
import { Managed } from "./Managed";
import { needSaid } from "./needSaid";
import { Summariser } from "./Summariser";

/** The blocks of a turn whose context was cut, in the place of Saw and New. `seq`: the compression. */
export function Compression({ seq, turn }: { seq: number; turn: RunTurn }) {
  const { run, turns } = useOnPage();
  const isOver = run.status !== "running";
  const { data: audit, error, again } = useApi<CompressionAudit>(`${runPath(run.run)}/compressions/${seq}`, {}, isOver);
  const { data: context } = useApi<ContextAt>(`${runPath(run.run)}/context`, { at: turn.seq }, isOver);
  const since = turn.new.since;
  const { data: before } = useApi<RunTurn>(since === null ? null : `${runPath(run.run)}/turns/${since}`, {}, isOver);
  if (error !== null && audit === null)
    return (
      <Block label="Compressed">
        <Failed error={error} what="what was lost" onAgain={again} />
      </Block>
    );
  if (audit === null)
    return (
      <Block label="Compressed">
        <Loading what="what was lost" />
      </Block>
    );
  const writer = audit.summariser === null ? undefined : turns.find((row) => row.seq === audit.summariser);
  return (
    <>
      <Compressed audit={audit} turn={turn} before={before} />
      <NeededLater audit={audit} turn={turn} writer={writer} />
      <BeforeAfter audit={audit} turn={turn} context={context} />
      {writer?.turn != null && <Summariser number={writer.turn} />}
      <Facts audit={audit} />
    </>
  );
}

// --- what went -------------------------------------------------------------------------------------------------------

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

function Compressed({ audit, turn, before }: { audit: CompressionAudit; turn: RunTurn; before: RunTurn | null }) {
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

// --- what was needed -------------------------------------------------------------------------------------------------

/** Facts of one need that are shown at first. */
const CHIPS = 12;

function NeededLater({ audit, turn, writer }: { audit: CompressionAudit; turn: RunTurn; writer: TurnRow | undefined }) {
  const { run } = useOnPage();
  const { needs, needed_total: needed, lost_total: lost } = audit;
  const ask = `/runs/${run.run}/ask`;
  return (
    <Block
      label="Needed later"
      of={`${count(needed)} of ${count(lost)} lost`}
      isHot={needed > 0}
      margin={
        needed > 0 && (
          <>
            <p>In neither the summary nor the messages kept.</p>
            <p>
              <b>What would it have done?</b>
              <br />
              <Link className="go" href={`${ask}/${turn.number}`}>
                Edit what turn {turn.number} saw and ask again
              </Link>
              {writer?.turn != null && (
                <>
                  <br />
                  <Link className="go" href={`${ask}/${writer.turn}`}>
                    Edit the instruction for the summary and ask again
                  </Link>
                </>
              )}
            </p>
          </>
        )
      }
    >
      {needs.length === 0 ? (
        <p className="sub">
          {lost === 0
            ? "No fact was lost."
            : `No lost fact was needed up to event ${count(audit.searched_to)}, as far as its words show.`}
        </p>
      ) : (
        <table className={styles.needs}>
          <thead>
            <tr>
              <th scope="col">lost fact</th>
              <th scope="col">was said at</th>
              <th scope="col">what came of it</th>
              <th scope="col">strength</th>
            </tr>
          </thead>
          <tbody>
            {needs.map((need) => (
              <Need key={`${need.seq} ${need.how} ${need.read_seq}`} need={need} />
            ))}
          </tbody>
        </table>
      )}
    </Block>
  );
}

function Need({ need }: { need: NeededFacts }) {
  const { turns, go } = useOnPage();
  const [isWhole, setWhole] = useState(false);
  const said = turnAt(turns, need.read_seq);
  const at = turnAt(turns, need.seq);
  const used = need.used_seq === null ? undefined : turnAt(turns, need.used_seq);
  const call =
    at?.calls.find((each) => each.seq === need.seq) ?? (need.how === "looked_up_again" ? at?.calls[0] : undefined);
  const shown = isWhole ? need.facts : need.facts.slice(0, CHIPS);
  return (
    <tr>
      <td className={styles.facts}>
        {shown.map((fact) => (
          <code key={fact}>
            <Said>{fact}</Said>
          </code>
        ))}
        {need.facts.length > CHIPS && (
          <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "fewer" : `all ${count(need.facts.length)}`}
          </button>
        )}
      </td>
      <td>
        <TurnLink seq={need.read_seq} onGo={go}>
          {said?.turn == null ? `event ${need.read_seq}` : `turn ${said.turn}`}
        </TurnLink>
        {said?.calls[0] !== undefined && (
          <code className={styles.tool}>
            <Said>{said.calls[0].name}</Said>
          </code>
        )}
      </td>
      <td>
        {needSaid(need)}{" "}
        <TurnLink seq={need.seq} onGo={go}>
          {at?.turn == null ? `event ${need.seq}` : `turn ${at.turn}`}
        </TurnLink>
        {call !== undefined && (
          <>
            :{" "}
            <code>
              <Said>{shownCall(call)}</Said>
            </code>
          </>
        )}
        {need.how === "used" && ", and nothing in its context said it"}
        {used?.turn != null && used !== at && (
          <>
            , used at{" "}
            <TurnLink seq={need.used_seq ?? used.seq} onGo={go}>
              turn {used.turn}
            </TurnLink>
          </>
        )}
      </td>
      <td>
        <Strength word={need.strength} />
      </td>
    </tr>
  );
}

// --- before and after ------------------------------------------------------------------------------------------------

/** Messages that are shown at first, before and after. */
const LINES = 120;
const AFTER = 40;

function BeforeAfter({ audit, turn, context }: { audit: CompressionAudit; turn: RunTurn; context: ContextAt | null }) {
  const after = useMemo(() => (context?.messages ?? []).map((each) => asMessage(each)), [context]);
  const lines = useMemo(() => fateLines(audit, after), [audit, after]);
  const got = useMemo(() => afterLines(audit, after), [audit, after]);
  const saved = useMemo(
    () =>
      audit.preserved
        .filter((fact) => fact.kept_in.some((place) => place.where === "summary"))
        .map((fact) => fact.text),
    [audit],
  );
  return (
    <section className={styles.sides} aria-label="Before and after">
      <div className={styles.label}>
        <b>Before, after</b> message by message
      </div>
      <div>
        <h3>
          Before{" "}
          <span>
            {count(audit.messages.before)} messages
            {turn.new.since !== null && `, seen at turn ${turn.new.since} with its answer`}
          </span>
        </h3>
        <Limited items={lines} most={LINES} what="messages">
          {(line) => <Fate key={line.from} line={line} />}
        </Limited>
      </div>
      <div>
        <h3>
          After{" "}
          <span>
            {count(after.length)} messages, seen at turn {turn.number}
          </span>
        </h3>
        {context === null ? (
          <Loading what="what the model got" />
        ) : (
          <Limited items={got} most={AFTER} what="messages">
            {(line) => <After key={line.place} line={line} saved={saved} summarised={audit.messages.summarised} />}
          </Limited>
        )}
        {saved.length > 0 && (
          <p className="sub">
            <span className={styles.kept}>underlined</span>: facts that the summary saved, {count(saved.length)} of{" "}
            {count(audit.preserved_total)} saved in all
          </p>
        )}
      </div>
    </section>
  );
}

function Limited<Item>({
  items,
  most,
  what,
  children,
}: {
  items: readonly Item[];
  most: number;
  what: string;
  children: (item: Item) => ReactNode;
}) {
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      {(isWhole ? items : items.slice(0, most)).map(children)}
      {items.length > most && !isWhole && (
        <button type="button" className="go" onClick={() => setWhole(true)}>
          all {count(items.length)} {what}
        </button>
      )}
    </>
  );
}

const FATES: Readonly<Record<FateLine["fate"], string>> = { "=": "kept", "∑": "summarised", "−": "dropped" };
const SHOWN = 160;

function Fate({ line }: { line: FateLine }) {
  const { go } = useOnPage();
  const said = line.text === null ? null : line.text.slice(0, SHOWN);
  return (
    <div className={line.fate === "=" ? styles.fate : `${styles.fate ?? ""} ${styles.went ?? ""}`}>
      <span className={styles.mark} title={FATES[line.fate]}>
        <span aria-hidden="true">{line.fate}</span>
        <span className="visually-hidden">{FATES[line.fate]}</span>
      </span>
      <span className={styles.place}>{line.from === line.to ? line.from : `${line.from}–${line.to}`}</span>
      <button
        type="button"
        className={styles.words}
        disabled={line.seq === null}
        onClick={() => line.seq !== null && go(line.seq)}
      >
        {line.call !== null ? (
          <code>
            <Said className="ink-tool">{line.call.name}</Said>
            <Said>{`(${line.call.shown.slice(0, 60)})`}</Said>
          </code>
        ) : (
          kindOf(line.role) === "system" && <b className="ink-state">{line.role} </b>
        )}
        {line.call !== null && line.text !== null && <span className="ink-faint"> → {resultSaid(line.text)}</span>}
        {line.call === null &&
          (said === null ? <span className="sub">not stored</span> : <Said className={inkOf(line.role)}>{said}</Said>)}
      </button>
      <span className={styles.losses}>
        {line.tags.map((tag) => (
          <span key={tag} className="tag" title="a tag that the program gave it">
            <Said>{tag}</Said>
          </span>
        ))}{" "}
        {line.preserved && (
          <span className="tag good" title="no compression removes it">
            preserved
          </span>
        )}{" "}
        {line.lost > 0 && `${count(line.lost)} lost`} {line.needed > 0 && <b>{count(line.needed)} needed</b>}
      </span>
    </div>
  );
}

const SHORT = 24;
const resultSaid = (text: string): string =>
  text === "" ? "an empty text" : text.length <= SHORT ? text : `${count(text.length)} characters`;

const WAS: Readonly<Record<AfterLine["was"], string>> = {
  kept: "kept, unchanged",
  moved: "kept, in another place",
  summary: "in the place of messages that went",
  new: "new",
};

function After({ line, saved, summarised }: { line: AfterLine; saved: readonly string[]; summarised: number }) {
  const { message, was, place } = line;
  const isSummary = was === "summary";
  return (
    <div className={styles.after}>
      <p className={styles.head}>
        <b>{isSummary ? "summary" : (message?.role ?? "?")}</b>
        {isSummary
          ? `in the place of ${count(summarised)} ${summarised === 1 ? "message" : "messages"}${message === null ? "" : `, as the ${message.role}’s`}`
          : WAS[was]}
        <span className={styles.number}>{place}</span>
      </p>
      {isSummary && message !== null ? (
        <div className={styles.summary}>
          <Underlined message={message} saved={saved} />
        </div>
      ) : (
        kindOf(message?.role ?? "") !== "system" && <Short message={message} />
      )}
    </div>
  );
}

/** The summary with the facts that it saved underlined. */
function Underlined({ message, saved }: { message: Message; saved: readonly string[] }) {
  const text = message.parts.flatMap((part) => (part.type === "text" ? [String(part.content ?? "")] : [])).join("\n");
  return text === "" ? (
    <MessageView message={message} isPlain />
  ) : (
    <div className={styles.marks}>
      <Markdown text={text} marked={saved} />
    </div>
  );
}

const LONG = 400;

function Short({ message }: { message: Message | null }) {
  const [isWhole, setWhole] = useState(false);
  const length = message === null ? 0 : JSON.stringify(message.parts).length;
  return (
    <div className={styles.text}>
      <div className={isWhole || length <= LONG ? undefined : styles.short}>
        <MessageView message={message} mode="text" isPlain />
      </div>
      {length > LONG && (
        <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "less" : "all of it"}
        </button>
      )}
    </div>
  );
}
