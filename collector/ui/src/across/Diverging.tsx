import { Link } from "wouter";

import type { Divergences, TaskDivergence } from "../api/types";
import { compact, count } from "../model/format";
import { Empty } from "../parts/Notices";
import { About, Answer, type Question } from "./Answer";
import { runsLink, taskCondition } from "./links";
import { Evidence, Rate } from "./Rate";
import table from "../parts/Table.module.css";
import styles from "./Across.module.css";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";

/** Where runs of one task did the same so far, and then different things with different outcomes. */
export function Diverging({ params, where, outcome, task }: Question) {
  return (
    <Answer<Divergences> path="divergences" params={{ ...params, task }} what="where runs part">
      {(data) => (
        <>
          <About population={data.population} where={where} outcome={outcome} />
          <p className="sub">
            Runs are of one task when they have the same{" "}
            {task.startsWith("tag:") ? (
              <>
                tag that begins with <code>{task.slice(4)}</code>
              </>
            ) : (
              task
            )}
            . {count(data.tasks)} tasks have failed and succeeded runs; {count(data.read)} runs were read.
          </p>
          {data.divergences.length === 0 && (
            <Empty>
              No two runs of one task part ways with different outcomes. Choose at the top what runs of one task have in
              common.
            </Empty>
          )}
          {data.divergences.map((each, n) => (
            <Parting key={n} parting={each} where={{ ...where, ...taskCondition(task, each.task) }} />
          ))}
        </>
      )}
    </Answer>
  );
}

function Parting({ parting, where }: { parting: TaskDivergence; where: Question["where"] }) {
  return (
    <section aria-label={`Task ${parting.task}`}>
      <h2>
        <Link className="link" href={runsLink(where)}>
          <Said>{parting.task.length > 120 ? `${parting.task.slice(0, 120)} …` : parting.task}</Said>
        </Link>{" "}
        <span className="sub">
          {count(parting.runs)} runs, the choice tells {parting.gain.toFixed(2)} bits of the outcome,{" "}
          {parting.pattern ? <b>a pattern</b> : "no pattern: too few runs"}
        </span>
      </h2>
      <p className={`sub ${styles.path}`}>
        after <Said>{parting.after.length === 0 ? "the beginning" : parting.after.join(" → ")}</Said>
      </p>
      <div className={table.table}>
        <table>
          <thead>
            <tr>
              <th>choice</th>
              <th>arguments</th>
              <th>succeeded</th>
              <th>runs</th>
            </tr>
          </thead>
          <tbody>
            {parting.branches.map((branch, n) => (
              <tr key={n}>
                <td>
                  <Said>{branch.tool}</Said>
                </td>
                <td>
                  <code title={saidPlainly(compact(branch.arguments))}>
                    <Said>{branch.arguments === null ? "" : compact(branch.arguments)}</Said>
                  </code>
                </td>
                <td>
                  <Rate rate={branch.success} />
                </td>
                <td>
                  <Evidence items={branch.evidence} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
