import { useMemo, type MouseEvent } from "react";

import type { TokenPoint, TokenTimeline } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, money, percent } from "../../model/format";
import { callUsages } from "../../model/usage";
import { Empty, Failed, Loading } from "../../parts/Notices";
import { UsageChart } from "./UsageChart";

const WIDTH = 1000;
const HEIGHT = 220;
const POINTS = 1000;

/** How the context grew over the run, with its limit and compressions; the crosshair is the playhead. */
export function TokensPanel({
  run,
  length,
  at,
  onMove,
}: {
  run: string;
  length: number;
  at: number;
  onMove: (seq: number) => void;
}) {
  const { data, error } = useApi<TokenTimeline>(`/runs/${run}/tokens`, { limit: POINTS, split: true }, true);
  const points = useMemo(() => (data?.items ?? []).filter((point) => point.context !== null), [data]);
  const calls = useMemo(() => callUsages(data?.items ?? []), [data]);
  if (error !== null) return <Failed error={error} />;
  if (data === null) return <Loading what="the tokens" />;
  if (points.length === 0) return <Empty>No model was called in this run.</Empty>;
  const here = points.findLast((point) => point.seq <= at) ?? points[0];
  const totals = data.totals;
  const click = (event: MouseEvent<SVGSVGElement>) => {
    const room = event.currentTarget.getBoundingClientRect();
    onMove(1 + Math.round(((event.clientX - room.left) / room.width) * (length - 1)));
  };
  const x = (seq: number) => (length < 2 ? 0 : ((seq - 1) / (length - 1)) * WIDTH);
  return (
    <div className="ctx">
      <Chart points={points} length={length} x={x} at={at} onClick={click} />
      <UsageChart calls={calls} x={x} at={at} />
      {data.next_cursor !== null && <p className="sub">The first {count(points.length)} points are shown.</p>}
      {here !== undefined && (
        <p>
          At event {at}: context of <b className="num">{count(here.context ?? 0)}</b> tokens ({here.context_basis})
          {here.limit !== null && (
            <>
              , {percent(here.ratio)} of {count(here.limit)}
            </>
          )}
          {here.split != null && (
            <span className="sub">
              : system {count(here.split.system)}, tools {count(here.split.tools)}, history {count(here.split.history)},
              retrieved {count(here.split.retrieved)}
            </span>
          )}
        </p>
      )}
      <p className="sub">
        Whole run: {count(totals.input_tokens)} in, {count(totals.output_tokens)} out, {percent(totals.cache_hit_share)}{" "}
        of the input from a cache, {money(totals.cost)}
        {totals.unpriced_calls > 0 && `, ${totals.unpriced_calls} calls without a price`}.
      </p>
    </div>
  );
}

function Chart({
  points,
  length,
  x,
  at,
  onClick,
}: {
  points: readonly TokenPoint[];
  length: number;
  x: (seq: number) => number;
  at: number;
  onClick: (event: MouseEvent<SVGSVGElement>) => void;
}) {
  const highest = points.reduce((most, point) => Math.max(most, point.context ?? 0), 1) * 1.1;
  const limit = points.find((point) => point.limit !== null)?.limit ?? null;
  const y = (tokens: number) => HEIGHT - (tokens / highest) * HEIGHT;
  const line = points
    .map((point, n) => `${n === 0 ? "M" : "L"}${x(point.seq).toFixed(1)} ${y(point.context ?? 0).toFixed(1)}`)
    .join("");
  const cuts = points.filter((point) => point.kind === "context_compressed");
  return (
    <>
      <div className="plot">
        <span className="most">{count(Math.round(highest))}</span>
        <svg
          className="chart"
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label="Tokens of the context over the run"
          onClick={onClick}
        >
          {limit !== null && limit <= highest && <path className="limit" d={`M0 ${y(limit)}H${WIDTH}`} />}
          <path className="line" d={line} />
          {cuts.map((point) => (
            <path key={point.seq} className="cut" d={`M${x(point.seq)} 0V${HEIGHT}`} />
          ))}
          <path className="cross" d={`M${x(at)} 0V${HEIGHT}`} />
        </svg>
      </div>
      <div className="ends" aria-hidden="true">
        <span>event 1</span>
        <span>{count(length)}</span>
      </div>
      <div className="legend marks">
        <span className="line">context, tokens</span>
        {cuts.length > 0 && <span className="cut">compression</span>}
        {limit !== null && (
          <span className="limit">
            {limit <= highest ? `limit ${count(limit)}` : `limit ${count(limit)}, far above`}
          </span>
        )}
        <span className="cross">playhead</span>
      </div>
    </>
  );
}
