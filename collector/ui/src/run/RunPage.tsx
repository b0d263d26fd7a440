// The run page: steps left, stage in the middle, why and state right, timeline below. One playhead for all.
import { useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "wouter";

import type { RunDetail } from "../api/types";
import { useApi } from "../api/useApi";
import { count } from "../model/format";
import { type Focus, readFocus } from "../model/timeline/focus";
import { playhead } from "../model/playhead";
import { useRest } from "../model/settled";
import { type Folded, fold, isError } from "../model/steps/steps";
import { Failed, Loading } from "../parts/Notices";
import { Head } from "./Head";
import { PANELS, Stage } from "./Stage";
import { StatePanel } from "./state/StatePanel";
import { StepsPanel } from "./steps/StepsPanel";
import { Timeline } from "./timeline/Timeline";
import { useEvents } from "./events/useEvents";
import { useKeys } from "./useKeys";
import { useZones } from "./useZones";
import { WhyPanel } from "./WhyPanel";

/** The playhead stands still for so long before the collector is asked about its position. */
const REST_MS = 90;

export function RunPage({ run: name }: { run: string }) {
  const { data: run, error } = useApi<RunDetail>(`/runs/${encodeURIComponent(name)}`);
  if (error !== null)
    return (
      <main>
        <Failed error={error} isPage />
      </main>
    );
  if (run === null)
    return (
      <main>
        <Loading what="the run" />
      </main>
    );
  return <Run run={run} />;
}

function Run({ run }: { run: RunDetail }) {
  const [query, setQuery] = useSearchParams();
  const events = useEvents(run.run, run.status === "running", run.events);
  const length = Math.max(1, events.isWhole ? events.items.length : Math.max(run.events, events.items.length));
  const wanted = Number(query.get("at"));
  const lengthNow = useRef(length);
  useLayoutEffect(() => {
    lengthNow.current = length;
  }, [length]);
  const start = wanted >= 1 ? wanted : Math.max(1, run.events);
  // The length is read when the playhead moves. Where it starts counts for a new run only.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const head = useMemo(() => playhead(start, () => lengthNow.current), [run.run]);
  const settled = useRest(head, REST_MS);
  const panel = PANELS.find((each) => each.id === query.get("panel"))?.id ?? "context";
  const [lit, setLit] = useState<string | null>(null);
  const focus = useMemo(() => readFocus(query.get("focus"), length), [query, length]);
  const folded = useRef<Folded | undefined>(undefined);
  // Folding goes on from what was folded before: the same events give the same rows, however often they are drawn.
  const rows = useMemo(() => {
    folded.current = fold(events.items, folded.current);
    return folded.current.rows;
  }, [events.items]);
  const firstError = useMemo(() => events.items.find((event) => isError(event.kind))?.seq, [events.items]);
  const zones = useZones();
  const isFirst = useRef(true);
  const written = useRef(0); // the position that this page wrote to the address; the playhead may be further by now
  const write = useEffectEvent((at: number) => {
    if (isFirst.current && !query.has("at")) {
      isFirst.current = false;
      return;
    }
    isFirst.current = false;
    written.current = at;
    setQuery(
      (before) => {
        before.set("at", String(at));
        return before;
      },
      { replace: true },
    );
  });
  useEffect(() => write(settled), [settled]);
  useEffect(() => {
    if (wanted >= 1 && wanted !== written.current) head.move(wanted); // the back button, and links within the page
  }, [wanted, head]);
  const show = (id: string) =>
    setQuery((before) => {
      before.set("panel", id);
      return before;
    });
  const narrow = (to: Focus | null) =>
    setQuery((before) => {
      if (to === null) before.delete("focus");
      else before.set("focus", `${to.from}-${to.to}`);
      return before;
    });
  const axis = (isByTime: boolean) =>
    setQuery(
      (before) => {
        if (isByTime) before.set("axis", "time");
        else before.delete("axis");
        return before;
      },
      { replace: true },
    );
  useKeys(head, events.items, show);
  useEffect(() => {
    document.title = `${run.name ?? "run"} · Playhead`;
    return () => {
      document.title = "Playhead";
    };
  }, [run.name]);
  return (
    <main className="run" aria-label={`Run ${run.name ?? ""}`}>
      <Head
        run={run}
        at={settled}
        event={events.items[settled - 1]}
        onError={firstError === undefined ? null : () => head.move(firstError)}
      />
      {events.error !== null ? (
        <Failed error={events.error} />
      ) : (
        <div className="zones" ref={zones.box}>
          <section className="zone" aria-label="Steps">
            <div className="bar-head">
              <h2>Steps</h2>
              {events.isWhole
                ? `${count(events.items.length)} events`
                : `${count(events.items.length)} of ${count(run.events)} events loaded`}
              {focus !== null && (
                <button type="button" className="go" onClick={() => narrow(null)}>
                  only {count(focus.from)} to {count(focus.to)} ✕
                </button>
              )}
              {events.isCut && (
                <span
                  className="r ink-bad"
                  role="status"
                  title="The connection to the collector was cut: connecting again"
                >
                  not live
                </span>
              )}
            </div>
            <StepsPanel
              rows={rows}
              focus={focus}
              head={head}
              isLoading={events.items.length === 0 && !events.isWhole}
            />
          </section>
          <button type="button" className="split" aria-label="Width of the steps" {...zones.left} />
          <section className="zone" aria-label="Stage">
            <Stage
              run={run}
              events={events.items}
              at={settled}
              panel={panel}
              onPanel={show}
              lit={lit}
              onMove={head.move}
            />
          </section>
          <button type="button" className="split" aria-label="Width of why and state" {...zones.right} />
          <section className="zone" aria-label="Why and state">
            <WhyPanel run={run.run} events={events.items} at={settled} onMove={head.move} onLight={setLit} />
            <StatePanel run={run.run} length={length} at={settled} onMove={head.move} />
          </section>
        </div>
      )}
      <Timeline
        events={events.items}
        forks={run.forks}
        run={run.run}
        head={head}
        focus={focus}
        onFocus={narrow}
        isByTime={query.get("axis") === "time"}
        onAxis={axis}
      />
    </main>
  );
}
