import { count, money } from "../../model/format";
import { type CallUsage } from "../../model/usage";

const WIDTH = 1000;
const HEIGHT = 90;
const WIDEST = 14;

type Props = { calls: readonly CallUsage[]; x: (seq: number) => number; at: number };

/** A bar for each model call: input anew, input from a cache, output; and the cost so far as a line. */
export function UsageChart({ calls, x, at }: Props) {
  const highest = calls.reduce((most, call) => Math.max(most, call.fresh + call.cached + call.output), 1);
  const total = calls.findLast((call) => call.cost !== null)?.cost ?? null;
  const width = Math.max(1, Math.min(WIDEST, (WIDTH / Math.max(1, calls.length)) * 0.6));
  const y = (tokens: number) => (tokens / highest) * HEIGHT;
  const steps = calls
    .filter((call) => call.cost !== null)
    .map(
      (call) =>
        `H${x(call.seq).toFixed(1)}V${(HEIGHT - ((call.cost ?? 0) / (total || 1)) * (HEIGHT - 2) - 1).toFixed(1)}`,
    );
  return (
    <>
      <div className="plot usage">
        <span className="most">{count(highest)}</span>
        <svg
          className="chart low"
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Usage of ${count(calls.length)} model calls`}
        >
          {calls.map((call) => {
            const from = Math.max(0, Math.min(WIDTH - width, x(call.seq) - width / 2));
            return (
              <g key={call.seq}>
                <rect
                  className="output"
                  x={from}
                  width={width}
                  y={HEIGHT - y(call.fresh + call.cached + call.output)}
                  height={y(call.output)}
                />
                <rect
                  className="fresh"
                  x={from}
                  width={width}
                  y={HEIGHT - y(call.fresh + call.cached)}
                  height={y(call.fresh)}
                />
                <rect className="cached" x={from} width={width} y={HEIGHT - y(call.cached)} height={y(call.cached)} />
              </g>
            );
          })}
          {total !== null && <path className="cost" d={`M0 ${HEIGHT - 1}${steps.join("")}H${WIDTH}`} />}
          <path className="cross" d={`M${x(at)} 0V${HEIGHT}`} />
        </svg>
      </div>
      <div className="legend marks">
        <span className="fresh">input</span>
        <span className="cached">input from a cache</span>
        <span className="output">output, tokens of each call</span>
        {total !== null && <span className="cost">cost so far, up to {money(total)}</span>}
      </div>
    </>
  );
}
