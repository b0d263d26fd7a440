// What is around every page: the bar, the palette, the keys, and what is said when nothing answers.
import assert from "node:assert/strict";
import { test } from "node:test";

import { alone, noted, open, runNamed, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";
import { answered, ended, runOf, start } from "./support/programs.ts";
import { requests } from "./support/scenes.ts";
import { recordSpans } from "./support/spans.ts";

test("the palette finds runs and pages and does what the page can do, by keys alone", async () => {
  const { page, problems } = await open("/across");
  await page.getByRole("heading", { level: 1 }).first().waitFor({ state: "attached" });
  await page.keyboard.press("/");
  const palette = page.getByRole("dialog", { name: "Find or do anything" });
  await palette.getByRole("option", { name: /Approvals/ }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.keyboard.type("photo_desk");
  await palette.getByRole("option", { name: /photo_desk/ }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/[0-9a-f]{32}/);
  await page.goto(`${URL_OF_COLLECTOR}/`);
  await page.getByRole("link", { name: "rail_desk" }).first().waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("columns");
  await palette.getByRole("option", { name: /Choose columns/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Columns" }).waitFor();
  assert.deepEqual(problems, []);
});

test("a run is found by a part of its id", async () => {
  const run = await runNamed("tour_desk");
  const { page } = await open("/");
  await page.getByRole("button", { name: "Find or do anything" }).click();
  await page.keyboard.type(run.slice(-8));
  await page.getByRole("option", { name: new RegExp(`tour_desk.*${run.slice(-8)}`) }).waitFor();
});

test("there is one box that / goes to", async () => {
  const { page } = await open("/");
  await page.getByRole("combobox", { name: "Filter runs" }).waitFor();
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Filter runs");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
});

test("that nothing answers is said once, is tried by itself, and goes away", async () => {
  const { page } = await open("/", {}, alone);
  await page.getByRole("link", { name: "rail_desk" }).first().waitFor();
  await page.context().setOffline(true);
  await page.getByRole("combobox", { name: "Filter runs" }).fill("agent:triage");
  await page.keyboard.press("Enter");
  const notice = page.getByText("The collector does not answer since");
  await notice.waitFor();
  await page.getByText("Not loaded: the runs").waitFor();
  assert.equal(await page.getByRole("alert").filter({ hasText: /\S/ }).count(), 1);
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.context().setOffline(false);
  await notice.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "triage", exact: true }).first().waitFor();
  await page.getByText("Not loaded").first().waitFor({ state: "detached" });
});

test("a page that was opened while nothing answers is there when something does", async () => {
  let isUp = false;
  let asked = 0;
  let hangs = (): void => undefined;
  const isTried = new Promise<void>((resolve) => { hangs = resolve; });
  const { page } = await open("/", {}, (page) => page.route("**/api/v1/**", (route) => {
    if (isUp) return route.continue();
    const isTry = route.request().url().endsWith("/session") && (asked += 1) > 1;
    // What the page tries by itself never has an answer, so that only the button brings one.
    return isTry ? hangs() : route.abort();
  }));
  await page.getByText("The collector does not answer since").waitFor();
  await isTried;
  isUp = true;
  await page.getByRole("button", { name: "Try now" }).click();
  await page.getByRole("link", { name: "rail_desk" }).first().waitFor();
});

test("what Postgres could not answer is asked for again by itself", async () => {
  let isAway = true;
  const error = { code: "store_unavailable", message: "Postgres does not answer: see that it runs, and try again" };
  const { page } = await open("/", {}, (page) => page.route(/\/api\/v1\/runs\?/, (route) =>
    isAway ? route.fulfill({ status: 503, json: { error } }) : route.continue()));
  await page.getByText("Error 503 instead of the runs").waitFor();
  isAway = false;
  await page.getByRole("link", { name: "rail_desk" }).first().waitFor();
  await page.getByText("Error 503").first().waitFor({ state: "detached" });
});

test("a text is copied on plain HTTP, where browsers give pages no clipboard", async () => {
  await requests();
  const { page } = await open("/approvals", {}, (page) => page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined })));
  await page.getByRole("article").first().waitFor();
  const copied = await noted(page, "button", "Copied");
  await page.getByRole("button", { name: /^[0-9a-f]{8}…[0-9a-f]{6}$/ }).first().click();
  await copied();
});

