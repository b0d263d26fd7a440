// What the context of each call consists of, what it cost, and what came from the cache: a column per call.
import { Fragment, useMemo, useState, type CSSProperties } from "react";

import type {
  CompressionAudit,
  CompressionTokens,
  CompressionTotals,
  RunDetail,
  TokenTimeline,
  TurnRow,
} from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, money, percent } from "../../model/format";
import kinds from "../../parts/contextKinds.module.css";
import { Empty, Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { triggerSaid } from "../compression/triggers";
import { runPath } from "../OnPage";
import { turnsOf } from "../turns/rows";
import { InBar } from "./InBar";
import panelStyles from "./Panel.module.css";
import {
  type Column,
  columnsOf,
  type Cut,
  gridOf,
  heightOf,
  pageOf,
  type Part,
  PARTS,
  peakOf,
  type Scale,
} from "./tokenColumns";
import styles from "./Tokens.module.css";

/** Calls that are shown at a time. */
const PAGE = 120;
/** Points of the API: two for each call, cuts, and ends of calls of the page before. */
const POINTS = 2 * PAGE + 60;
/** The grid ends below the name of the axis. */
const TOPMOST = 0.92;
/** Columns are at most so wide, in px. */
const WIDEST = 64;
/** Numbers below columns that are wide enough for them. */
const NUMBERED = 40;

const NAMES: Readonly<Record<Part, string>> = {
  system: "system",
  tools: "tools",
  results: "results",
  talk: "user and model",
};

type Props = {
  run: RunDetail;
  rows: readonly TurnRow[];
  at: number;
  turn: TurnRow | undefined;
  news: number;
  onGo: (seq: number) => void;
};

export function Tokens({ run, rows: lines, at, turn, news, onGo }: Props) {
  const [scale, setScale] = useState<Scale>("peak");
  const turns = useMemo(() => turnsOf(lines), [lines]);
  const { first, after } = pageOf(turns, turn, PAGE);
  const params = { calls: true, split: true, limit: POINTS, cursor: after === 0 ? null : String(after) };
  const { data, error, again } = useApi<TokenTimeline>(
    `${runPath(run.run)}/tokens`,
    params,
    run.status !== "running",
    news,
  );
  const { columns, cuts } = useMemo(() => {
    const found = columnsOf(data?.items ?? [], lines);
    return { columns: found.columns.slice(0, PAGE), cuts: found.cuts.filter((cut) => cut.column < PAGE) };
  }, [data, lines]);
  if (error !== null && data === null) return <Failed error={error} what="the tokens" onAgain={again} />;
  if (data === null) return <Loading what="the tokens" />;
  if (data.totals.calls === 0) return <Empty>No model was called in this run.</Empty>;
  const peak = peakOf(data, lines);
  const here = columns.findLast((column) => column.seq <= (turn?.seq ?? at)) ?? columns[0];
  return (
    <>
      <InBar>
        <span>
          peak {count(peak.tokens ?? 0)}
          {peak.limit !== null && ` of ${count(peak.limit)}`}
          {peak.turn !== null && ` at turn ${count(peak.turn)}`} · cache {percent(data.totals.cache_hit_share)} of{" "}
          {count(data.totals.input_tokens)} · {money(data.totals.cost)}
          {compressionsSaid(data.totals.compressed)}
        </span>
        {peak.limit !== null && (
          <span className={panelStyles.switch} role="group" aria-label="Scale">
            <button type="button" aria-pressed={scale === "peak"} onClick={() => setScale("peak")}>
              to the peak
            </button>
            <button type="button" aria-pressed={scale === "window"} onClick={() => setScale("window")}>
              to the window
            </button>
          </span>
        )}
        {turns.length > PAGE && <Pages turns={turns} first={first} onGo={onGo} />}
      </InBar>
      <div className={styles.tokens}>
        <Plot
          columns={columns}
          cuts={cuts}
          here={here}
          peak={peak.tokens ?? 0}
          limit={peak.limit}
          scale={scale}
          run={run.run}
          onGo={onGo}
        />
        {here !== undefined && (
          <Reading column={here} cut={cuts.findLast((cut) => columns[cut.column] === here)?.made ?? null} />
        )}
      </div>
    </>
  );
}

function Pages({ turns, first, onGo }: { turns: readonly TurnRow[]; first: number; onGo: (seq: number) => void }) {
  const to = (place: number) => turns[Math.max(0, Math.min(turns.length - 1, place))]?.seq;
  const go = (place: number) => {
    const seq = to(place);
    if (seq !== undefined) onGo(seq);
  };
  return (
    <span className={styles.pages}>
      <button
        type="button"
        className="go"
        disabled={first === 0}
        onClick={() => go(first - 1)}
        aria-label="Earlier turns"
      >
        ‹
      </button>{" "}
      turns {count(first + 1)} to {count(Math.min(turns.length, first + PAGE))} of {count(turns.length)}{" "}
      <button
        type="button"
        className="go"
        disabled={first + PAGE >= turns.length}
        onClick={() => go(first + PAGE)}
        aria-label="Later turns"
      >
        ›
      </button>
    </span>
  );
}

type PlotProps = {
  columns: readonly Column[];
  cuts: readonly Cut[];
  here: Column | undefined;
  peak: number;
  limit: number | null;
  scale: Scale;
  run: string;
  onGo: (seq: number) => void;
};

function Plot({ columns, cuts, here, peak, limit, scale, run, onGo }: PlotProps) {
  const { top, isBroken } = heightOf(peak, limit, scale);
  const dearest = columns.reduce((most, column) => Math.max(most, column.cost ?? 0), 0);
  const share = (part: number, whole: number): CSSProperties => ({
    height: `${whole === 0 ? 0 : (part / whole) * 100}%`,
  });
  const everyNth = Math.ceil(columns.length / NUMBERED);
  return (
    <div className={styles.plot}>
      <div className={styles.labels} aria-hidden="true">
        <span className={styles.context}>
          context
          {gridOf(top * TOPMOST).map((tokens) => (
            <small key={tokens} style={{ bottom: `${(tokens / top) * 100}%` }}>
              {count(tokens)}
            </small>
          ))}
        </span>
        <span className={styles.low}>cost, to {money(dearest)}</span>
        <span className={styles.low}>cache</span>
        <span className={styles.number}>turn</span>
      </div>
      <div className={styles.columns}>
        <div className={styles.grid} aria-hidden="true">
          {gridOf(top * TOPMOST).map((tokens) => (
            <i key={tokens} style={{ bottom: `${(tokens / top) * 100}%` }} />
          ))}
          {limit !== null && (
            <div className={styles.window} style={isBroken ? { top: 5 } : { bottom: `${(limit / top) * 100}%` }}>
              <b>
                window {count(limit)}
                {isBroken && peak > 0 && `, ${count(Math.round(limit / peak))} times this peak`}
              </b>
            </div>
          )}
          {isBroken && <div className={styles.break} />}
        </div>
        <div className={styles.cells} style={{ maxWidth: columns.length * WIDEST }}>
          {columns.map((column, n) => (
            <button
              key={column.seq}
              type="button"
              tabIndex={-1}
              className={[
                styles.column,
                column === here && styles.here,
                here !== undefined && column.actor !== here.actor && styles.other,
              ]
                .filter(Boolean)
                .join(" ")}
              aria-label={`turn ${column.turn ?? "?"}: ${column.context === null ? "size not known" : `${count(column.context)} tokens`}`}
              aria-current={column === here || undefined}
              onClick={() => onGo(column.seq)}
            >
              <span className={styles.context}>
                {column.parts === null ? (
                  <i className={kinds.unknown} style={share(column.context ?? 0, top)} />
                ) : (
                  PARTS.toReversed().map((part) => (
                    <i key={part} className={kinds[part]} style={share(column.parts?.[part] ?? 0, top)} />
                  ))
                )}
              </span>
              <span className={styles.low}>
                <i className={styles.cost} style={share(column.cost ?? 0, dearest)} />
              </span>
              <span className={styles.low}>
                {column.cached === null ? (
                  <i className={styles.none} />
                ) : (
                  <i className={styles.cached} style={share(column.cached, 1)} />
                )}
              </span>
              <span className={styles.number}>
                {(n % everyNth === 0 || column === here) && column.turn !== null ? column.turn : ""}
              </span>
            </button>
          ))}
          {cuts.map((cut) => (
            <CutLine key={cut.seq} run={run} cut={cut} columns={columns.length} isNamed={cuts.length <= FEW} />
          ))}
        </div>
      </div>
    </div>
  );
}

/** More cuts than these are drawn without their names. */
const FEW = 4;

function CutLine({ run, cut, columns, isNamed }: { run: string; cut: Cut; columns: number; isNamed: boolean }) {
  const { data } = useApi<CompressionAudit>(isNamed ? `${runPath(run)}/compressions/${cut.seq}` : null, {}, true);
  const at = cut.column / Math.max(1, columns);
  const sizes = cut.before === null || cut.after === null ? "cut" : `cut: ${count(cut.before)} → ${count(cut.after)}`;
  const needed =
    data === null || data.needed_total === 0
      ? ""
      : `, ${count(data.needed_total)} ${data.needed_total === 1 ? "fact" : "facts"} needed later`;
  return (
    <div className={styles.cut} style={{ left: `${at * 100}%` }}>
      {isNamed && <b style={at > 0.6 ? { right: 6 } : { left: 6 }}>{sizes + needed}</b>}
    </div>
  );
}

/** What the compressions of the run saved, and what their summaries cost. */
function compressionsSaid({ compressions, saved, summary_cost: cost }: CompressionTotals): string {
  if (compressions === 0) return "";
  const what = compressions === 1 ? "1 compression" : `${count(compressions)} compressions`;
  const tokens = saved === null ? "" : ` saved ${count(saved)} tokens`;
  return ` · ${what}${tokens}${cost === null ? "" : `, summaries ${money(cost)}`}`;
}

/** The numbers of the turn under the playhead. `cut`: the compression before it. */
function Reading({ column, cut }: { column: Column; cut: CompressionTokens | null }) {
  return (
    <section className={styles.reading} aria-label="The turn under the playhead">
      <b>turn {column.turn ?? "?"}</b>{" "}
      <Said>{[column.actor, column.model].filter((each) => each !== null).join(", ")}</Said>
      <dl>
        {column.parts !== null &&
          PARTS.map((part) => (
            <Fragment key={part}>
              <Fact name={NAMES[part]} mark={kinds[part]} value={count(column.parts?.[part] ?? 0)} />
              {part === "system" &&
                column.sections.map((section, n) => (
                  <Fact key={n} name={section.name} value={count(section.tokens)} isInside />
                ))}
            </Fragment>
          ))}
        <Fact
          name="context"
          value={column.context === null ? "–" : `${column.isEstimated ? "~" : ""}${count(column.context)}`}
          isFirst={column.parts !== null}
        />
        {column.context !== null && column.before !== null && (
          <Fact name="since the call before" value={signed(column.context - column.before)} />
        )}
        <Fact name="answer" value={column.output === null ? "–" : count(column.output)} />
        <Fact name="cost" value={money(column.cost)} />
        <Fact name="from the cache" value={percent(column.cached)} />
      </dl>
      {column.parts !== null && <p className="sub">The parts are estimates.</p>}
      {cut !== null && <Compressed cut={cut} />}
    </section>
  );
}

/** A compression: how it was made, what it saved, and what its summary cost. */
function Compressed({ cut }: { cut: CompressionTokens }) {
  const said = [cut.strategy, cut.trigger === null ? null : triggerSaid(cut.trigger)].filter((each) => each !== null);
  return (
    <>
      <p>
        <span className="tag cut">compressed</span> <Said>{said.join(", ")}</Said>
        {cut.note !== null && (
          <>
            {" "}
            “<Said>{cut.note}</Said>”
          </>
        )}
        {cut.fallback !== null && (
          <span className="ink-state">
            {" "}
            Its fallback was used: <Said>{cut.fallback}</Said>
          </span>
        )}
      </p>
      <dl>
        <Fact name="saved" value={cut.saved === null ? "–" : count(cut.saved)} />
        {cut.summary_calls.length > 0 && (
          <>
            <Fact
              name="summary read"
              value={cut.summary_input_tokens === null ? "–" : count(cut.summary_input_tokens)}
            />
            <Fact name="summary cost" value={money(cut.summary_cost)} />
          </>
        )}
      </dl>
    </>
  );
}

const signed = (tokens: number): string => (tokens > 0 ? `+${count(tokens)}` : tokens < 0 ? `−${count(-tokens)}` : "0");

function Fact({
  name,
  value,
  mark,
  isFirst = false,
  isInside = false,
}: {
  name: string;
  value: string;
  mark?: string | undefined;
  isFirst?: boolean;
  isInside?: boolean;
}) {
  return (
    <div className={isFirst ? styles.ruled : isInside ? styles.inside : undefined}>
      <dt>
        {mark !== undefined && <i className={mark} aria-hidden="true" />}
        {name}
      </dt>
      <dd>{value}</dd>
    </div>
  );
}
