// What is drawn: pages with what must be on them before they are looked at.
import { createHash } from "node:crypto";

import type { Page } from "playwright-core";

import { runNamed, URL_OF_COLLECTOR } from "./browser.ts";

/** `before` runs before the page is opened, `ready` on the open page: it does what is left to do, and waits. */
export type Scene = { path: () => string | Promise<string>; before?: (page: Page) => Promise<unknown>; ready: (page: Page) => Promise<unknown> };

type Summary = { run: string; name: string; fork_of: string | null; errors: number };

async function asked<T>(path: string): Promise<T> {
  return (await (await fetch(`${URL_OF_COLLECTOR}/api/v1${path}`)).json()) as T;
}

/** A fork that failed, compared with the run that it is a fork of. */
async function failedFork(): Promise<string> {
  const { items } = await asked<{ items: Summary[] }>("/runs?limit=100");
  const fork = items.find((each) => each.fork_of !== null && each.errors > 0);
  return `/compare/${fork?.fork_of}/${fork?.run}`;
}

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
const at = (name: string, more: string) => async () => `/runs/${await runNamed(name)}?${more}`;
const why = (page: Page) => page.getByRole("region", { name: "Why this step" });
const state = (page: Page) => page.getByRole("region", { name: "State" }).getByText("tool_calls").first().waitFor();
/** Messages of the context are there, and what they were compared with. */
const messages = (page: Page) => page.getByRole("tabpanel").getByRole("link", { name: "content" }).first().waitFor();

