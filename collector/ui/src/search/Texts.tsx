import { Fragment } from "react";
import { Link } from "wouter";

import { apiUrl, type Params } from "../api/client";
import type { FoundText } from "../api/types";
import { localDateTime, shortId } from "../model/format";
import { ContentLink } from "../parts/ContentLink";
import { Empty } from "../parts/Notices";
import { type SetCondition, tally } from "./conditions";
import { Facets, Results } from "./Results";
import { usePages } from "./usePages";
import { Said } from "../parts/Said";
import { runAddress } from "../parts/TurnLink";
import styles from "./Search.module.css";

const SHOWN_FACETS = 6;

/** Texts in which the words stand, with quotes; each run that had one is a link to the event with which it came. */
export function Texts({ words, params, set }: { words: string | null; params: Params; set: SetCondition }) {
  const asked = { ...params, q: words };
  const found = usePages<FoundText>(words === null ? null : "/search/content", asked);
  if (words === null)
    return (
      <Empty>
        Write words that must all stand in one text, "a phrase", "or" between words, and -word for one that must not.
      </Empty>
    );
  const facets = [
    {
      name: "role",
      counts: tally(
        found.items.map((each) => each.role),
        SHOWN_FACETS,
      ),
      chosen: (params.role as string | null) ?? null,
    },
  ];
  return (
    <Results
      found={found}
      what="texts"
      json={apiUrl("/search/content", asked)}
      facets={<Facets facets={facets} set={set} />}
    >
      {found.items.map((each) => (
        <Text key={each.ref} text={each} words={words} />
      ))}
    </Results>
  );
}

function Text({ text, words }: { text: FoundText; words: string }) {
  return (
    <div className={styles.text}>
      <h2>
        <Said>{text.role ?? "content"}</Said> <ContentLink target={text.ref}>open content</ContentLink>{" "}
        <span className="sub" title={`${text.since} (UTC)`}>
          first in a run of {localDateTime(text.since)}
        </span>
      </h2>
      {text.quotes.map((quote) => (
        <blockquote key={`${quote.part} ${quote.offset}`}>
          <Quote text={quote.quote} words={words} />
        </blockquote>
      ))}
      <div>
        {text.seen.map((seen) => (
          <Fragment key={`${seen.run} ${seen.seq}`}>
            <Link className={`go ${styles.place}`} href={runAddress(seen.run, seen.seq)}>
              run {shortId(seen.run)} at event {seen.seq}
            </Link>{" "}
          </Fragment>
        ))}
        {text.more_runs && <span className="sub">and in other runs</span>}
      </div>
    </div>
  );
}

/** A quote with the words that were asked for marked. */
function Quote({ text, words }: { text: string; words: string }) {
  const wanted =
    words
      .replace(/(^|\s)-\S+/g, " ")
      .match(/[\p{L}\p{N}_]+/gu)
      ?.filter((word) => word.toLowerCase() !== "or") ?? [];
  if (wanted.length === 0) return <Said>{text}</Said>;
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "giu"));
  return (
    <bdi>
      {parts.map((part, n) =>
        n % 2 === 1 ? (
          <mark key={n}>
            <Said>{part}</Said>
          </mark>
        ) : (
          <Said key={n}>{part}</Said>
        ),
      )}
    </bdi>
  );
}
