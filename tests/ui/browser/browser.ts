// A real browser: an installed Chromium, or the one that @sparticuz/chromium carries.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { after, afterEach } from "node:test";

import carried from "@sparticuz/chromium";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** The collector that the tests ask; tests/ui/test_browser.py starts it. */
export const URL_OF_COLLECTOR = process.env.PLAYHEAD_UI_URL ?? "";
const INSTALLED = "/usr/bin/chromium";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Those of the carried Chromium keep all of it in one process, which takes twice the time of the processor.
const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none", "--hide-scrollbars"];
const QUIET = ["--disable-quic", "--disable-background-networking", "--disable-component-update"];

let browser: Browser | null = null;
afterEach(async () => {
  // A page that is not looked at any more goes on drawing, and following streams.
  await Promise.all(browser?.contexts().map((context) => context.close()) ?? []);
});
after(() => browser?.close());

/** A page at an address of the UI, after `prepare`. What goes wrong in it ends up in `problems`. */
export async function open(path: string, options: BrowserContextOptions = {}, prepare?: (page: Page) => Promise<unknown>): Promise<{ page: Page; problems: string[] }> {
  browser ??= await chromium.launch({
    executablePath: existsSync(INSTALLED) ? INSTALLED : await carried.executablePath(),
    args: [...ARGUMENTS, ...QUIET],
  });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "dark", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await prepare?.(page);
  await page.goto(URL_OF_COLLECTOR + path);
  return { page, problems };
}

/** What axe finds, a line each. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe;
    return (await axe.run()).violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`);
  });
  return found;
}

/** What axe finds in the page as it is, in each theme. */
export async function violationsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await violations(page)).map((each) => `${colorScheme}: ${each}`));
  }
  return found;
}

/** A run of this name, by the API. */
export async function runNamed(name: string): Promise<string> {
  const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?limit=100`);
  const found = ((await answer.json()) as { items: { run: string; name: string }[] }).items.find((run) => run.name === name);
  if (found === undefined) throw new Error(`no run ${name}`);
  return found.run;
}
