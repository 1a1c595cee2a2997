// Pictures of a page for the documents.
//
//     node screenshots.mjs BROWSER PAGE.html DIRECTORY [program]     of a build, or of a program that builds nothing
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [browserPath, file, directory, kind = "build"] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: browserPath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
const pictures = kind === "program" ? [["page-callers", "at=calls&fns=prime", "light", 1200, 620]] : [
  ["page-build", "at=build", "light", 1200, 860],
  ["page-inside", "at=inside&order=cpu&rows=large&time=unit", "light", 1200, 860],
  ["page-phases", "at=phases", "dark", 1200, 760],
  ["page-stacks", "at=stacks", "light", 1200, 760],
];
for (const [name, hash, colorScheme, width, height] of pictures) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  await page.goto(`${pathToFileURL(resolve(file)).href}#${hash}`);
  await page.waitForSelector("html[data-ready]");
  await page.waitForTimeout(2000); // sections above have filled themselves, and the one that is wanted rests
  await page.screenshot({ path: join(directory, `${name}.png`) });
  await page.close();
}
await browser.close();
