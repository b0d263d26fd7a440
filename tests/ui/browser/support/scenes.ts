// What is drawn: pages with what must be on them before they are looked at.
import { createHash } from "node:crypto";

import type { Page } from "playwright-core";

import { once, runNamed, URL_OF_COLLECTOR } from "./browser.ts";
import { answered, runOf, start } from "./programs.ts";

/**
 * `before` runs before the page is opened, `ready` on the open page: it does what is left to do, and waits. `isWide`: what
 * it shows is not on narrow pages.
 */
export type Scene = { isWide?: boolean; path: () => string | Promise<string>; before?: (page: Page) => Promise<unknown>; ready: (page: Page) => Promise<unknown> };

type Summary = { run: string; fork_of: string | null; errors: number; outcome: { word: string }; happened: { kind: string } | null };

/** First suspects are found in the background, after the runs have ended. */
const suspected = once(async () => {
  await answered<{ items: Summary[] }>("/runs?limit=100", ({ items }) => items.every((run) => run.outcome.word !== "failed" || run.happened?.kind === "suspect"), 150_000);
});

async function asked<T>(path: string): Promise<T> {
  return (await (await fetch(`${URL_OF_COLLECTOR}/api/v1${path}`)).json()) as T;
}

/** A failed trial and the one that succeeded. */
async function trials(): Promise<[string, string]> {
  return [await runNamed("rail_desk", "failed"), await runNamed("rail_desk", "succeeded")];
}

let waiting = "";
const asksNow = once(async () => {
  waiting = await runOf(start("PLAYHEAD_UI_CHANGE"));
  await answered<{ outcome: { word: string } }>(`/runs/${waiting}`, ({ outcome }) => outcome.word === "waiting");
});
/** A run that waits for an approval, as long as the tests run. */
const waitingRun = async () => (await asksNow(), waiting);

type Event = { seq: number; kind: string; refs: Record<string, string>; data: { name?: string } };

/** A content that an event of a run names. */
async function contentOf(run: string, is: (event: Event) => boolean, name: string): Promise<string> {
  const { items } = await asked<{ items: Event[] }>(`/runs/${await runNamed(run)}/events?limit=200`);
  return `/content/${items.find((event) => is(event) && name in event.refs)?.refs[name]}`;
}

/** What programs wait for: asked once, whoever asks again. */
export async function requests(): Promise<void> {
  const all = [
    { key: "picture 1", kind: "approval", action: "delete 3 files", risk: "high", details: { files: ["a.log", "b.log", "c.log"], because: "they are older than 30 days" } },
    { key: "picture 2", kind: "input", action: "Which branch shall be released?", schema: { enum: ["main", "stable"] } },
    { key: "order-4471", kind: "event", name: "payment", schema: { type: "object", properties: { cents: { type: "integer" } } } },
  ];
  for (const { key, kind, ...more } of all) {
    const id = createHash("md5").update(key).digest("hex");
    const headers = { "content-type": "application/json" };
    await fetch(`${URL_OF_COLLECTOR}/api/v1/promises`, { method: "POST", headers, body: JSON.stringify({ id, kind, key, ...more }) });
  }
}

const text = (page: Page, words: string | RegExp) => page.getByText(words).first().waitFor();
const at = (name: string, more = "") => async () => `/runs/${await runNamed(name)}${more === "" ? "" : `?${more}`}`;
const failed = (more = "") => async () => `/runs/${await runNamed("rail_desk", "failed")}${more === "" ? "" : `?${more}`}`;
const turn = (page: Page, number: number) => page.getByRole("article", { name: `Turn ${number}` });
const verdict = (page: Page) => page.getByRole("region", { name: "Verdict" });
/** The verdict has its suspects, and the turn is there with what followed. */
const isRead = async (page: Page, number: number) => {
  await verdict(page).getByText("First suspect").first().waitFor();
  await turn(page, number).getByRole("region", { name: "State" }).waitFor();
  await turn(page, number).getByRole("region", { name: "Why" }).getByText("all its causes").waitFor(); // asked for after what was recorded
};
const RAIL_TURN = 7;
/** An act of a turn; on narrow pages it is in the menu of the run. */
const act = async (page: Page, name: string) => {
  const here = turn(page, RAIL_TURN).getByText(name);
  if (await here.isVisible()) return here.click();
  await page.getByRole("button", { name: "More about this run" }).click();
  await page.getByRole("button", { name }).last().click();
};

