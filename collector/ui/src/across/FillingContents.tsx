import { Link } from "wouter";

import type { ContextContents } from "../api/types";
import { count } from "../model/format";
import { About, Answer, type Question } from "./Answer";
import { Share } from "./Choices";
import { Evidence } from "./Rate";
import table from "../parts/Table.module.css";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";

/** The messages that were sent most, in bytes. */
export function FillingContents({ params, where, outcome }: Question) {
  return (
    <Answer<ContextContents> path="contents" params={params} what="the contents">
      {(data) => (
        <section aria-label="What fills the context">
          <About population={data.population} where={where} outcome={outcome} />
          <h2>
            {count(data.total)} bytes were sent to models in the newest {count(data.read)} runs
          </h2>
          <div className={table.table}>
            <table>
              <thead>
                <tr>
                  <th>message</th>
                  <th>role</th>
                  <th>share of all bytes</th>
                  <th className={table.r}>bytes</th>
                  <th className={table.r}>times sent</th>
                  <th className={table.r}>runs</th>
                  <th>first sent</th>
                </tr>
              </thead>
              <tbody>
                {data.contents.map((each) => (
                  <tr key={each.content}>
                    <td className={table.wide}>
                      <Link className="link" href={`/content/${each.content}`} title={saidPlainly(each.preview)}>
                        <Said>{each.preview === "" ? each.content.slice(0, 20) : each.preview}</Said>
                      </Link>
                    </td>
                    <td>
                      <Said>{each.role}</Said>
                    </td>
                    <td>
                      <Share of={each.share} />
                    </td>
                    <td className={table.r}>{count(each.bytes)}</td>
                    <td className={table.r}>{count(each.sent)}</td>
                    <td className={table.r}>{count(each.runs)}</td>
                    <td>
                      <Evidence items={[each.evidence]} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
    </Answer>
  );
}
