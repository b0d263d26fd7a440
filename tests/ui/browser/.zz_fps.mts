import { open } from "/work/wt/ui-panel/tests/ui/browser/support/browser.ts";
const { page, problems } = await open(`/runs/${process.argv[2]}?at=1`);
const t0 = Date.now();
await page.getByRole("slider", { name: "Playhead" }).waitFor({ timeout: 60000 });
const t1 = Date.now();
await page.waitForTimeout(8000);
const room = (await page.getByRole("slider", { name: "Playhead" }).boundingBox())!;
const frames = page.evaluate(() => new Promise<number[]>((done) => { const all: number[] = []; let last = performance.now(); const step = () => { const now = performance.now(); all.push(now - last); last = now; if (all.length < 150) requestAnimationFrame(step); else done(all); }; requestAnimationFrame(step); }));
await page.mouse.move(room.x + 10, room.y + 8); await page.mouse.down();
for (let n = 0; n < 150; n++) { await page.mouse.move(room.x + 10 + (n * 8) % (room.width - 20), room.y + 8); await page.waitForTimeout(8); }
await page.mouse.up();
const all = (await frames).slice(5).sort((a, b) => a - b);
console.log("slider after", t1 - t0, "ms; frames: median", all[Math.floor(all.length / 2)].toFixed(1), "p95", all[Math.floor(all.length * 0.95)].toFixed(1), "max", all.at(-1)!.toFixed(1), problems.slice(0, 3));
await page.screenshot({ path: "/tmp/p7.png" });
process.exit(0);
