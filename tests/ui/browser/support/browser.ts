// A real browser: an installed Chromium, or the one that @sparticuz/chromium carries. All tests share it.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach } from "node:test";

import carried from "@sparticuz/chromium";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** The collector that the tests ask; tests/ui/test_browser.py starts it. */
export const URL_OF_COLLECTOR = process.env.PLAYHEAD_UI_URL ?? "";
const INSTALLED = "/usr/bin/chromium";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Those of the carried Chromium keep all of it in one process, which takes twice the time of the processor.
const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none", "--hide-scrollbars"];
const QUIET = ["--disable-quic", "--disable-background-networking", "--disable-component-update"];

/** What a page is waited for; what comes does so in a moment, unless the machine stands still. */
const LONGEST_MS = 60_000;

let browser: Browser | null = null;
// Pages of one context share what was loaded and compiled.
const contexts = new Map<string, Promise<BrowserContext>>();
const openPages: Page[] = [];
const own: BrowserContext[] = [];
afterEach(async () => {
  // A page that is not looked at any more goes on drawing, and following streams.
  await Promise.all([...openPages.splice(0).map((page) => page.close()), ...own.splice(0).map((context) => context.close())]);
});
after(() => browser?.close());

/** What a page that nothing is prepared in says to get a context of its own: to be cut off, or without a cache. */
export const alone = async (): Promise<void> => undefined;

/** A page at an address of the UI, after `prepare`, in a context of its own then. What goes wrong in it ends up in `problems`. */
export async function open(path: string, options: BrowserContextOptions = {}, prepare?: (page: Page) => Promise<unknown>): Promise<{ page: Page; problems: string[] }> {
  browser ??= await chromium.launch({
    executablePath: existsSync(INSTALLED) ? INSTALLED : await carried.executablePath(),
    args: [...ARGUMENTS, ...QUIET],
  });
  const page = await (await context(browser, options, prepare !== undefined)).newPage();
  openPages.push(page);
  page.setDefaultTimeout(LONGEST_MS);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await prepare?.(page);
  await page.goto(path.startsWith("http") ? path : URL_OF_COLLECTOR + path);
  return { page, problems };
}

async function context(browser: Browser, options: BrowserContextOptions, isOwn: boolean): Promise<BrowserContext> {
  const made = () => browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "dark", reducedMotion: "reduce", timezoneId: "UTC", acceptDownloads: true, ...options });
  if (isOwn) {
    own.push(await made());
    return own.at(-1) as BrowserContext;
  }
  const key = JSON.stringify(options);
  const known = contexts.get(key) ?? made();
  contexts.set(key, known);
  return known;
}

/** What axe finds, a line each. `rules`: only these. */
async function violations(page: Page, rules: string[] | null): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  return page.evaluate(async (rules) => {
    const axe = (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe;
    const options = { resultTypes: ["violations"], ...(rules === null ? {} : { runOnly: rules }) };
    return (await axe.run(options)).violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`);
  }, rules);
}

/** What axe finds in the page as it is, in each theme: a theme has other colours, and nothing else. */
export async function violationsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = (await violations(page, null)).map((each) => `dark: ${each}`);
  await page.emulateMedia({ colorScheme: "light" });
  found.push(...(await violations(page, ["color-contrast"])).map((each) => `light: ${each}`));
  await page.emulateMedia({ colorScheme: "dark" });
  return found;
}

/** Notes from now on whether an element of this kind has had this text, however soon it goes away. Returns what waits for it. */
export async function noted(page: Page, selector: string, text: string): Promise<() => Promise<unknown>> {
  await page.evaluate(([selector, text]) => {
    const isThere = () => [...document.querySelectorAll(selector ?? "")].some((each) => each.textContent === text);
    const watch = new MutationObserver(() => {
      if (!isThere()) return;
      watch.disconnect();
      document.body.dataset.noted = text;
    });
    watch.observe(document.body, { subtree: true, childList: true, characterData: true });
  }, [selector, text]);
  return () => page.waitForFunction((text) => document.body.dataset.noted === text, text);
}

/** Does it when it is first asked for, and never again. */
export function once(does: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () => (done ??= does());
}

type Listed = { run: string; name: string; outcome: { word: string } };

/** The newest run of this name, with this outcome if one is given, by the API. */
export async function runNamed(name: string, outcome?: string): Promise<string> {
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?limit=100&text=${encodeURIComponent(name)}`);
  const { items } = (await answer.json()) as { items: Listed[] };
  const found = items.find((run) => run.name === name && (outcome === undefined || run.outcome.word === outcome));
  if (found === undefined) throw new Error(`no run ${name} ${outcome ?? ""}`);
  return found.run;
}
