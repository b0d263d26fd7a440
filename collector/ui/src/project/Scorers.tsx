// The scorers of the project: what each has done, and what waits for it. They are set with `playhead scorers`.
import type { ScorerAnswer, ScorerList } from "../api/types";
import { useApi } from "../api/useApi";
import { count, money } from "../model/format";
import { Failed } from "../parts/Notices";
import table from "../parts/Table.module.css";

export function Scorers() {
  const { data, error, again } = useApi<ScorerList>("/scorers");
  if (error !== null) return <Failed error={error} what="the scorers" onAgain={again} />;
  if (data === null || data.items.length === 0) return null;
  return (
    <section aria-label="Scorers">
      <h2>Scorers</h2>
      <div className={table.table}>
        <table>
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col">kind</th>
              <th scope="col">scored</th>
              <th scope="col">today</th>
              <th scope="col">waiting</th>
              <th scope="col">given up</th>
              <th scope="col">left out</th>
              <th scope="col">stored runs</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((scorer) => (
              <Line key={scorer.name} scorer={scorer} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Line({ scorer }: { scorer: ScorerAnswer }) {
  const { today, total, backfill } = scorer;
  return (
    <tr>
      <th scope="row">
        {scorer.name}
        {!scorer.enabled && " (off)"}
      </th>
      <td>
        {scorer.kind}, version {scorer.version}
      </td>
      <td>{count(total.scored)}</td>
      <td>
        {count(today.scored)}
        {today.cost > 0 && `, ${money(today.cost)}`}
      </td>
      <td>{count(scorer.due)}</td>
      <td className={total.failed > 0 ? "ink-bad" : undefined}>{count(total.failed)}</td>
      <td>
        {count(total.not_sampled)} by sample, {count(total.over_budget)} by budget
      </td>
      <td>{backfill === null ? "–" : `${backfill.state}, ${count(backfill.looked)} passed`}</td>
    </tr>
  );
}