/** The main page of each kind, as somebody meets it. */
export const MAIN: Record<string, Scene> = {
  runs: {
    path: async () => (await suspected(), "/"),
    ready: async (page) => (await page.locator("tbody a").first().waitFor(), await page.getByRole("img", { name: /runs, .* failed, between/ }).waitFor()),
  },
  run: {
    path: failed(),
    ready: async (page) => {
      await isRead(page, RAIL_TURN);
      await turn(page, RAIL_TURN).getByRole("region", { name: "Why" }).waitFor();
      await turn(page, RAIL_TURN).getByRole("region", { name: "Answered" }).locator("strong").first().waitFor(); // the Markdown is drawn
    },
  },
  "run-compression": {
    path: at("tour_desk", "at=27"),
    ready: async (page) => {
      await turn(page, 6).getByText("SALT-7741-QX").first().waitFor();
      await turn(page, 6).getByRole("region", { name: "Compressed" }).getByText("turn 4").waitFor(); // its context before
      await isRead(page, 6);
    },
  },
  compare: {
    path: async () => `/compare/${(await trials()).join("/")}`,
    ready: async (page) => {
      await page.getByRole("row", { selected: true }).waitFor();
      await page.getByRole("group", { name: "Run B there" }).locator("mark").first().waitFor();
      await page.getByRole("group", { name: "Run A there" }).locator("li").first().waitFor(); // as Markdown
      await page.getByRole("group", { name: "Run B there" }).locator("li").first().waitFor();
    },
  },
  content: {
    path: () => contentOf("support", (event) => event.kind === "llm_called" && event.seq > 10, "thread"),
    ready: async (page) => {
      await page.getByRole("region", { name: "Messages" }).getByText("Order A1001").first().waitFor();
      await page.getByRole("region", { name: "Runs that had it" }).getByRole("link").first().waitFor();
    },
  },
  across: {
    path: () => "/across?agent=triage",
    ready: async (page) => {
      await text(page, "Compression and outcome");
      await page.getByRole("region", { name: "What came of them" }).getByText("refund").waitFor();
    },
  },
  approvals: { path: async () => (await requests(), "/approvals"), ready: (page) => page.getByRole("article", { name: "payment" }).waitFor() },
};

/** Other pages, views and dialogs. */
export const VIEWS: Record<string, Scene> = {
  "runs-filter": {
    path: () => "/?agent=support_agent&status=completed",
    ready: async (page) => (await page.locator("tbody a").first().waitFor(), await page.keyboard.press("/"), await page.keyboard.type("t"), await page.getByRole("option").first().waitFor()),
  },
  "run-crashed": {
    path: at("release_check"),
    ready: async (page) => (await verdict(page).getByText(/TimeoutError/).waitFor(), await turn(page, 3).getByRole("region", { name: "Raised" }).waitFor(), await turn(page, 3).getByRole("region", { name: "State" }).waitFor()),
  },
  "run-waiting": {
    path: async () => `/runs/${await waitingRun()}`,
    ready: async (page) => (await verdict(page).getByRole("group", { name: "The change" }).waitFor(), await turn(page, 3).getByRole("region", { name: "State" }).waitFor()),
  },
  "run-succeeded": {
    path: async () => `/runs/${(await trials())[1]}`,
    ready: async (page) => (await verdict(page).getByText("last answer").waitFor(), await page.getByRole("article").getByRole("region", { name: "State" }).waitFor()),
  },
  "run-not-scored": { path: at("support"), ready: (page) => isRead(page, 3) },
  "run-media": { path: at("photo_desk"), ready: (page) => turn(page, 1).getByRole("region", { name: "State" }).waitFor() },
  "run-conversation": { path: failed("view=conversation"), ready: async (page) => (await page.getByRole("region", { name: "Conversation" }).getByText("The total is €98").waitFor(), await verdict(page).getByText("First suspect").waitFor()) },
  "run-waterfall": { isWide: true, path: at("release_check", "panel=waterfall"), ready: async (page) => (await page.getByRole("tab", { name: "Waterfall", selected: true }).waitFor(), await turn(page, 3).getByRole("region", { name: "State" }).waitFor()) },
  "run-agents": { isWide: true, path: at("release_check", "panel=agents"), ready: async (page) => (await page.getByRole("tab", { name: "Agents", selected: true }).waitFor(), await turn(page, 3).getByRole("region", { name: "State" }).waitFor()) },
  "run-tokens": { isWide: true, path: failed("panel=tokens"), ready: async (page) => (await page.getByRole("tab", { name: "Tokens", selected: true }).waitFor(), await isRead(page, RAIL_TURN)) },
  "run-found": {
    path: failed(),
    ready: async (page) => (await isRead(page, RAIL_TURN), await page.keyboard.press("f"), await page.getByRole("searchbox", { name: "Find in this run" }).fill("RX132"), await page.getByRole("search", { name: "In this run" }).getByText(/\d+ of \d+/).waitFor()),
  },
  "run-saw": {
    path: failed(),
    ready: async (page) => (await isRead(page, RAIL_TURN), await turn(page, RAIL_TURN).getByRole("region", { name: "Saw" }).getByRole("button").first().click(), await turn(page, RAIL_TURN).getByText("You change bookings of a railway").first().waitFor()),
  },
  "ask-again": {
    path: failed(),
    ready: async (page) => (await act(page, "Edit and ask again"), await page.getByRole("heading", { name: "Ask turn 7 again" }).waitFor(), await page.getByRole("region", { name: "Recorded" }).getByText("The total is €98").waitFor()),
  },
  "compare-dialog": { path: failed(), ready: async (page) => (await isRead(page, RAIL_TURN), await page.getByRole("button", { name: "Compare with…" }).click(), await page.getByRole("dialog").getByRole("link").first().waitFor()) },
  "fork-dialog": {
    path: failed(),
    ready: async (page) => (await isRead(page, RAIL_TURN), await act(page, "Fork from here"), await page.getByRole("dialog").locator("pre").waitFor()),
  },
  palette: { path: () => "/", ready: async (page) => (await page.locator("tbody a").first().waitFor(), await page.keyboard.press("Control+K"), await page.getByRole("dialog").waitFor()) },
  keys: { path: () => "/", ready: async (page) => (await page.locator("tbody a").first().waitFor(), await page.keyboard.press("?"), await page.getByRole("dialog").waitFor()) },
  "compare-fork": {
    path: async () => {
      const { items } = await asked<{ items: Summary[] }>("/runs?limit=100");
      const fork = items.find((each) => each.fork_of !== null && each.errors > 0);
      return `/compare/${fork?.fork_of}/${fork?.run}`;
    },
    ready: async (page) => (await page.getByRole("group", { name: "Run B there" }).getByText("TimeoutError").waitFor(), await page.getByRole("button", { name: "State and context there" }).click(), await page.getByRole("table", { name: "States" }).waitFor()),
  },
  calls: {
    path: async () => (await trials()).map((run, n) => `${n === 0 ? "/calls?a=" : "&b="}${run}:35`).join(""),
    ready: (page) => page.getByRole("region", { name: "What they answered" }).locator("del").first().waitFor(),
  },
  "calls-choose": { path: async () => `/calls?a=${(await trials())[0]}:35`, ready: (page) => page.getByRole("combobox", { name: "turn" }).waitFor() },
  "across-choices": { path: () => "/across?agent=triage&show=choices", ready: (page) => page.getByRole("region", { name: "Transitions" }).waitFor() },
  "across-failed": { path: () => "/across?agent=triage&show=failed", ready: (page) => text(page, "LookupError") },
  "across-divergences": { path: () => "/across?agent=triage&show=divergences&task=tag:task:", ready: (page) => page.getByRole("region", { name: "Task task:1" }).waitFor() },
  "across-contents": { path: () => "/across?agent=triage&show=contents", ready: (page) => text(page, "You triage orders") },
  "content-image": { path: () => contentOf("photo_desk", (event) => event.kind === "llm_called", "thread"), ready: (page) => page.getByRole("img", { name: /Image in the message/ }).waitFor() },
  "content-hex": { path: () => contentOf("hostile", (event) => event.kind === "tool_completed", "result"), ready: async (page) => (await page.getByRole("button", { name: "Hex" }).click(), await text(page, "00000010")) },
  "content-json": { path: () => contentOf("support", (event) => event.kind === "tool_called", "arguments"), ready: async (page) => (await page.getByRole("group", { name: "View" }).getByRole("button", { name: "JSON" }).click(), await page.getByRole("region", { name: "Text" }).waitFor()) },
  "content-difference": {
    path: async () => {
      const first = await contentOf("support", (event) => event.kind === "message_added", "message");
      const second = await contentOf("support", (event) => event.kind === "message_added" && event.seq > 5, "message");
      return `${first}?diff=${second.replace("/content/", "")}`;
    },
    ready: (page) => page.getByRole("region", { name: "Difference" }).waitFor(),
  },
  search: { path: () => "/search?source=invented", ready: (page) => page.locator("tbody mark.bad").first().waitFor() },
  "search-texts": { path: () => "/search?for=texts&q=lamp", ready: (page) => page.locator("blockquote mark").first().waitFor() },
};