test("a message is drawn as Markdown with its pictures, as text or as JSON, and nothing is loaded from other hosts", async () => {
  const run = await runNamed("photo_desk");
  const elsewhere: string[] = [];
  const { page } = await open(`/runs/${run}`, {}, async (page) => {
    page.on("request", (request) => !request.url().startsWith(URL_OF_COLLECTOR) && !request.url().startsWith("data:") && elsewhere.push(request.url()));
  });
  const picture = page.getByRole("img", { name: /^Image in the message: image\/png/ }).first();
  await picture.waitFor();
  assert.equal(await picture.evaluate((image) => (image as HTMLImageElement).naturalWidth), 320);
  const answer = page.getByRole("cell", { name: "Tuesday to Sunday" });
  await answer.waitFor(); // a table
  await page.getByText("https://maps.example.com/mine.png").first().waitFor();
  await page.getByText("<b>no HTML</b>").first().waitFor();
  assert.equal(await page.locator('a[href*="example.com"], img[src*="example.com"]').count(), 0);
  assert.deepEqual(await violationsInBothThemes(page), []);
  const shown = page.getByRole("group", { name: "Show as" }).last();
  await shown.getByRole("button", { name: "Text" }).click();
  await page.getByText("## What the photo shows", { exact: false }).last().waitFor();
  await answer.waitFor({ state: "detached" });
  await shown.getByRole("button", { name: "JSON" }).click();
  await page.getByText('"role": "assistant"').waitFor();
  assert.deepEqual(elsewhere, []);
});

// After all tests that look for a run among the newest ones.
test("all runs are listed, however many there are", async () => {
  await recordSpans("crowd", 320);
  for (;;) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs/overview?agent=crowd`);
    if (((await answer.json()) as { runs: number }).runs === 320) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const { page } = await open("/?agent=crowd&sort=started");
  const totals = page.getByRole("region", { name: "Of all that meet the conditions" });
  await totals.getByText("320", { exact: true }).waitFor();
  await page.getByText(/of 320 runs are loaded/).waitFor();
  assert.ok((await page.locator("tbody tr:not([aria-hidden])").count()) < 100, "only rows in view are drawn");
  await page.waitForFunction(() => {
    const main = document.querySelector("main");
    main?.scrollTo(0, main.scrollHeight);
    return main?.textContent?.includes("All 320 runs.");
  });
  await page.getByRole("main").evaluate((main) => main.scrollTo(0, main.scrollHeight));
  await page.locator("tr[aria-rowindex='321']").waitFor();
});

test("the page of storage counts contents by what they are, and lists the largest", async () => {
  const { page, problems } = await open("/");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("link", { name: "Storage" }).click();
  await page.getByRole("heading", { level: 1, name: "Storage" }).waitFor();
  const kinds = page.getByRole("region", { name: "Contents by what they are" });
  await kinds.getByRole("cell", { name: "user message", exact: true }).waitFor();
  await page.getByText(/times as much$/).waitFor();
  await page.getByText("no limit", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Contents by tier" }).getByRole("cell", { name: "hot" }).waitFor();
  await page.getByRole("region", { name: "What goes when" }).getByText(/hot; no policy: runs are kept for ever$/).waitFor();
  const largest = page.getByRole("region", { name: "The largest contents" });
  await largest.getByRole("link").first().waitFor();
  await largest.getByRole("combobox", { name: "Only" }).selectOption("checkpoint");
  await page.waitForURL("**/storage?kind=checkpoint");
  assert.deepEqual(await violationsInBothThemes(page), []);
  assert.deepEqual(problems, []);
});

test("the page of storage fits a narrow window", async () => {
  const { page } = await open("/storage", { viewport: { width: 390, height: 900 } });
  await page.getByRole("region", { name: "Tables" }).waitFor();
  const { wide, shown } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    shown: document.documentElement.clientWidth,
  }));
  assert.equal(wide, shown);
  const main = page.getByRole("main", { name: "Storage" });
  assert.ok(await main.evaluate((element) => element.scrollWidth <= element.clientWidth));
  assert.deepEqual(await violationsInBothThemes(page), []);
});

test("the page of the project says what it sent today, and that it has no limit", async () => {
  const { page, problems } = await open("/");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("link", { name: "Project" }).click();
  await page.getByRole("heading", { level: 1, name: "Project" }).waitFor();
  await page.getByText(/^\d[\d,.]* spans and log events, \d[\d,.]* bytes$/).waitFor();
  assert.equal(await page.getByText("no limit", { exact: true }).count(), 3);
  assert.equal(await page.getByRole("combobox", { name: /Show the runs of/ }).count(), 0); // without an operator's key
  assert.deepEqual(await violationsInBothThemes(page), []);
  assert.deepEqual(problems, []);
});

test("the page of the project shows its scorers, and what is masked", async () => {
  const headers = { "content-type": "application/json" };
  const api = (method: string, path: string, body?: object) =>
    fetch(`${URL_OF_COLLECTOR}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const rule = { fails_if: [{ output_empty: true }] };
  assert.ok((await api("PUT", "/scorers/empty", { kind: "rule", rule, enabled: false })).ok);
  assert.ok((await api("PUT", "/project/redaction", { keys: ["iban"], patterns: { order: "O-[0-9]{6}" } })).ok);
  try {
    const { page, problems } = await open("/project");
    const scorer = page.getByRole("region", { name: "Scorers" }).getByRole("row", { name: /empty/ });
    await scorer.getByRole("rowheader", { name: "empty (off)" }).waitFor();
    await scorer.getByRole("cell", { name: "rule, version 1" }).waitFor();
    await scorer.getByRole("cell", { name: "0 by sample, 0 by budget" }).waitFor();
    const masked = page.getByRole("region", { name: "Redaction" });
    await masked.getByText("iban", { exact: true }).waitFor();
    await masked.getByText("order: O-[0-9]{6}", { exact: true }).waitFor();
    await masked.getByText("not called", { exact: true }).waitFor();
    assert.deepEqual(await violationsInBothThemes(page), []);
    assert.deepEqual(problems, []);
  } finally {
    await api("DELETE", "/scorers/empty");
    await api("PUT", "/project/redaction", {});
  }
});