/** The main page of each kind, as somebody meets it. */
export const MAIN: Record<string, Scene> = {
  runs: { path: () => "/", ready: (page) => page.getByRole("link", { name: "support" }).first().waitFor() },
  run: {
    path: at("support", "at=20"),
    ready: async (page) => {
      await why(page).getByText("2 * 89 = 178").waitFor();
      await page.getByRole("tabpanel").getByText("Since the call").waitFor();
      await page.getByRole("tabpanel").getByText("kept").waitFor();
      await state(page);
    },
  },
  "run-compression": {
    path: at("forgetful", "at=20&panel=compression"),
    ready: async (page) => {
      await text(page, "asked again");
      await state(page);
    },
  },
  compare: { path: failedFork, ready: async (page) => (await page.getByRole("table", { name: "States" }).waitFor(), await text(page, "No model was called up to here")) },
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

/** Other panels, views and dialogs. */
export const VIEWS: Record<string, Scene> = {
  "runs-peek": {
    path: async () => `/?peek=${await runNamed("support")}`,
    ready: (page) => page.getByRole("complementary", { name: "Run" }).getByText("look_up_order").waitFor(),
  },
  "runs-filter": {
    path: () => "/?agent=support_agent&status=completed",
    ready: async (page) => (await page.getByRole("link", { name: "support" }).first().waitFor(), await page.keyboard.press("/"), await page.keyboard.type("t"), await page.getByRole("option").first().waitFor()),
  },
  "run-collapsed": {
    path: at("review", "at=12"),
    ready: async (page) => (await messages(page), await page.getByRole("treeitem", { name: /reviewer/ }).nth(1).locator(".twist").click(), await page.getByRole("button", { name: /^results|^user/ }).first().click()),
  },
  "run-compression-inline": {
    path: at("forgetful", "at=20&panel=compression"),
    ready: async (page) => (await page.getByRole("button", { name: "inline" }).click(), await page.getByText(/stands for message/).first().hover(), await state(page)),
  },
  "run-tokens": { path: at("support", "at=20&panel=tokens"), ready: async (page) => (await text(page, "Whole run:"), await state(page)) },
  "run-event": { path: at("support", "at=20&panel=event"), ready: async (page) => (await text(page, "tool_failed"), await state(page)) },
  "run-focus": {
    path: at("support", "at=28&focus=12-32"),
    ready: async (page) => {
      await Promise.all([state(page), messages(page), why(page).getByText("What else was open").waitFor()]);
      await page.getByRole("button", { name: "Pin tool_calls" }).click();
      await page.locator('[aria-label="Pinned keys"][aria-busy="false"]').getByRole("img", { name: "tool_calls over the run: 0 to 4" }).waitFor();
      await page.getByRole("button", { name: "by time" }).click();
    },
  },
  "run-invented": { path: at("forgetful", "at=18"), ready: async (page) => (await page.getByRole("treeitem", { name: /send_item/ }).click(), await why(page).getByText("LMP-9999").first().waitFor(), await why(page).getByText("What else was open").waitFor(), await messages(page)) },
  "run-same-message": {
    path: at("support", "at=24"),
    ready: async (page) => {
      await Promise.all([state(page), why(page).getByText("What else was open").waitFor(), page.getByRole("tabpanel").getByText("kept").waitFor()]);
      await page.locator('.msg[data-kind="user"]').first().hover();
      await page.getByRole("group", { name: "The same message elsewhere" }).getByText("in 5 calls").waitFor();
    },
  },
  "run-long-texts": { path: at("hostile", "at=6&panel=event"), ready: async (page) => (await state(page), await text(page, "13 events"), await page.keyboard.press("End"), await text(page, "after event 13"), await page.locator(".chg").getByText("completed").waitFor(), await page.getByRole("tabpanel").getByText("run_completed").first().waitFor()) },
  "run-nested": { path: at("review", "at=12"), ready: async (page) => (await messages(page), await text(page, "llm_calls")) },
  "fork-dialog": {
    path: at("support", "at=28"),
    ready: async (page) => (await state(page), await page.getByRole("button", { name: "Fork from here" }).click(), await page.getByRole("dialog").locator("pre").waitFor()),
  },
  "test-dialog": {
    path: at("broken", "at=2"),
    ready: async (page) => (await page.getByRole("button", { name: "Copy as test" }).click(), await page.getByRole("dialog").getByRole("alert").waitFor()),
  },
  keys: { path: () => "/", ready: async (page) => (await page.getByRole("link", { name: "support" }).first().waitFor(), await page.keyboard.press("?"), await page.getByRole("dialog").waitFor()) },
  "across-choices": { path: () => "/across?agent=triage&show=choices", ready: (page) => page.getByRole("region", { name: "Transitions" }).waitFor() },
  "across-failed": { path: () => "/across?agent=triage&show=failed", ready: (page) => text(page, "LookupError") },
  "across-divergences": { path: () => "/across?agent=triage&show=divergences&task=tag:task:", ready: (page) => page.getByRole("region", { name: "Task task:1" }).waitFor() },
  "across-contents": { path: () => "/across?agent=triage&show=contents", ready: (page) => text(page, "You triage orders") },
  "content-hex": { path: () => contentOf("hostile", (event) => event.kind === "tool_completed", "result"), ready: async (page) => (await page.getByRole("button", { name: "Hex" }).click(), await text(page, "00000010")) },
  "content-json": { path: () => contentOf("support", (event) => event.kind === "tool_called", "arguments"), ready: async (page) => (await page.getByRole("button", { name: "JSON" }).click(), await page.getByRole("region", { name: "Text" }).waitFor()) },
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

const silent = (path: string) => (page: Page) => page.route(path, () => new Promise(() => undefined));

/** Nothing there, not there yet, or not to be had. */
export const STATES: Record<string, Scene> = {
  "state-no-such-page": { path: () => "/compare/one", ready: (page) => text(page, "There is no such page") },
  "state-no-such-run": { path: () => `/runs/${"0".repeat(32)}`, ready: (page) => page.getByRole("alert").waitFor() },
  "state-no-runs-meet": { path: () => "/?user=nobody", ready: (page) => text(page, "No run meets") },
  "state-no-answer": { path: () => "/", before: (page) => page.route("**/api/v1/runs?*", (route) => route.abort()), ready: (page) => page.getByRole("alert").waitFor() },
  "state-loading-runs": { path: () => "/", before: silent("**/api/v1/runs?*"), ready: (page) => page.getByText("Loading runs").waitFor() },
  "state-loading-run": { path: at("support", "at=20"), before: silent(/\/(context|state|attributions|decisions|diff)/ as unknown as string), ready: (page) => text(page, "Loading the context") },
  "state-loading-events": { path: at("support", "at=20"), before: silent("**/events?*"), ready: async (page) => (await text(page, "events loaded"), await text(page, "Loading the event")) },
  "state-panels-fail": { path: at("support", "at=20"), before: (page) => page.route(/\/(context|state|attributions|decisions)/, (route) => route.abort()), ready: (page) => page.getByRole("alert").first().waitFor() },
  "state-no-decisions": { path: () => "/search?tool=no_such_tool", ready: (page) => text(page, "No decisions meet") },
  "state-no-runs-across": { path: () => "/across?agent=nobody", ready: (page) => text(page, "No run that has ended") },
  "state-no-call-yet": { path: at("support", "at=2"), ready: async (page) => (await text(page, "no model was called"), await state(page)) },
  "state-no-content": { path: () => `/content/sha256:${"0".repeat(64)}`, ready: (page) => page.getByRole("alert").waitFor() },
  "state-not-live": {
    path: at("waiting", "at=2"),
    before: (page) => page.route("**/api/v1/**", (route) => (route.request().resourceType() === "eventsource" ? route.abort() : route.continue())),
    ready: async (page) => {
      await page.getByRole("treeitem").first().waitFor();
      await state(page);
      await page.getByRole("status").getByText("not live").waitFor();
    },
  },
};
