// Opens a page of Phoenix and writes a picture of it: node picture.mjs URL FILE, in a folder with the two packages.
import chromium from "@sparticuz/chromium";
import { chromium as browsers } from "playwright-core";

const [url, file] = process.argv.slice(2);
const browser = await browsers.launch({
  args: [...chromium.args, "--no-proxy-server"],
  executablePath: await chromium.executablePath(),
  headless: true,
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
  await page.goto(url, { waitUntil: "networkidle", timeout: 90_000 });
  await page.getByText("You are the support agent").first().waitFor({ timeout: 60_000 });
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
