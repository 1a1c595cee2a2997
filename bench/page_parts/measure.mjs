// What a page costs a browser that draws in software: time to the first picture, frames a second, memory.
//
//     node measure.mjs BROWSER PAGE.html [--foreign]
//
// Prints one JSON object. --foreign: a page of another tool, of which only loading, memory and scrolling are measured.
import { resolve } from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../tests/web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [browserPath, file, foreign] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: browserPath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-precise-memory-info"],
});
const out = {};

async function opened() {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const begin = Date.now();
  await page.goto(pathToFileURL(resolve(file)).href, { waitUntil: "load", timeout: 120000 });
  if (!foreign) await page.waitForSelector("html[data-ready]", { timeout: 120000 });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return [page, Date.now() - begin];
}

// Steps an animation a frame at a time: how long each took, in milliseconds.
const frames = (page, step, count) =>
  page.evaluate(([code, n]) => new Promise((done) => {
    const act = new Function("i", code);
    const times = [];
    let last = 0;
    let i = 0;
    const next = (now) => {
      if (last) times.push(now - last);
      last = now;
      if (i++ === n) return done(times);
      act(i);
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  }), [step, count]);

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const summary = (times) => ({ fps: Math.round(1000 / (times.reduce((a, b) => a + b, 0) / times.length)), worst_ms: Math.round(Math.max(...times)) });

const firsts = [];
for (let run = 0; run < 3; run++) {
  const [page, took] = await opened();
  firsts.push(took);
  await page.close();
}
out.first_paint_ms = median(firsts);
const [page] = await opened();
if (foreign) {
  out.rows = await page.evaluate(() => document.querySelectorAll("svg rect, canvas").length);
  out.scroll = summary(await frames(page, "scrollTo(0, (i % 2) * 40)", 60));
} else {
  const key = (name) => `document.querySelector("#inside canvas").dispatchEvent(new KeyboardEvent("keydown", { key: ${name}, bubbles: true }))`;
  await page.evaluate(() => document.getElementById("inside").scrollIntoView());
  await page.waitForTimeout(500);
  out.zoom = summary(await frames(page, key('i <= 20 ? "w" : "s"'), 40));
  await frames(page, key('"w"'), 4);
  out.pan = summary(await frames(page, key('i % 40 < 20 ? "d" : "a"'), 80));
  out.scroll = summary(await frames(page, 'document.querySelector("#inside .scroller").scrollTop += 97', 80));
  await page.evaluate(() => document.getElementById("build").scrollIntoView());
  await page.waitForTimeout(300);
  await page.keyboard.press("f");
  await page.waitForTimeout(300);
  out.build_pan = summary(await frames(page, key('i <= 6 ? "w" : i % 40 < 20 ? "d" : "a"'), 80));
}
const session = await page.context().newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
const { usedSize } = await session.send("Runtime.getHeapUsage");
const memory = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
out.heap_mb = Math.round(Math.max(usedSize, memory) / 1e6);
const buffers = (await session.send("Runtime.getHeapUsage")).backingStorageSize;
if (buffers) out.buffers_mb = Math.round(buffers / 1e6);
await browser.close();
console.log(JSON.stringify(out));
