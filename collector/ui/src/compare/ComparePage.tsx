// Two runs beside each other: first a sentence that says where they part, then both moments, then their calls in pairs.
import { useSearchParams } from "wouter";

import type { Comparison, RunDetail } from "../api/types";
import { useApi } from "../api/useApi";
import { count, shortId } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { isForPage } from "../parts/typing";
import { useKeyPress } from "../parts/useKeyPress";
import styles from "./ComparePage.module.css";
import { type Looks, PairDetail } from "./PairDetail";
import { PairList } from "./PairList";
import { countsText, isDifference, nextDifference } from "./pairs";
import { RunHead } from "./RunHead";
import { Sentence } from "./Sentence";
import { usePairs, type Pairs } from "./usePairs";

export function ComparePage({ a, b }: { a: string; b: string }) {
  const [query] = useSearchParams();
  const asked = query.has("pair") ? Number(query.get("pair")) - 1 : null;
  const pairs = usePairs(a, b, asked ?? 0);
  const { data, error, more } = pairs;
  if (data === null)
    return (
      <main className="page" aria-label="Comparison">
        {error === null ? (
          <Loading what="the comparison" />
        ) : (
          <Failed error={error} isPage what="the comparison" onAgain={more} />
        )}
      </main>
    );
  return <Compared data={data} pairs={pairs} asked={asked} />;
}

/** `asked`: the number of the pair that the address names. */
function Compared({ data, pairs, asked }: { data: Comparison; pairs: Pairs; asked: number | null }) {
  const [query, setQuery] = useSearchParams();
  const { items } = pairs;
  const { data: a } = useApi<RunDetail>(`/runs/${data.a.run}`);
  const { data: b } = useApi<RunDetail>(`/runs/${data.b.run}`);
  const first = data.acts?.number ?? data.parts?.number ?? 0;
  const at = Math.max(0, Math.min(items.length - 1, Math.floor(asked ?? first) || 0));
  const isDifferences = query.get("show") === "differences";
  const move = (to: number) =>
    setQuery(
      (before) => {
        before.set("pair", String(to + 1));
        return before;
      },
      { replace: true },
    );
  const turn = () =>
    setQuery((before) => {
      if (isDifferences) before.delete("show");
      else before.set("show", "differences");
      return before;
    });
  useKeyPress((event) => {
    if (!isForPage(event) || event.key.toLowerCase() !== "n") return;
    const next = nextDifference(items, at, event.shiftKey ? -1 : 1);
    if (next !== null) move(next);
  });
  const shown = items.flatMap((pair, n) => (!isDifferences || isDifference(pair) ? [n] : []));
  return (
    <main className={`page ${styles.page ?? ""}`} aria-label="Comparison">
      <div className={styles.head}>
        <h1>
          <Sentence text={data.sentence} />
        </h1>
        {[...data.more, ...relation(data)].map((sentence) => (
          <p key={sentence}>
            <Sentence text={sentence} />
          </p>
        ))}
      </div>
      <div className={styles.runs}>
        <RunHead side="A" run={data.a} other={data.b} data={a} from={null} />
        <RunHead side="B" run={data.b} other={data.a} data={b} from={a} />
      </div>
      {items.length > 0 && <PairDetail data={data} looks={looks(a, b)} items={items} at={at} onMove={move} />}
      <section className={styles.section} aria-label="Calls in pairs">
        <h2>
          Calls in pairs <span className="sub">{countsText(data.counts)}</span>{" "}
          {items.length > 0 && (
            <button type="button" className="go" aria-pressed={isDifferences} onClick={turn}>
              {isDifferences ? "show all" : "only differences"}
            </button>
          )}
        </h2>
        {data.common.calls > 0 && (
          <p className={styles.common}>
            = {count(data.common.calls)} equal {data.common.calls === 1 ? "call" : "calls"} at the beginning, up to
            event {count(data.common.a)} of A and {count(data.common.b)} of B
          </p>
        )}
        {items.length > 0 && (
          <PairList items={items} shown={shown} at={at} first={first} onMove={move} onEnd={pairs.more} />
        )}
        {pairs.error !== null && <Failed error={pairs.error} what="more pairs" onAgain={pairs.more} />}
      </section>
    </main>
  );
}

/**
 * How what only one run named is marked: where one of them failed and the other succeeded, as wrong and right; else by the
 * side, as the list of pairs does.
 */
function looks(a: RunDetail | null, b: RunDetail | null): Looks {
  const words = [a?.outcome?.word, b?.outcome?.word].join(" ");
  if (words === "failed succeeded") return { a: "bad", b: "good" };
  return words === "succeeded failed" ? { a: "good", b: "bad" } : { a: "onlyA", b: "onlyB" };
}

/** Which run is a fork of which; nothing for runs that are no forks of each other. */
function relation({ a, b, common }: Comparison): string[] {
  const [fork, name] = b.fork_of === a.run ? [b, "B"] : a.fork_of === b.run ? [a, "A"] : [null, ""];
  if (fork === null) return [];
  const parent = name === "B" ? "A" : "B";
  return [
    `${name} (\`${shortId(fork.run)}\`) is a fork of ${parent} from event ${count(fork.fork_at ?? 0)} on; the first ` +
      `${count(common.shared)} events are one record.`,
  ];
}
