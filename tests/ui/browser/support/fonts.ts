// Pictures are drawn in faces that the tests bring, so that they look the same on every machine.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { Page } from "playwright-core";

const FACES = { Inter: "inter/files/inter-latin-wght-normal.woff2", "JetBrains Mono": "jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2" };

/** The faces that the style sheet names first are there from the page's beginning. */
export async function withFonts(page: Page): Promise<void> {
  const require = createRequire(import.meta.url);
  for (const [family, file] of Object.entries(FACES)) {
    const data = readFileSync(require.resolve(`@fontsource-variable/${file}`)).toString("base64");
    await page.addInitScript(
      ([family, data]) => {
        const bytes = Uint8Array.from(atob(data ?? ""), (letter) => letter.charCodeAt(0));
        document.fonts.add(new FontFace(family ?? "", bytes, { weight: "100 900" }));
      },
      [family, data],
    );
  }
}