const silent = (path: string | RegExp) => (page: Page) => page.route(path, () => new Promise(() => undefined));

/** Nothing there, not there yet, or not to be had. */
export const STATES: Record<string, Scene> = {
  "state-no-such-page": { path: () => "/compare/one", ready: (page) => text(page, "There is no such page") },
  "state-no-such-run": { path: () => `/runs/${"0".repeat(32)}`, ready: (page) => text(page, "there is no run") },
  "state-no-runs-meet": { path: () => "/?user=nobody", ready: (page) => text(page, /[Nn]o run/) },
  "state-no-answer": { path: () => "/", before: (page) => page.route("**/api/v1/runs?*", (route) => route.abort()), ready: (page) => text(page, "Not loaded") },
  "state-loading-run": { isWide: true, path: failed(), before: silent(/\/(turns|verdict|suspects)/), ready: (page) => text(page, "Loading the turns") },
  "state-turn-fails": { path: failed(), before: (page) => page.route(/\/turns\/\d+/, (route) => route.fulfill({ status: 500, json: { error: { message: "the collector failed at this request" } } })), ready: (page) => text(page, "Error 500 instead of") },
  "state-no-decisions": { path: () => "/search?tool=no_such_tool", ready: (page) => text(page, "No decisions meet") },
  "state-no-runs-across": { path: () => "/across?agent=nobody", ready: (page) => text(page, "No run that has ended") },
  "state-no-content": { path: () => `/content/sha256:${"0".repeat(64)}`, ready: (page) => text(page, "instead of the content") },
  "state-no-comparison": { path: async () => `/compare/${await runNamed("support")}/${"0".repeat(32)}`, ready: (page) => text(page, "instead of the comparison") },
};
