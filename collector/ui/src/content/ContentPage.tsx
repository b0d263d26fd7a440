// A content by its ref: what it is, who had it, and what it says: rendered, raw, as JSON or in hex.
import { useState } from "react";
import { Link, useSearchParams } from "wouter";

import { apiUrl } from "../api/client";
import type { ContentAbout, ContentRun } from "../api/types";
import { useApi } from "../api/useApi";
import { bytesText } from "../model/bytes";
import { count, localDateTime, shortId } from "../model/format";
import { Copy } from "../parts/Copy";
import { Failed, Loading } from "../parts/Notices";
import { Status } from "../parts/Status";
import { Difference } from "./Difference";
import { ContentView, VIEWS, type ViewId } from "./ContentView";
import { Said } from "../parts/Said";
import { Tabs } from "../parts/Tabs";
import styles from "./Content.module.css";

const RUNS = 20;
const REF = /^sha256:[0-9a-f]{64}(:text|:bytes)?$/;

export function ContentPage({ target }: { target: string }) {
  const { data, error } = useApi<ContentAbout>(`/content/${target}/about`, { limit: RUNS });
  if (error !== null)
    return (
      <main>
        <Failed error={error} isPage what="the content" />
      </main>
    );
  if (data === null)
    return (
      <main>
        <Loading what="the content" />
      </main>
    );
  return <Content about={data} target={target} />;
}

function Content({ about, target }: { about: ContentAbout; target: string }) {
  const [query, setQuery] = useSearchParams();
  const [found, setFound] = useState(0);
  const [hit, setHit] = useState(0);
  const view = VIEWS.find((each) => each.id === query.get("view"))?.id ?? "rendered";
  const find = query.get("find") ?? "";
  const other = query.get("diff") ?? "";
  const set = (name: string, value: string, replace = false) =>
    setQuery(
      (before) => {
        if (value === "") before.delete(name);
        else before.set(name, value);
        return before;
      },
      { replace },
    );
  const search = (text: string) => {
    setHit(0);
    set("find", text, true);
  };
  const isSearched = other === "" && view !== "hex" && !about.media_type.startsWith("image/");
  return (
    <main className={styles.page} aria-label="Content">
      <div className={styles.head}>
        <div className={styles.who}>
          <h1>
            {about.kind}
            {about.role !== null && (
              <>
                {" "}
                of <Said>{about.role}</Said>
              </>
            )}{" "}
            <Copy className="icon" text={about.ref} label={about.ref.slice(7, 15)} />
          </h1>
          <div className="sub">
            {[
              about.media_type,
              about.content_kind?.replaceAll("_", " "),
              about.tokens === null ? null : `~${count(about.tokens)} tokens`,
            ]
              .filter((each) => each != null)
              .join(" · ")}
          </div>
          {about.masked && (
            <div className="sub" title="The ref is that of what was sent; it is not given to a program or a model.">
              masked by rules of the project
            </div>
          )}
        </div>
        <Fact name="size" value={bytesText(about.size)} title={`${count(about.size)} bytes`} />
        <Fact name="seen in" value={seenText(about)} />
        <Fact
          name="first seen"
          value={about.first_seen === null ? "–" : localDateTime(about.first_seen)}
          title={utc(about.first_seen)}
        />
        <Fact
          name="sent to models"
          value={bytesText(about.bytes_sent)}
          title={`${count(about.bytes_sent)} bytes: its size times ${count(about.calls)} calls`}
          optional
        />
        <div className={styles.acts}>
          <a className="button" href={apiUrl(`/content/${target}/about`)}>
            JSON
          </a>
          <a className="button" href={apiUrl(`/content/${target}`)} download>
            Download
          </a>
        </div>
      </div>
      <div className={styles.zones}>
        <section className={styles.zone} aria-label="What it says">
          <div className={styles.bar}>
            <Tabs
              label="View"
              choices={VIEWS}
              chosen={other === "" ? view : null}
              onChoose={(id) =>
                setQuery((before) => {
                  before.set("view", id);
                  before.delete("diff");
                  return before;
                })
              }
            />
            {isSearched && <Find find={find} found={found} hit={hit} onFind={search} onHit={setHit} />}
          </div>
          {other === "" ? (
            <ContentView
              about={about}
              target={target}
              view={view as ViewId}
              find={isSearched ? find : ""}
              hit={hit}
              onFound={setFound}
            />
          ) : (
            <Difference about={about} other={other} />
          )}
        </section>
        <section className={`${styles.zone} ${styles.seen}`} aria-label="Who had it">
          <CompareWith other={other} onOther={(value) => set("diff", value)} />
          <Runs about={about} />
        </section>
      </div>
    </main>
  );
}

