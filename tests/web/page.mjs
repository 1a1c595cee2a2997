// Opens pages of `lamella page` in a browser without a network, uses them as people do, and asserts what is to be seen.
//
//     node page.mjs BROWSER < JOBS
//
// A job is a line of JSON: {scenario, page, facts}. For each it prints one such line: what failed, console errors, and all that was
// requested. One browser serves all of them.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { scenarios } from "./page_scenarios.mjs";

const browser = await chromium.launch({
  executablePath: process.argv[2],
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});

async function open(seen, options) {
  const { address, hash = "", ready = true, ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, ...rest });
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  page.on("dialog", (dialog) => {
    seen.errors.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => seen.requests.push(request.url().slice(0, 60)));
  await page.goto(address + (hash ? `#${hash}` : ""));
  if (ready) await page.waitForSelector("html[data-ready]", { timeout: 20000 });
  return page;
}

// Brings a section up. Sections fill themselves when they come near, which moves those below, at a time that depends on the machine:
// so all are filled first, as for printing, and what is brought up then stays where it is.
const section = (page, id) =>
  page.evaluate((at) => new Promise((done) => {
    for (const type of ["beforeprint", "afterprint"]) dispatchEvent(new Event(type));
    let [rests, last] = [0, NaN];
    const step = () => {
      document.getElementById(at).scrollIntoView();
      rests = scrollY === last ? rests + 1 : 0;
      last = scrollY;
      if (rests < 4) requestAnimationFrame(() => requestAnimationFrame(step));
      else done();
    };
    step();
  }), id);

const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));

// The colour of a pixel of a canvas, at CSS pixels from its corner.
const pixel = (page, selector, x, y) =>
  page.evaluate(([s, px, py]) => {
    const canvas = document.querySelector(s);
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const [r, g, b] = canvas.getContext("2d").getImageData(Math.round(px * scale), Math.round(py * scale), 1, 1).data;
    return `rgb(${r}, ${g}, ${b})`;
  }, [selector, x, y]);

for await (const line of createInterface({ input: process.stdin })) {
  const { scenario, page: address, facts } = JSON.parse(line);
  const seen = { failed: [], errors: [], requests: [], passed: 0 };
  const tools = { open: (options = {}) => open(seen, { address, ...options }), section, settle, pixel, assert, facts };
  for (const [name, run] of Object.entries(scenarios[scenario])) {
    try {
      await run(tools);
      seen.passed++;
    } catch (error) {
      seen.failed.push(`${name}: ${error.stack.split("\n").slice(0, 12).join("\n")}`);
    }
    for (const context of browser.contexts()) await context.close();
  }
  console.log(JSON.stringify(seen));
}
await browser.close();
