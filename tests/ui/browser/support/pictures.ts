// Pictures of the pages, for the README and to look at: make ui-pictures
import { writeFileSync } from "node:fs";
import { before, test } from "node:test";

import { open, URL_OF_COLLECTOR } from "./browser.ts";
import { withFonts } from "./fonts.ts";
import { decoded, small } from "./png.ts";
import { MAIN, requests, type Scene, STATES, VIEWS } from "./scenes.ts";

const FOLDER = process.env.PLAYHEAD_UI_PICTURES ?? ".";
const WIDTHS = (process.env.PLAYHEAD_UI_WIDTHS ?? "1440,900,390").split(",").map(Number);
const ONLY = (process.env.PLAYHEAD_UI_SCENES ?? "").split(",").filter(Boolean);
const COLOURS = 256;
/** Pages of this width or less have no panel and no list of turns beside the turn. */
const NARROW = 620;
const LONGEST_MS = 150_000;

const scenes = Object.entries<Scene>({ ...MAIN, ...VIEWS, ...STATES }).filter(([name]) => ONLY.length === 0 || ONLY.includes(name));

/** Sealed runs are indexed in the background. */
before(async () => {
  await requests();
  if (!scenes.some(([name]) => name.startsWith("search"))) return;
  const end = Date.now() + LONGEST_MS;
  while (Date.now() < end) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/search/decisions?source=invented`);
    if (((await answer.json()) as { items: unknown[] }).items.length > 0) return;
    await new Promise((done) => setTimeout(done, 250));
  }
});

for (const colorScheme of ["dark", "light"] as const)
  for (const width of WIDTHS)
    for (const [name, scene] of scenes.filter(([, scene]) => width > NARROW || scene.isWide !== true))
      test(`${name}, ${colorScheme}, ${width}`, { timeout: 40_000 }, async () => {
        const { page } = await open(await scene.path(), { colorScheme, viewport: { width, height: 900 } }, async (page) => {
          page.setDefaultTimeout(10_000);
          await page.addInitScript(() => localStorage.clear()); // what another scene pinned
          await withFonts(page);
          await scene.before?.(page);
        });
        try {
          await scene.ready(page);
          await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))));
        } finally {
          writeFileSync(`${FOLDER}/${name}-${colorScheme}-${width}.png`, small(decoded(await page.screenshot()), COLOURS));
          await page.close();
        }
      });
