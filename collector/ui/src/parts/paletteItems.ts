// What the palette offers for what was written. Pure.
import type { RunSummary } from "../api/types";
import type { PageAction } from "./actions";

/** A line of the palette: an act, or an address of this UI. `about` stands beside it, `group` above the first of its group. */
export type PaletteItem = { group: string; label: string; about: string; key: string | null } & (
  { run: () => void } | { href: string }
);

/** At most so many runs. */
export const SHOWN_RUNS = 8;

/** Whether a text can be a run's id, or a part of one. */
export const isIdPart = (text: string): boolean => /^[0-9a-f]{4,32}$/.test(text);

export type Offered = {
  actions: readonly PageAction[];
  frame: readonly PageAction[];
  pages: readonly { href: string; label: string }[];
  runs: readonly Pick<RunSummary, "run" | "name" | "started" | "session" | "user">[];
};

/** Acts of the page first, then runs, pages, and what can be looked for. Every word that was written has to be in a label. */
export function paletteItems(written: string, { actions, frame, pages, runs }: Offered): PaletteItem[] {
  const text = written.trim();
  const act =
    (group: string) =>
    (each: PageAction): PaletteItem => ({
      group,
      label: each.label,
      about: "",
      key: each.key ?? null,
      run: each.run,
    });
  return [
    ...actions.filter((each) => hasWords(each.label, text)).map(act("On this page")),
    ...runs.slice(0, SHOWN_RUNS).map((each): PaletteItem => ({
      group: text === "" ? "Newest runs" : "Runs",
      label: each.name ?? "unnamed",
      about: [each.run.slice(-8), each.session, each.user].filter((part) => part !== null).join(" · "),
      key: null,
      href: `/runs/${each.run}`,
    })),
    ...(text === "" ? [] : looks(text)),
    ...pages
      .filter((each) => hasWords(each.label, text))
      .map((each): PaletteItem => ({ group: "Pages", label: each.label, about: "", key: null, href: each.href })),
    ...frame.filter((each) => hasWords(each.label, text)).map(act("Playhead")),
  ];
}

function looks(text: string): PaletteItem[] {
  const asked = encodeURIComponent(text);
  const item = (label: string, href: string): PaletteItem => ({
    group: "Look for it",
    label,
    about: `“${text}”`,
    key: null,
    href,
  });
  return [
    item("List the runs that have it in their name, session, user, agents or tags", `/?text=${asked}`),
    item("Search all that was said in any run", `/search?for=texts&q=${asked}`),
    item("Search the calls of this tool", `/search?tool=${asked}`),
  ];
}

function hasWords(label: string, text: string): boolean {
  const lower = label.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