const utc = (time: string | null): string | undefined => (time === null ? undefined : `${time} (UTC)`);

function seenText({ calls, runs, complete }: ContentAbout): string {
  return `${calls === 0 ? "no" : count(calls)} ${calls === 1 ? "call" : "calls"} of ${complete ? "" : "at least "}${count(runs)} ${runs === 1 ? "run" : "runs"}`;
}

function Fact({
  name,
  value,
  title,
  optional = false,
}: {
  name: string;
  value: string;
  title?: string | undefined;
  optional?: boolean;
}) {
  return (
    <div className={optional ? `${styles.fact} ${styles.optional}` : styles.fact} title={title}>
      <b>{value}</b>
      <span>{name}</span>
    </div>
  );
}

type FindProps = {
  find: string;
  found: number;
  hit: number;
  onFind: (text: string) => void;
  onHit: (hit: number) => void;
};

/** Enter: the next occurrence; with Shift: the one before. */
function Find({ find, found, hit, onFind, onHit }: FindProps) {
  const move = (by: number) => found > 0 && onHit((hit + by + found) % found);
  return (
    <span className={styles.findIn}>
      <span role="status">
        {find === "" ? "" : found === 0 ? "not found" : `${count((hit % found) + 1)} of ${count(found)}`}
      </span>
      <input
        className="input"
        aria-label="Search in this content"
        placeholder="Search in this content"
        value={find}
        onChange={(event) => onFind(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && move(event.shiftKey ? -1 : 1)}
      />
      <button type="button" className="icon" aria-label="Previous occurrence" onClick={() => move(-1)}>
        ↑
      </button>
      <button type="button" className="icon" aria-label="Next occurrence" onClick={() => move(1)}>
        ↓
      </button>
    </span>
  );
}

function CompareWith({ other, onOther }: { other: string; onOther: (ref: string) => void }) {
  const [text, setText] = useState(other);
  const isRef = REF.test(text.trim());
  return (
    <form
      className={styles.card}
      onSubmit={(event) => {
        event.preventDefault();
        if (isRef) onOther(text.trim());
      }}
    >
      <h2>
        <label htmlFor="other-content">Compare with another content</label>
      </h2>
      <div className={styles.compareWith}>
        <input
          id="other-content"
          className="input"
          placeholder="sha256:…"
          value={text}
          onChange={(event) => setText(event.target.value)}
          spellCheck={false}
        />
        <button className="button" type="submit" disabled={!isRef}>
          Compare
        </button>
        {other !== "" && (
          <button
            className="button"
            type="button"
            onClick={() => {
              setText("");
              onOther("");
            }}
          >
            Stop
          </button>
        )}
      </div>
      {text !== "" && !isRef && (
        <p className="sub">
          A ref is <code>sha256:</code> and 64 digits, as events have them.
        </p>
      )}
    </form>
  );
}

function Runs({ about }: { about: ContentAbout }) {
  return (
    <div className={styles.runs} tabIndex={0} role="region" aria-label="Runs that had it">
      <div className={styles.card}>
        <h2>{about.runs === 0 ? "No run names it" : `Seen in ${seenText(about)}`}</h2>
        {!about.complete && (
          <p className="sub">
            Not all runs are counted: cold runs are in no index, and runs that go on, or ended only just, not yet.
          </p>
        )}
        {about.items.map((run) => (
          <RunOf key={run.run} run={run} />
        ))}
        {about.next_cursor !== null && (
          <p className="sub">
            The newest {count(about.items.length)} of {count(about.runs)} runs are shown;{" "}
            <a className="link" href={apiUrl(`/content/${about.ref}/about`, { limit: 100 })}>
              as JSON
            </a>{" "}
            there are more.
          </p>
        )}
      </div>
    </div>
  );
}

function RunOf({ run }: { run: ContentRun }) {
  return (
    <div className={styles.seenRun}>
      <Link className={styles.name} href={`/runs/${run.run}`}>
        <Said>{run.name ?? "unnamed"}</Said>
      </Link>{" "}
      <code className="sub">{shortId(run.run)}</code> <Status status={run.status} />{" "}
      <span className="sub" title={`${run.started} (UTC)`}>
        {localDateTime(run.started)} · {run.calls === 0 ? "no" : count(run.calls)} {run.calls === 1 ? "call" : "calls"}
      </span>
      <div className={styles.places}>
        {run.places.map((each) => (
          <Link
            key={`${each.seq} ${each.use}`}
            className="go"
            href={`/runs/${run.run}?at=${each.seq}`}
            title={each.kind}
          >
            event {each.seq} <span className="sub">{each.use}</span>
          </Link>
        ))}
        {run.more_places && <span className="sub">and others</span>}
      </div>
    </div>
  );
}
