// The agents of a run as a table: what each did, how long it took, what it cost.
import type { TimedCall, TurnRow } from "../../api/types";
import { count, duration, money } from "../../model/format";
import { Empty } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import { type AgentRow, agentRows } from "./agentRows";
import styles from "./Agents.module.css";
import { InBar } from "./InBar";

type Props = {
  calls: readonly TimedCall[];
  rows: readonly TurnRow[];
  at: number;
  known: number;
  unnamed: string;
  onGo: (seq: number) => void;
};

export function Agents({ calls, rows: lines, at, known, unnamed, onGo }: Props) {
  const rows = agentRows(calls, lines, known, unnamed);
  if (rows.length === 0) return <Empty>No agent has called anything in this run.</Empty>;
  const longest = rows.reduce((most, row) => Math.max(most, row.took), 1);
  const here = rows.findLast((row) => row.seq <= at);
  return (
    <div className={styles.box} role="region" aria-label="Agents" tabIndex={0}>
      <InBar>{`${count(rows.length)} ${rows.length === 1 ? "agent" : "agents"}`}</InBar>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">agent</th>
            <th scope="col">status</th>
            <th scope="col">turns</th>
            <th scope="col">tools</th>
            <th scope="col">errors</th>
            <th scope="col">tokens</th>
            <th scope="col">cost</th>
            <th scope="col">model</th>
            <th scope="col">tool</th>
            <th scope="col">took</th>
            <th scope="col">
              <span className="visually-hidden">share of the longest</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.seq} className={row === here ? styles.here : undefined}>
              <th scope="row" style={{ paddingLeft: 8 + row.depth * 16 }}>
                <TurnLink seq={row.seq} onGo={onGo}>
                  <Said>{row.name}</Said>
                </TurnLink>
                {row.times > 1 && <span className="sub"> {count(row.times)} times</span>}
              </th>
              <td className={row.status === "failed" ? "ink-bad" : ""}>{saidOfStatus(row)}</td>
              <td>{count(row.turns)}</td>
              <td>{count(row.tools)}</td>
              <td className={row.errors > 0 ? "ink-bad" : ""}>{count(row.errors)}</td>
              <td>{row.input === null ? "–" : `${count(row.input)} → ${count(row.output ?? 0)}`}</td>
              <td>{money(row.cost)}</td>
              <td>{duration(row.model)}</td>
              <td>{duration(row.tool)}</td>
              <td>{duration(row.took)}</td>
              <td className={styles.share}>
                <i
                  className={row.onPath ? styles.path : undefined}
                  style={{ width: `${(row.took / longest) * 100}%` }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function saidOfStatus({ status, lost }: AgentRow): string {
  if (status === "failed") return "raised";
  if (status === "open") return "under way";
  return status === "completed" && lost
    ? "finished, its answer was lost"
    : status === "completed"
      ? "finished"
      : status;
}