test("texts that turn around, are HTML, have no spaces or are very long leave every page as it is", async () => {
  const program = start("PLAYHEAD_UI_ODD");
  const run = await runOf(program);
  assert.equal(await ended(program), 0);
  await answered<{ status: string }>(`/runs/${run}`, ({ status }) => status !== "running");
  const paths = [`/runs/${run}`, `/runs/${run}?panel=waterfall`, `/runs/${run}?view=conversation`, `/compare/${run}/${await runNamed("tour_desk")}`];
  for (const width of [1440, 390])
    for (const path of paths) {
      const { page, problems } = await open(path, { viewport: { width, height: 900 } });
      const isCompared = path.startsWith("/compare");
      await page.getByText("nospaces").first().waitFor();
      await (isCompared ? page.getByRole("region", { name: "Run A" }).getByText("more tags") : page.getByRole("region", { name: "Verdict" }).getByText("LookupError")).first().waitFor();
      if (path === paths[0] && width > 620) {
        await page.getByRole("article").getByText("kkkk").first().waitFor();
        const where = await Promise.all(["Verdict", "Saw"].map((name) => page.getByRole("region", { name }).boundingBox()));
        for (const box of where) assert.ok(box !== null && box.y < 800 && box.width > 500, JSON.stringify(where));
      }
      // Names stand in labels and titles, too.
      const turned = await page.evaluate(() => {
        const texts = [...document.querySelectorAll("*")].flatMap((each) => [...each.childNodes, ...each.attributes].filter((node) => !(node instanceof Element)));
        return texts.filter((node) => node.nodeValue?.includes("\u202e")).map((node) => node.nodeValue?.slice(0, 80));
      });
      assert.deepEqual(turned, [], path);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, `${path} scrolls sideways at ${width} px`);
      assert.ok(await page.evaluate(() => document.body.textContent?.length ?? 0) < 200_000, `all of a text is in ${path}`);
      assert.deepEqual(problems, []);
    }
});
