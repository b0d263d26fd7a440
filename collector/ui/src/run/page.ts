// What the run page shows: one state, the actions that change it, and its form in the address. Pure.
import type { RunHit } from "../api/types";

export const VIEWS = ["turns", "conversation"] as const;
export const PANELS = ["timeline", "waterfall", "agents", "tokens"] as const;
export type View = (typeof VIEWS)[number];
export type PanelName = (typeof PANELS)[number];

/** A part of a run, from seq `from` to seq `to`, both in it. */
export type Range = { from: number; to: number };

/** What was looked for in the run. `hits` null: the answer is awaited. `place`: the index of the hit that is shown; -1: none. */
export type Found = { text: string; hits: readonly RunHit[] | null; hasMore: boolean; place: number };

/**
 * `at` is the seq of the event that the page is about; 0: it is not known yet where to open. `chosen`: a person, or the
 * address, said so; what is found out later does not move the page then. `home` is where the page opened by itself, 0:
 * nowhere yet. `following`: the page goes on to each new event. `range` null: the whole run. `folded`: the verdict takes one line.
 */
export type PageState = {
  at: number;
  chosen: boolean;
  home: number;
  following: boolean;
  view: View;
  panel: PanelName;
  range: Range | null;
  folded: boolean;
  found: Found | null;
};

export type PageAction =
  | { type: "open"; seq: number; follow: boolean }
  | { type: "go"; seq: number }
  | { type: "follow"; on: boolean; last: number }
  | { type: "grew"; last: number }
  | { type: "view"; view: View }
  | { type: "panel"; panel: PanelName }
  | { type: "range"; range: Range | null }
  | { type: "fold" }
  | { type: "find"; text: string | null }
  | { type: "hits"; text: string; hits: readonly RunHit[]; hasMore: boolean }
  | { type: "hit"; step: 1 | -1 }
  | { type: "address"; query: URLSearchParams };

/** The state at an address. */
export function opened(query: URLSearchParams): PageState {
  return {
    ...addressed(query),
    home: 0,
    following: false,
    folded: addressed(query).view === "conversation",
    found: null,
  };
}

export function pageReducer(state: PageState, action: PageAction): PageState {
  switch (action.type) {
    case "open":
      return state.chosen
        ? { ...state, home: action.seq }
        : { ...state, at: action.seq, home: action.seq, following: action.follow };
    case "go":
      return went(state, action.seq);
    case "follow":
      return action.on
        ? { ...state, chosen: true, following: true, at: Math.max(action.last, 1) }
        : { ...state, chosen: true, following: false };
    case "grew":
      return state.following && action.last > state.at ? { ...state, at: action.last } : state;
    case "view":
      return { ...state, view: action.view, folded: action.view === "conversation" };
    case "panel":
      return { ...state, panel: action.panel };
    case "range":
      return { ...state, range: action.range };
    case "fold":
      return { ...state, folded: !state.folded };
    case "find":
      return {
        ...state,
        found: action.text === null ? null : { text: action.text, hits: null, hasMore: false, place: -1 },
      };
    case "hits":
      return answered(state, action);
    case "hit":
      return toHit(state, action.step);
    case "address": {
      const there = addressed(action.query);
      const at = there.at || state.home || state.at;
      return { ...state, ...there, at, following: state.following && at === state.at };
    }
  }
}

const went = (state: PageState, seq: number): PageState => ({
  ...state,
  at: Math.max(1, Math.round(seq)),
  chosen: true,
  following: false,
});

/** The first answer goes to the first hit from where the page stands on; pages that follow only add to the hits. */
function answered(state: PageState, { text, hits, hasMore }: Extract<PageAction, { type: "hits" }>): PageState {
  if (state.found === null || state.found.text !== text) return state; // another text is looked for by now
  const before = state.found;
  if (before.hits !== null) return { ...state, found: { ...before, hits, hasMore } };
  const next = hits.findIndex((hit) => hit.seq >= state.at);
  const place = hits.length === 0 ? -1 : Math.max(0, next);
  const found = { text, hits, hasMore, place };
  const hit = hits[place];
  return hit === undefined ? { ...state, found } : { ...went(state, hit.seq), found };
}

function toHit(state: PageState, step: 1 | -1): PageState {
  const { found } = state;
  if (found?.hits == null || found.hits.length === 0) return state;
  const place = (found.place + step + found.hits.length) % found.hits.length;
  return { ...went(state, found.hits[place]?.seq ?? state.at), found: { ...found, place } };
}

/** What an address says; unknown words count as not said. */
function addressed(query: URLSearchParams): Pick<PageState, "at" | "chosen" | "view" | "panel" | "range"> {
  const at = Number(query.get("at"));
  const isSaid = Number.isSafeInteger(at) && at >= 1;
  return {
    at: isSaid ? at : 0,
    chosen: isSaid,
    view: VIEWS.find((each) => each === query.get("view")) ?? "turns",
    panel: PANELS.find((each) => each === query.get("panel")) ?? "timeline",
    range: readRange(query.get("range")),
  };
}

function readRange(text: string | null): Range | null {
  const [, from, to] = /^(\d{1,9})-(\d{1,9})$/.exec(text ?? "") ?? [];
  if (from === undefined || to === undefined) return null;
  const range = { from: Math.max(1, Number(from)), to: Number(to) };
  return range.from <= range.to ? range : null;
}

/** The address of the state: `before` with what the page sets; what is usual is not in it. */
export function address(state: PageState, before: URLSearchParams = new URLSearchParams()): URLSearchParams {
  const query = new URLSearchParams(before);
  const set = (name: string, value: string | null) => (value === null ? query.delete(name) : query.set(name, value));
  set("at", state.chosen && state.at > 0 && !state.following ? String(state.at) : null);
  set("view", state.view === "turns" ? null : state.view);
  set("panel", state.panel === "timeline" ? null : state.panel);
  set("range", state.range === null ? null : `${state.range.from}-${state.range.to}`);
  return query;
}

/** The text that was looked for as it is written at a place: upper and lower case are the same to the search. */
export function asWritten(hit: Pick<RunHit, "quote">, text: string): string[] {
  const at = hit.quote.toLowerCase().indexOf(text.toLowerCase());
  return at < 0 ? [] : [hit.quote.slice(at, at + text.length)];
}
