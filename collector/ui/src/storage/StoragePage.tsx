// How much is stored: what it stands for inline, the limits, and contents by what they are; the largest of them.
import { useId } from "react";
import { Link, useSearchParams } from "wouter";

import type { Amount, ContentTotals, Page, ProjectUsage, Storage, ListedContent, StoredKind } from "../api/types";
import { useApi } from "../api/useApi";
import { bytesText } from "../model/bytes";
import { count } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import table from "../parts/Table.module.css";
import styles from "./Storage.module.css";
import { Upcoming } from "./Upcoming";

const LARGEST = "20";

export function StoragePage() {
  const [query, setQuery] = useSearchParams();
  const kind = query.get("kind");
  const { data, error, again } = useApi<Storage>("/storage");
  return (
    <main className={styles.page} aria-label="Storage">
      <h1>Storage</h1>
      {error !== null && <Failed error={error} what="how much is stored" onAgain={again} />}
      {data === null && error === null && <Loading what="how much is stored" />}
      {data !== null && (
        <>
          <Facts storage={data} />
          <Contents title="Contents by what they are" column="kind" totals={data.project.by_kind} />
          <Contents title="Contents by tier" column="tier" totals={data.project.by_tier} />
          <Contents
            title="Contents by when they were first stored"
            column="first stored"
            totals={data.project.by_age}
          />
          <Largest
            kinds={Object.keys(data.project.by_kind)}
            kind={kind}
            onKind={(chosen) => setQuery(chosen === "" ? {} : { kind: chosen })}
          />
          <Upcoming />
          <Tables kinds={data.project.kinds} />
        </>
      )}
    </main>
  );
}

/** "12 kB", "~12 kB (10 kB to 14 kB)"; "unknown". */
function sizeText({ value, exact, low, high }: Amount): string {
  if (value === null) return "unknown";
  const range = low === null || high === null ? "" : ` (${bytesText(low)} to ${bytesText(high)})`;
  return `${exact ? "" : "~"}${bytesText(value)}${range}`;
}

const about = ({ value, exact }: Amount, text: (value: number) => string): string =>
  value === null ? "unknown" : `${exact ? "" : "~"}${text(value)}`;

const named = (name: string): string => name.replaceAll("_", " ");

function Facts({ storage: { project, database } }: { storage: Storage }) {
  const { data } = useApi<ProjectUsage>("/project");
  const inline = project.inline_bytes.value;
  const contents = project.content_bytes.value;
  return (
    <dl className={styles.facts}>
      <dt>contents</dt>
      <dd>
        {about(project.contents, count)}, {sizeText(project.content_bytes)} before compression
      </dd>
      <dt>inline they would take</dt>
      <dd>
        {sizeText(project.inline_bytes)}
        {inline !== null && contents !== null && contents > 0 && `, ${(inline / contents).toFixed(1)} times as much`}
      </dd>
      <dt>stored</dt>
      <dd>
        {sizeText(project.bytes)}, indexes {sizeText(project.index_bytes)}
      </dd>
      <dt>limit of what is stored</dt>
      <dd>{data === null ? "…" : limitText(data.limits.stored_bytes)}</dd>
      {database !== null && (
        <>
          <dt>whole database</dt>
          <dd>
            {sizeText(database.bytes)}, indexes {sizeText(database.index_bytes)}
          </dd>
        </>
      )}
    </dl>
  );
}

const limitText = (bytes: number | null): string => (bytes === null ? "no limit" : `at most ${bytesText(bytes)}`);

function Contents({ title, column, totals }: { title: string; column: string; totals: Record<string, ContentTotals> }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div className={table.table} tabIndex={0} role="group" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th>{column}</th>
              <th className={table.r}>contents</th>
              <th className={table.r}>bytes</th>
              <th className={table.r}>stored</th>
              <th className={table.r}>tokens</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(totals).map(([name, each]) => (
              <tr key={name}>
                <td>{named(name)}</td>
                <td className={table.r}>{about(each.contents, count)}</td>
                <td className={table.r}>{about(each.bytes, bytesText)}</td>
                <td className={table.r}>{about(each.stored_bytes, bytesText)}</td>
                <td className={table.r}>{about(each.tokens, count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Largest({
  kinds,
  kind,
  onKind,
}: {
  kinds: readonly string[];
  kind: string | null;
  onKind: (kind: string) => void;
}) {
  const id = useId();
  const { data, error, again } = useApi<Page<ListedContent>>("/contents", {
    limit: LARGEST,
    ...(kind === null ? {} : { kind }),
  });
  return (
    <section aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>The largest contents</h2>
      <p>
        <label htmlFor={id}>Only </label>
        <select id={id} className="input" value={kind ?? ""} onChange={(event) => onKind(event.target.value)}>
          <option value="">all kinds</option>
          {[...new Set([...kinds, ...(kind === null ? [] : [kind])])].map((each) => (
            <option key={each} value={each}>
              {named(each)}
            </option>
          ))}
        </select>
      </p>
      {error !== null && <Failed error={error} what="the largest contents" onAgain={again} />}
      {data === null && error === null && <Loading what="the largest contents" />}
      {data !== null && data.items.length === 0 && (
        <p className="sub">None of more than 32 KiB. Smaller ones are packed together.</p>
      )}
      {data !== null && data.items.length > 0 && <LargestTable contents={data.items} />}
    </section>
  );
}

function LargestTable({ contents }: { contents: readonly ListedContent[] }) {
  return (
    <div className={table.table} tabIndex={0} role="group" aria-label="The largest contents">
      <table>
        <thead>
          <tr>
            <th>content</th>
            <th>kind</th>
            <th className={table.r}>bytes</th>
            <th className={table.r}>stored</th>
            <th className={table.r}>tokens</th>
            <th>first stored</th>
            <th>last named</th>
          </tr>
        </thead>
        <tbody>
          {contents.map((each) => (
            <tr key={each.ref}>
              <td>
                <Link className="link" href={`/content/${each.ref}`}>
                  {each.ref.slice("sha256:".length, "sha256:".length + 12)}
                </Link>
              </td>
              <td>{named(each.kind)}</td>
              <td className={table.r}>{bytesText(each.size)}</td>
              <td className={table.r}>{bytesText(each.stored_bytes)}</td>
              <td className={table.r}>{each.tokens === null ? "–" : `~${count(each.tokens)}`}</td>
              <td>{each.first_stored ?? "–"}</td>
              <td>{each.last_named}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Tables({ kinds }: { kinds: Record<string, StoredKind> }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>Tables</h2>
      <div className={table.table} tabIndex={0} role="group" aria-label="Tables">
        <table>
          <thead>
            <tr>
              <th>what is stored</th>
              <th className={table.r}>rows</th>
              <th className={table.r}>bytes</th>
              <th className={table.r}>indexes</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(kinds).map(([name, each]) => (
              <tr key={name}>
                <td>{named(name)}</td>
                <td className={table.r}>{about(each.rows, count)}</td>
                <td className={table.r}>{about(each.bytes, bytesText)}</td>
                <td className={table.r}>{about(each.index_bytes, bytesText)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
