// Which calls of a run had one message: those worth a link. Pure.
import type { ContentAbout } from "../../api/types";

export type CallLink = { seq: number; name: string };

/** `calls`: how many had the message, the one that is looked at included. `isCut`: not all of them are known. */
export type SameMessage = { calls: number; isCut: boolean; links: CallLink[] };

/** The first and the last call with the message, and those next to the call at `seq`: in order, each once, without that call. */
export function callsWithMessage(about: ContentAbout, seq: number): SameMessage {
  const places = about.items[0]?.places ?? [];
  const seqs = places.filter((place) => place.kind === "llm_called").map((place) => place.seq);
  const hasMore = about.items[0]?.more_places ?? false;
  const isCut = !about.complete || hasMore;
  if (!about.complete) return { calls: about.calls, isCut, links: [] };
  const links = new Map<number, string>();
  const add = (name: string, found: number | undefined) => {
    if (found !== undefined && found !== seq && !links.has(found)) links.set(found, name);
  };
  add("first", seqs[0]);
  if (!hasMore) add("last", seqs.at(-1));
  if (!hasMore || seq <= (seqs.at(-1) ?? 0))
    add(
      "before",
      seqs.findLast((each) => each < seq),
    );
  add(
    "after",
    seqs.find((each) => each > seq),
  );
  return {
    calls: about.calls,
    isCut,
    links: [...links].map(([found, name]) => ({ seq: found, name })).sort((a, b) => a.seq - b.seq),
  };
}
