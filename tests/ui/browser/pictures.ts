// Pictures of the pages, for the README and to look at: python -m tests.ui.pictures
import { test } from "node:test";

import { open, runNamed, URL_OF_COLLECTOR } from "./browser.ts";

const FOLDER = process.env.PLAYHEAD_UI_PICTURES ?? ".";
const WIDTH = Number(process.env.PLAYHEAD_UI_WIDTH ?? 1440);

for (const colorScheme of ["dark", "light"] as const)
  test(`pictures, ${colorScheme}`, async () => {
    const options = { colorScheme, viewport: { width: WIDTH, height: 900 } };
    const run = await runNamed("support");
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1/runs?limit=100`);
    const runs = ((await answer.json()) as { items: { run: string; fork_of: string | null; errors: number }[] }).items;
    const fork = runs.find((each) => each.fork_of !== null && each.errors > 0);
    const pages = { runs: "/", run: `/runs/${run}?at=20`, compare: `/compare/${fork?.fork_of}/${fork?.run}` };
    for (const [name, path] of Object.entries(pages)) {
      const { page } = await open(path, options);
      if (name === "run") {
        await page.getByRole("region", { name: "Why this step" }).getByText("2 * 89 = 178").waitFor();
        await page.getByRole("tabpanel").getByText("Since the call").waitFor();
      } else if (name === "compare") await page.getByText("Where they part").waitFor();
      else await page.getByRole("link", { name: "support" }).first().waitFor();
      await page.waitForLoadState("domcontentloaded");
      await page.screenshot({ path: `${FOLDER}/${name}-${colorScheme}-${WIDTH}.png` });
      await page.close();
    }
  });
