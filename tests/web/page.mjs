// Opens pages of `lamella page` in a browser without a network, uses them as people do, and asserts what is to be seen.
//
//     node page.mjs BROWSER SCENARIO PAGE.html [FACTS.json]
//
// Prints one JSON object: what failed, console errors, and all that was requested.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { scenarios } from "./page_scenarios.mjs";

const [browserPath, scenario, file, facts] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: browserPath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
const seen = { failed: [], errors: [], requests: [], passed: 0 };

async function open(options = {}) {
  const { hash = "", ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, ...rest });
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  page.on("dialog", (dialog) => {
    seen.errors.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => seen.requests.push(request.url().slice(0, 60)));
  await page.goto(pathToFileURL(resolve(file)).href + (hash ? `#${hash}` : ""));
  await page.waitForSelector("html[data-ready]", { timeout: 20000 });
  return page;
}

// Sections fill themselves when they come near, which moves those below: this brings one near until it rests.
async function section(page, id) {
  for (let rests = 0, last = NaN; rests < 3; ) {
    const top = await page.evaluate((at) => {
      document.getElementById(at).scrollIntoView();
      return scrollY;
    }, id);
    await settle(page);
    rests = top === last ? rests + 1 : 0;
    last = top;
  }
}

const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60)))));

// The colour of a pixel of a canvas, at CSS pixels from its corner.
const pixel = (page, selector, x, y) =>
  page.evaluate(([s, px, py]) => {
    const canvas = document.querySelector(s);
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const [r, g, b] = canvas.getContext("2d").getImageData(Math.round(px * scale), Math.round(py * scale), 1, 1).data;
    return `rgb(${r}, ${g}, ${b})`;
  }, [selector, x, y]);

const tools = { open, section, settle, pixel, assert, facts: facts ? JSON.parse(readFileSync(facts, "utf8")) : null, save: writeFileSync };
for (const [name, run] of Object.entries(scenarios[scenario])) {
  try {
    await run(tools);
    seen.passed++;
  } catch (error) {
    seen.failed.push(`${name}: ${error.stack.split("\n").slice(0, 12).join("\n")}`);
  }
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
console.log(JSON.stringify(seen));
