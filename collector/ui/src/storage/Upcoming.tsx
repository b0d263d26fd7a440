// What goes when: how many runs are in each tier, and how many go into another one soon, by the project's policy.
import { useId } from "react";

import type { ProjectRetention } from "../api/types";
import { useApi } from "../api/useApi";
import { count } from "../model/format";
import { Failed } from "../parts/Notices";
import table from "../parts/Table.module.css";

export function Upcoming() {
  const id = useId();
  const { data, error, again } = useApi<ProjectRetention>("/project/retention");
  if (error !== null) return <Failed error={error} what="what goes when" onAgain={again} />;
  if (data === null) return null;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>What goes when</h2>
      <p>
        {Object.entries(data.tiers)
          .filter(([, runs]) => runs > 0)
          .map(([tier, runs]) => `${count(runs)} ${tier}`)
          .join(", ") || "no runs"}
        {data.policy === null && "; no policy: runs are kept for ever"}
      </p>
      {data.upcoming.length > 0 && (
        <div className={table.table} tabIndex={0} role="group" aria-label="What goes when">
          <table>
            <thead>
              <tr>
                <th>within</th>
                <th>to</th>
                <th className={table.r}>runs</th>
              </tr>
            </thead>
            <tbody>
              {data.upcoming.map(({ days, tier, runs }) => (
                <tr key={`${days} ${tier}`}>
                  <td>{days === 1 ? "a day" : `${days} days`}</td>
                  <td>{tier}</td>
                  <td className={table.r}>
                    {data.all_looked_at ? "" : "at least "}
                    {count(runs)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
