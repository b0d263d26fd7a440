import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

import { alone, open, URL_OF_COLLECTOR, violationsInBothThemes } from "./support/browser.ts";

const started: ChildProcessWithoutNullStreams[] = [];
after(() => started.forEach((agent) => agent.kill("SIGKILL")));

/** What other programs ask over HTTP. */
async function asked(key: string, kind: string, more: object): Promise<string> {
  const id = createHash("md5").update(key).digest("hex");
  const headers = { "content-type": "application/json" };
  const opened = await fetch(`${URL_OF_COLLECTOR}/api/v1/promises`, { method: "POST", headers, body: JSON.stringify({ id, kind, key, ...more }) });
  assert.equal(opened.status, 200);
  return id;
}

const answered = async (id: string) => ((await (await fetch(`${URL_OF_COLLECTOR}/api/v1/promises/${id}`)).json()) as { answer: Record<string, unknown> | null }).answer;

test("a run that asks is announced, is answered here, and goes on", async () => {
  const { page, problems } = await open("/approvals");
  await page.getByText("No run waits for").waitFor();
  const agent = spawn(process.env.PLAYHEAD_UI_PYTHON ?? "python", [process.env.PLAYHEAD_UI_ASKING ?? ""], { env: { ...process.env, PLAYHEAD_ENDPOINT: URL_OF_COLLECTOR } });
  started.push(agent);
  const lines = createInterface(agent.stdout);
  const request = page.getByRole("article", { name: "delete 3 files" });
  await request.getByText("risk: high").waitFor();
  await request.getByText(/b\.log/).waitFor();
  await request.getByRole("link", { name: /cleaner/ }).waitFor();
  await page.getByRole("link", { name: /Approvals\s*\d+ open/ }).waitFor();
  await request.getByLabel("Your name").fill("eve");
  await request.getByLabel("Reason").fill("keep b.log");
  const denied = once(lines, "line");
  await request.getByRole("button", { name: "Deny" }).click();
  await request.getByText("denied by eve").waitFor();
  assert.match(String((await denied)[0]), /^denied: .*keep b\.log/);
  const question = page.getByRole("article", { name: "Which branch?" });
  await question.getByText('expected: {"type":"string"}').waitFor();
  await question.getByLabel("Answer").fill("main");
  const line = once(lines, "line");
  await question.getByRole("button", { name: "Answer" }).click();
  assert.equal(String((await line)[0]), "branch: main");
  await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
  assert.deepEqual(problems.filter((line) => !line.includes("404")), []);
});

test("nobody answers without a name", async () => {
  const id = await asked("unsigned", "approval", { action: "sign the letter" });
  const { page } = await open("/approvals", {}, alone); // a browser that knows no name yet
  const request = page.getByRole("article", { name: "sign the letter" });
  await request.getByLabel("Your name").fill("   ");
  await request.getByRole("button", { name: "Approve" }).click();
  await request.getByRole("alert").getByText("Write your name first").waitFor();
  assert.equal(await answered(id), null);
  await page.keyboard.type("ann"); // the field has the focus
  await request.getByRole("button", { name: "Approve" }).click();
  await request.getByText(/approved by ann/).waitFor();
  assert.equal((await answered(id))?.by?.toString().trim(), "ann");
});

test("a change is shown as what goes and what comes, and keys go to the buttons", async () => {
  await asked("change", "approval", { name: "edit_file", action: "run edit_file", details: { path: "shop/prices.py", old: "total * discount", new: "total * (1 - discount)" } });
  const { page } = await open("/approvals");
  const request = page.getByRole("article", { name: "run edit_file" });
  await request.getByRole("heading", { name: "May it run edit_file on shop/prices.py?" }).waitFor();
  await request.getByRole("group", { name: "The change" }).locator("ins", { hasText: "(1 - " }).waitFor();
  await request.getByRole("button", { name: "JSON" }).click();
  await request.getByText('"old": "total * discount"').waitFor();
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("d");
  assert.match((await page.evaluate(() => document.activeElement?.textContent)) ?? "", /^Deny/);
});

test("a second answer shows the first, which counts", async () => {
  const id = await asked("nightly", "approval", { action: "drop the table", risk: "low" });
  let mayHear = true;
  const { page } = await open("/approvals", {}, (page) => page.route(/\/promises\?/, async (route) => {
    const answer = await route.fetch().catch(() => null); // null: the page was closed meanwhile
    return mayHear && answer !== null ? route.fulfill({ response: answer }) : undefined;
  }));
  const request = page.getByRole("article", { name: "drop the table" });
  await request.getByRole("button", { name: "Approve" }).waitFor();
  const headers = { "content-type": "application/json" };
  mayHear = false; // not of what others answer
  await fetch(`${URL_OF_COLLECTOR}/api/v1/promises/${id}`, { method: "POST", headers, body: JSON.stringify({ outcome: "denied", by: "bob", reason: "not now" }) });
  await request.getByLabel("Your name").fill("eve");
  await request.getByRole("button", { name: "Approve" }).click();
  // Both stay: whoever answered too late reads it beside the answer that counts.
  await request.getByRole("status").getByText("denied by bob").waitFor();
  await request.getByRole("alert").getByText("bob has denied it already").waitFor();
  assert.equal((await answered(id))?.outcome, "denied");
});

test("an event is brought with a value, and what is no JSON is refused before it is sent", async () => {
  const id = await asked("order-1", "event", { name: "payment", schema: { type: "object" } });
  const { page } = await open("/approvals");
  const request = page.getByRole("article", { name: "payment" });
  await request.getByLabel("Your name").fill("eve");
  await request.getByLabel("Answer").fill("paid");
  await request.getByRole("button", { name: "Answer" }).click();
  await request.getByRole("alert").getByText("This is no JSON. Expected: object.").waitFor();
  await request.getByLabel("Answer").fill('{"cents": 8900}');
  await request.getByRole("button", { name: "Answer" }).click();
  await request.getByText(/^answered .*at .* with \{"cents":8900\}$/).waitFor();
  assert.deepEqual((await answered(id))?.value, { cents: 8900 });
});

test("axe finds nothing in the inbox", async () => {
  await asked("axe", "approval", { action: "send 200 letters", risk: "high", details: { to: ["a", "b"] } });
  await asked("axe input", "input", { action: "Which one?", schema: { enum: ["first", "second"] } });
  const { page } = await open("/approvals");
  await page.getByRole("article", { name: "send 200 letters" }).first().waitFor();
  await page.getByRole("article", { name: "Which one?" }).getByRole("button", { name: "second" }).first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
});
