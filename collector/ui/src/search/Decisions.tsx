import { Link } from "wouter";

import { apiUrl, type Params } from "../api/client";
import type { FoundDecision } from "../api/types";
import { localDateTime, shortId } from "../model/format";
import { type SetCondition, tally } from "./conditions";
import { Facets, Results } from "./Results";
import { usePages } from "./usePages";
import { Said } from "../parts/Said";
import table from "../parts/Table.module.css";
import styles from "./Search.module.css";

const FACETS = ["tool", "result", "attribution", "agent"] as const;
const SHOWN_VALUES = 6;
const SHOWN_FACETS = 8;

/** Decisions, the newest run first; each is a link to its run at its event. */
export function Decisions({ params, set }: { params: Params; set: SetCondition }) {
  const found = usePages<FoundDecision>("/search/decisions", params);
  const facets = FACETS.map((name) => ({
    name,
    counts: tally(
      found.items.map((each) => each[name]),
      SHOWN_FACETS,
    ),
    chosen: (params[name] as string | null) ?? null,
  }));
  const sources = tally(
    found.items.flatMap((each) => [...new Set(each.values.map((value) => value.source))]),
    SHOWN_FACETS,
  );
  return (
    <Results
      found={found}
      what="decisions"
      json={apiUrl("/search/decisions", params)}
      facets={
        <Facets
          facets={[...facets, { name: "source", counts: sources, chosen: (params.source as string | null) ?? null }]}
          set={set}
        />
      }
    >
      {found.items.length > 0 && (
        <div className={`${table.table} ${styles.decisions}`}>
          <table>
            <thead>
              <tr>
                <th>decision</th>
                <th>arguments</th>
                <th>because of</th>
                <th>result</th>
                <th>after</th>
                <th>run</th>
                <th className={styles.optional}>when</th>
              </tr>
            </thead>
            <tbody>
              {found.items.map((each) => (
                <Row key={`${each.run} ${each.seq} ${each.kind} ${each.tool}`} decision={each} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Results>
  );
}

function Row({ decision }: { decision: FoundDecision }) {
  const {
    run,
    seq,
    kind,
    tool,
    values,
    chosen,
    attribution,
    result,
    after,
    agent,
    time,
    run_status: status,
  } = decision;
  return (
    <tr>
      <td>
        <Link className="go" href={`/runs/${run}?at=${seq}`}>
          <Said>{tool ?? kind.replaceAll("_", " ")}</Said>
        </Link>
        {tool !== null && kind !== "tool_call" && <span className="sub"> {kind.replaceAll("_", " ")}</span>}
      </td>
      <td className={table.wide}>
        {values.slice(0, SHOWN_VALUES).map((value) => (
          <span
            key={value.path}
            className={styles.value}
            title={value.source === null ? "not traced" : `from ${value.source.replaceAll("_", " ")}`}
          >
            <code>
              <Said>{`${value.path}=`}</Said>
            </code>
            <code>
              {value.source === "invented" || value.suspect ? (
                <mark className="bad">
                  <Said>{value.value}</Said>
                </mark>
              ) : (
                <Said>{value.value}</Said>
              )}
            </code>
            {value.source === "invented" && (
              <>
                {" "}
                <span className="tag bad">invented</span>
              </>
            )}
          </span>
        ))}
        {values.length > SHOWN_VALUES && <span className="sub">and {values.length - SHOWN_VALUES} others</span>}
        {chosen !== null && <Said>{chosen}</Said>}
      </td>
      <td>{attribution?.replaceAll("_", " ")}</td>
      <td className={result === "error" ? "ink-bad" : ""}>{result}</td>
      <td className={after === "error" ? "ink-bad" : ""}>{after}</td>
      <td>
        <code className="sub">{shortId(run)}</code> <Said>{agent}</Said>{" "}
        {status === "failed" && <span className="tag bad">failed</span>}
      </td>
      <td className={`sub ${styles.optional}`} title={`${time} (UTC)`}>
        {localDateTime(time)}
      </td>
    </tr>
  );
}
