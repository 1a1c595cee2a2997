// What is done with a page, by scenario and name. Facts come from `lamella report --format json` of the same recording.
const GUTTER = (width) => (width < 560 ? Math.round(width * 0.26) : Math.min(260, Math.round(width * 0.17)));
const RULER = 24;

const near = (assert, got, wanted, slack, what) => assert.ok(Math.abs(got - wanted) <= slack, `${what}: ${got}, wanted ${wanted}`);
const text = (page, selector) => page.evaluate((s) => document.querySelector(s)?.textContent ?? "", selector);
const view = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

// A stretch of time in the fragment, once it is as it should be: the address follows some time after things have come to rest.
async function stretch(assert, page, name, right, what) {
  let last = null;
  for (const end = Date.now() + 20000; Date.now() < end; await page.waitForTimeout(50)) {
    last = (await view(page))[name]?.split("_").map(Number) ?? null;
    if (last && right(...last)) return last;
  }
  return assert.fail(`${what}: ${name} is ${last}`);
}

const box = (page, selector) => page.locator(selector).first().boundingBox();

// Milliseconds, microseconds, seconds and minutes as the page writes them, in seconds.
export function seconds(shown) {
  const minutes = /^(\d+) min (\d+) s$/.exec(shown);
  if (minutes) return Number(minutes[1]) * 60 + Number(minutes[2]);
  const [, number, unit] = /^([\d. ]+) (s|ms|µs)$/.exec(shown) ?? [];
  return Number(number?.replaceAll(" ", "")) * { s: 1, ms: 1e-3, "µs": 1e-6 }[unit];
}

// Fills all sections at once, as printing does.
async function everything(page, settle) {
  await page.evaluate(() => ["beforeprint", "afterprint"].forEach((type) => dispatchEvent(new Event(type))));
  await settle(page);
}

// Where the page puts a moment of the build, with this stretch of it in view.
async function place(page, selector, t, from, to) {
  const canvas = await box(page, selector);
  const gutter = GUTTER(canvas.width);
  return gutter + ((t - from) / (to - from)) * (canvas.width - gutter);
}

// The longest span of the serial thread of the unit that used most.
function knownBand(facts) {
  const unit = facts.units.findIndex((u) => u.unit === facts.band.unit && u.pid === facts.band.pid);
  const length = facts.band.end_s - facts.band.start_s;
  return { ...facts.band, row: unit, from: Math.max(0, facts.band.start_s - length), to: facts.band.end_s + length };
}

const swatch = (page, phase) => page.evaluate((key) => document.querySelector(`.phases-legend button[data-phase="${key}"] .swatch`).style.background, phase);

const build = {
  async figures_are_the_reports({ open, section, settle, assert, facts }) {
    const page = await open();
    assert.equal(await text(page, "#answer h2"), facts.session.command);
    const lead = await text(page, ".lead");
    near(assert, seconds(/ took (.+?)(?: and used|\. )/.exec(lead)[1]), facts.session.elapsed_s, facts.session.elapsed_s * 0.01, "elapsed");
    near(assert, Number(/cover ([\d.]+)%/.exec(lead)[1]) / 100, facts.coverage.ratio, 0.0006, "coverage");
    const findings = await page.evaluate(() => [...document.querySelectorAll(".finding")].map((f) => [f.dataset.finding, f.querySelector(".words").textContent]));
    assert.deepEqual(findings, facts.findings.map((f) => [f.id, f.text]));
    await section(page, "phases");
    const shown = await page.evaluate(() => {
      document.querySelector("#phases details").open = true;
      return new Promise((done) => setTimeout(() => done([...document.querySelectorAll("#phases details tbody tr")].map((tr) => [...tr.children].map((c) => c.textContent))), 50));
    });
    const wanted = new Map(facts.phases.map((p) => [`${p.segment} ${p.phase} ${p.detail ?? "(no finer detail)"}`, p]));
    const details = shown.filter((row) => row[2] !== "all");
    assert.equal(details.length, facts.phases.filter((p) => p.cpu_s > 0).length);
    for (const [segment, phase, detail, cpu, samples] of details) {
      const row = wanted.get(`${segment} ${phase} ${detail}`);
      assert.ok(row, `${segment} ${phase} ${detail} is in the report`);
      near(assert, Number(cpu), row.cpu_s, 0.0006, `CPU of ${segment} ${phase} ${detail}`);
      assert.equal(samples, String(row.samples).replace(/\B(?=(\d{3})+$)/g, " "));
    }
    await settle(page);
  },

  // Each finding leads to where it shows.
  async findings_lead_to_the_charts({ open, assert, facts }) {
    const page = await open();
    const links = await page.evaluate(() => document.querySelectorAll(".finding button.link").length);
    if (facts.findings.length === 0) return;
    assert.ok(links > 0, "findings have links");
    await page.click(".finding button.link");
    await page.waitForFunction(() => /at=\w+/.test(location.hash));
    const at = (await view(page)).at;
    await page.waitForFunction((id) => Math.abs(document.getElementById(id).getBoundingClientRect().top) < 200, at);
  },

  // Sections above fill themselves and push down the one that a link leads to, without a scroll.
  async the_section_that_is_read_is_marked({ open, settle }) {
    const page = await open({ hash: "at=phases" });
    await page.waitForFunction(() => Math.abs(document.getElementById("phases").getBoundingClientRect().top) < 200);
    await settle(page);
    await page.waitForFunction(() => [...document.querySelectorAll("nav a[aria-current]")].map((a) => a.hash).join(" ") === "#at=phases");
  },

  // Units at once, processors, memory: as high as the report's figures say, in the colour of areas.
  async the_machine_beside_the_build({ open, section, pixel, assert, facts }) {
    const page = await open();
    await section(page, "build");
    const canvas = "#build .scroller.machine canvas";
    const shade = (name) => page.evaluate((n) => {
      const probe = document.createElement("i");
      probe.style.color = getComputedStyle(document.documentElement).getPropertyValue(n);
      document.body.append(probe);
      return getComputedStyle(probe).color;
    }, name);
    const [area, row] = [await shade("--area"), await shade("--row")];
    // The middle of the longest unit: one runs at least, so the foot of the first band is filled; before the first unit it is not.
    const unit = facts.units.reduce((a, b) => (b.wall_s > a.wall_s ? b : a));
    const elapsed = facts.session.elapsed_s;
    const foot = RULER + 5 + 56 - 2;
    assert.equal(await pixel(page, canvas, await place(page, canvas, (unit.start_s + unit.end_s) / 2, 0, elapsed), foot), area, "a unit runs");
    const first = Math.min(...facts.units.map((u) => u.start_s));
    if (first > elapsed / 200) assert.equal(await pixel(page, canvas, await place(page, canvas, first / 2, 0, elapsed), foot), row, "none runs");
    // Where memory was highest its band is full.
    const peak = facts.timeline.reduce((a, b) => ((b.rss_bytes ?? 0) > (a.rss_bytes ?? 0) ? b : a));
    const at = facts.timeline.indexOf(peak);
    const from = facts.timeline[at - 1]?.t_s ?? 0;
    if (peak.t_s - from > elapsed / 300) assert.equal(await pixel(page, canvas, await place(page, canvas, (from + peak.t_s) / 2, 0, elapsed), RULER + 2 * 66 + 5 + 3), area, "memory at its peak");
    await page.hover(canvas, { position: { x: await place(page, canvas, elapsed / 2, 0, elapsed), y: 60 } });
    await page.waitForSelector(".tip:not([hidden])");
    assert.match(await text(page, ".tip"), /units, running\d/);
  },

  async table_of_units_is_the_reports({ open, section, assert, facts }) {
    const page = await open({ hash: "sort=unit" });
    await section(page, "units");
    const rows = await page.evaluate(() => [...document.querySelectorAll("#units tbody tr")].map((tr) => ({ row: Number(tr.dataset.row), name: tr.querySelector("th").textContent, cells: [...tr.children].map((c) => c.textContent) })));
    const heads = await page.evaluate(() => [...document.querySelectorAll("#units thead th")].map((th) => th.textContent));
    assert.equal(rows.length, facts.units.length);
    for (const { row, name, cells } of rows) {
      const unit = facts.units[row];
      assert.equal(name, unit.unit);
      near(assert, Number(cells[heads.indexOf("wall s")]), unit.wall_s, 0.0006, `wall of ${name}`);
      near(assert, Number(cells[heads.indexOf("CPU s")]), unit.cpu_s, 0.0006, `CPU of ${name}`);
    }
    assert.deepEqual(rows.map((r) => r.name), [...rows.map((r) => r.name)].sort((a, b) => a.localeCompare(b)));
    await page.click("#units thead button:text-is('wall s')");
    await page.waitForFunction(() => document.querySelector('#units th[aria-sort="descending"]')?.textContent === "wall s");
    const walls = await page.evaluate(() => [...document.querySelectorAll("#units tbody tr")].map((tr) => Number(tr.dataset.row)));
    assert.deepEqual(walls, [...walls].sort((a, b) => facts.units[b].wall_s - facts.units[a].wall_s || a - b));
    await page.fill("#units input[type=search]", "rustc wall>0.01");
    const some = facts.units.filter((u) => u.kind === "rustc" && u.wall_s > 0.01).length;
    await page.waitForFunction((n) => document.querySelectorAll("#units tbody tr").length === n, some);
    await page.click("#units tbody tr:first-child");
    await page.waitForFunction(() => document.querySelector("#units tr[aria-selected]") && location.hash.includes("units="));
    assert.match(await text(page, ".chips"), /Selected/);
  },

  async a_known_band_is_where_it_was({ open, section, settle, pixel, assert, facts }) {
    const band = knownBand(facts);
    for (const colorScheme of ["light", "dark"]) {
      const page = await open({ hash: `units=${band.row}&build=${band.from}_${band.to}&rows=large`, colorScheme });
      await section(page, "inside");
      const x = await place(page, "#inside canvas", (band.start_s + band.end_s) / 2, band.from, band.to);
      const y = RULER + 3;
      assert.equal(await pixel(page, "#inside canvas", x, y), await swatch(page, `${band.segment}/${band.phase}`), `the band in ${colorScheme}`);
      const canvas = await box(page, "#inside canvas");
      await page.mouse.move(canvas.x + x, canvas.y + y);
      await page.waitForSelector(".tip:not([hidden])");
      const tip = await text(page, ".tip");
      assert.ok(tip.includes(band.unit) && tip.includes(`${band.segment} › ${band.phase}`), tip);
      near(assert, Number(/from([\d.]+) s/.exec(tip)[1]), band.start_s, 2e-4, "its start");
      assert.equal(Number(/samples([\d ]+),/.exec(tip)[1].replaceAll(" ", "")), band.samples);
      // The lane of the same unit has the segment's colour at that time.
      const lane = facts.units.map((u, i) => [u.start_s, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).findIndex(([, i]) => i === band.row);
      await section(page, "build");
      await page.evaluate((top) => document.querySelector("#build .scroller.build").scrollTo(0, top), lane * 18);
      await settle(page);
      const top = RULER + 2 + lane * 18 - (await page.evaluate(() => document.querySelector("#build .scroller.build").scrollTop));
      const color = await page.evaluate((s) => [...document.querySelectorAll("#build .legend .key")].find((k) => k.textContent === s).querySelector(".swatch").style.background, band.segment);
      const found = new Set();
      for (let i = 1; i < 20; i++) found.add(await pixel(page, "#build .scroller.build canvas", await place(page, "#build .scroller.build canvas", band.start_s + ((band.end_s - band.start_s) * i) / 20, band.from, band.to), top + 6));
      assert.ok(found.has(color), `the lane in ${colorScheme}: ${[...found]}, wanted ${color}`);
    }
  },

  async bands_are_merged_and_said({ open, section, assert }) {
    const page = await open();
    await section(page, "inside");
    await page.waitForFunction(() => document.querySelector("#inside .merged").textContent !== ""); // it is told some frames later
    const said = await text(page, "#inside .merged");
    assert.match(said, /threads?, \d+ of them in view with [\d ]+ spans?\. /);
    assert.match(said, /narrower than a pixel here and merged|None is merged/);
    assert.match(said, /Samples cover/);
  },

  async keyboard_alone({ open, section, assert, facts }) {
    const page = await open();
    await section(page, "inside");
    await page.keyboard.press("w");
    const [a, b] = await stretch(assert, page, "build", (from, to) => Math.abs(to - from - facts.session.elapsed_s * 0.7) < facts.session.elapsed_s * 0.02, "w zooms in");
    await page.keyboard.press("d");
    await stretch(assert, page, "build", (c, d) => c > a && Math.abs(d - c - (b - a)) < 1e-3, "d moves to the right");
    await page.keyboard.press("a");
    await page.keyboard.press("s");
    await page.keyboard.press("f");
    await page.waitForFunction(() => !location.hash.includes("build="));
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.classList.contains("find")), true, "/ goes to the search");
    await page.keyboard.type(facts.units[0].unit.slice(0, 6));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("units="));
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("units="));
    await page.evaluate(() => document.querySelector("#inside canvas").focus());
    await page.keyboard.press("ArrowDown");
    await page.waitForSelector(".tip:not([hidden])");
    await page.keyboard.press("Shift+ArrowRight");
    assert.match(await text(page, ".tip"), /lasted/);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("thread="));
    await page.evaluate(() => document.querySelector("#build .scroller.build canvas").focus());
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("units="));
    // Tab reaches every control that a pointer reaches, and each has a name.
    const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input, select, canvas, [tabindex='0']")].filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label"))).map((e) => e.outerHTML.slice(0, 80)));
    assert.deepEqual(nameless, []);
  },

  async pointer_pans_zooms_and_selects({ open, section, assert, facts }) {
    const page = await open();
    await section(page, "inside");
    const canvas = await box(page, "#inside canvas");
    const gutter = GUTTER(canvas.width);
    const [x, y] = [canvas.x + gutter + (canvas.width - gutter) / 2, canvas.y + 60];
    await page.mouse.move(x, y);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -100);
    await page.keyboard.up("Control");
    await page.waitForFunction(() => location.hash.includes("build="));
    const [a, b] = (await view(page)).build.split("_").map(Number);
    near(assert, (a + b) / 2, facts.session.elapsed_s / 2, facts.session.elapsed_s * 0.01, "it zooms where the pointer is");
    await page.mouse.down();
    await page.mouse.move(x + 100, y, { steps: 4 });
    await page.mouse.up();
    const by = (100 / (canvas.width - gutter)) * (b - a);
    await stretch(assert, page, "build", (c) => Math.abs(a - c - by) <= (b - a) * 0.01, "a drag moves what is under the pointer");
    await page.keyboard.down("Shift");
    await page.mouse.move(x - 150, y);
    await page.mouse.down();
    await page.mouse.move(x + 50, y, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await stretch(assert, page, "range", (from, to) => Math.abs(to - from - 2 * by) <= (b - a) * 0.01, "a range is selected");
    await section(page, "phases");
    assert.match(await text(page, "#phases .scope"), /from [\d.]+ s to/);
    await page.click(".chip button[aria-label^='Clear']");
    await page.waitForFunction(() => !location.hash.includes("range="));
  },

  async touch_moves_and_pinches({ open, section, assert, facts }) {
    const page = await open({ hasTouch: true, viewport: { width: 412, height: 800 } });
    await section(page, "inside");
    const canvas = await box(page, "#inside canvas");
    const session = await page.context().newCDPSession(page);
    const touch = (type, points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, py], id) => ({ x: canvas.x + px, y: canvas.y + py, id })) });
    await touch("touchStart", [[200, 60], [260, 60]]);
    for (const spread of [20, 40, 60]) await touch("touchMove", [[200 - spread, 60], [260 + spread, 60]]);
    await touch("touchEnd", []);
    // 60 pixels became 180: a third of the build is left, and as fingers are taken one after the other a little more or less.
    const third = facts.session.elapsed_s / 3;
    const [a, b] = await stretch(assert, page, "build", (from, to) => Math.abs(to - from - third) < third / 10, "two fingers zoom");
    await touch("touchStart", [[300, 60]]);
    for (const px of [280, 240, 200]) await touch("touchMove", [[px, 60]]);
    await touch("touchEnd", []);
    await stretch(assert, page, "build", (c, d) => c > a && Math.abs(d - c - (b - a)) < 1e-3, "a finger to the left moves on, and does not zoom");
  },

  async a_link_shows_the_same({ open, section, assert, facts }) {
    const band = knownBand(facts);
    const hash = `units=${band.row}&range=${band.start_s.toFixed(3)}_${band.end_s.toFixed(3)}&build=${band.from.toFixed(3)}_${band.to.toFixed(3)}&phase=${encodeURIComponent(`${band.segment}/${band.phase}`)}&time=build&lanes=packed&question=backend`;
    const [first, second] = [await open({ hash }), await open({ hash })];
    for (const page of [first, second]) {
      await section(page, "questions");
      assert.match(await text(page, ".reply"), /back end/);
      await section(page, "inside");
    }
    const image = (page) => page.evaluate(() => document.querySelector("#inside canvas").toDataURL());
    assert.equal(await image(first), await image(second));
    assert.ok((await text(first, ".chips")).includes(facts.units[band.row].unit));
    assert.equal(await first.evaluate(() => document.querySelector("#build .choice button[aria-pressed=true]").textContent), "packed");
  },

  async what_is_selected_drives_the_charts({ open, section, assert, facts }) {
    const band = knownBand(facts);
    const unit = facts.units[band.row];
    const page = await open({ hash: `units=${band.row}` });
    await section(page, "phases");
    const segments = await page.evaluate(() => [...document.querySelectorAll("#phases .line.head")].map((l) => [l.querySelector(".name").textContent, l.querySelector(".number").textContent]));
    for (const [name, shown] of segments) {
      const wanted = unit.phases.filter((p) => p.segment === name).reduce((a, p) => a + p.cpu_s, 0);
      near(assert, seconds(shown), wanted, Math.max(3e-4, wanted * 0.01), `${name} of ${unit.unit}`);
    }
    // Each group of details sums to its phase, and its bars have the phase's colour.
    const groups = await page.evaluate(() => [...document.querySelectorAll(".inside-groups section")].map((s) => ({
      phase: s.dataset.phase, of: s.querySelector(".of").textContent.trim(), shares: [...s.querySelectorAll(".share")].map((e) => parseFloat(e.textContent)),
      colors: [...new Set([...s.querySelectorAll(".bar")].map((e) => e.style.background))],
    })));
    assert.ok(groups.length > 0);
    for (const group of groups) {
      near(assert, group.shares.reduce((a, b) => a + b, 0), 100, group.shares.length * 0.06, `shares inside ${group.phase}`);
      assert.equal(group.colors.length, 1, group.phase);
      assert.equal(group.colors[0], await swatch(page, group.phase));
    }
    await page.click(`.byphase button.name:text-is("${band.phase}")`);
    await page.waitForFunction(() => location.hash.includes("phase="));
    await section(page, "inside");
    assert.equal(await page.evaluate(() => document.querySelector(".phases-legend button[aria-pressed=true]")?.textContent), band.phase);
  },

  async unit_time_lines_units_up({ open, section, pixel, assert, facts }) {
    const band = knownBand(facts);
    const start = facts.units[band.row].start_s;
    const page = await open({ hash: `units=${band.row}&time=unit&unitAxis=${band.from - start > 0 ? band.from - start : 0}_${band.to - start}&rows=large` });
    await section(page, "inside");
    const x = await place(page, "#inside canvas", (band.start_s + band.end_s) / 2 - start, Math.max(0, band.from - start), band.to - start);
    assert.equal(await pixel(page, "#inside canvas", x, RULER + 3), await swatch(page, `${band.segment}/${band.phase}`));
  },

  async questions_are_answered({ open, section, assert }) {
    const page = await open();
    await section(page, "questions");
    for (const id of await page.evaluate(() => [...document.querySelectorAll("[data-question]")].map((b) => b.dataset.question))) {
      await page.click(`[data-question="${id}"]`);
      await page.waitForFunction((q) => document.querySelector(`[data-question="${q}"][aria-pressed=true]`), id);
      assert.ok((await text(page, ".reply p")).length > 10, id);
    }
  },

  async stacks_of_a_selection({ open, section, settle, pixel, assert, facts }) {
    const page = await open();
    if ((await page.evaluate(() => document.getElementById("stacks"))) === null) return assert.fail("the page has stacks");
    await section(page, "stacks");
    const shown = await text(page, "#stacks .scope");
    near(assert, seconds(/: ([\d. ]+ (?:s|ms))/.exec(shown)[1]), facts.coverage.sampled_cpu_s, facts.coverage.sampled_cpu_s * 0.01, "all stacks");
    // A frame has the colour of the phase that most of it was in, and its tip says which, and how much of all it is.
    const frame = await box(page, "#stacks canvas");
    await page.mouse.move(frame.x + 20, frame.y + 19 * 1.5);
    await page.waitForSelector(".tip:not([hidden])");
    const [, share, segment, phase] = /([\d.]+)% of the selection.*mostly(\w+) › (\w+)/.exec(await text(page, ".tip"));
    assert.equal(await pixel(page, "#stacks canvas", 20, 19 * 1.5 - 7), await swatch(page, `${segment}/${phase}`), "the first program's colour");
    const ends = (Number(share) / 100) * frame.width;
    if (ends < frame.width - 8) assert.notEqual(await pixel(page, "#stacks canvas", 20, 19 * 1.5 - 7), await pixel(page, "#stacks canvas", ends + 1.5, 19 * 1.5 - 7), "it ends where its share does");
    await page.mouse.move(0, 0);
    const picture = () => page.evaluate(() => document.querySelector("#stacks canvas").toDataURL());
    const before = await picture();
    for (const way of ["up", "phase", "down"]) {
      await page.click(`#stacks button[data-value=${way}]`);
      await settle(page);
      if (way !== "down") assert.notEqual(await picture(), before, way);
    }
    await page.fill("#stacks input[type=search]", "rustc");
    await page.waitForFunction(() => /is in [\d.]+%/.test(document.querySelector("#stacks .scope").textContent));
    await page.locator("#stacks canvas").click({ position: { x: 30, y: 19 * 2.5 } });
    await page.waitForFunction(() => location.hash.includes("root="));
    await page.keyboard.press("Tab");
    await page.click("#stacks button:text-is('Zoom out')");
    await page.waitForFunction(() => !location.hash.includes("root="));
    await page.evaluate(() => document.querySelector("#stacks canvas").focus());
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.waitForFunction(() => location.hash.includes("root="));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("root="));
  },

  // Those of a unit have its CPU time and go deeper than its program; a stretch of time has a part of it.
  async stacks_of_a_unit({ open, section, assert, facts }) {
    const band = knownBand(facts);
    const unit = facts.units[band.row];
    const page = await open({ hash: `units=${band.row}` });
    await section(page, "stacks");
    const said = () => text(page, "#stacks .scope").then((t) => seconds(/: ([\d.]+ (?:s|ms|µs))/.exec(t)[1]));
    near(assert, await said(), unit.sampled_cpu_s, unit.sampled_cpu_s * 0.01 + 1e-3, `stacks of ${unit.unit}`);
    assert.ok((await box(page, "#stacks canvas")).height > 19 * 5, "they are deep");
    await page.evaluate(([row, a, b]) => (location.hash = `units=${row}&range=${a}_${b}`), [band.row, band.start_s, band.end_s]);
    await page.waitForFunction(() => document.querySelector(".chips").textContent.includes(" s to "));
    assert.ok((await said()) <= unit.sampled_cpu_s, "a part is no more than all");
    assert.ok((await said()) > 0, "and more than nothing");
  },

  async copies_hold_what_is_shown({ open, section, assert, facts }) {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] });
    await section(page, "units");
    await page.click("button:text-is('Copy as CSV')");
    await page.waitForFunction(() => document.querySelector("#units .scope").textContent.startsWith("Copied"));
    const csv = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(csv.trim().split("\n").length, facts.units.length + 1);
    assert.ok(csv.startsWith("unit,kind"));
    await page.click("button:text-is('Copy as Markdown')");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("| unit | kind |"));
  },

  async themes({ open, assert, settle }) {
    const page = await open({ colorScheme: "light" });
    const back = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(await back(), "rgb(255, 255, 255)");
    await page.click(".theme");
    await settle(page);
    assert.equal(await back(), "rgb(20, 23, 28)");
    const dark = await open({ colorScheme: "dark" });
    assert.equal(await dark.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "rgb(20, 23, 28)");
    await dark.emulateMedia({ media: "print" });
  },

  async nothing_overflows({ open, settle, assert }) {
    for (const width of [360, 800, 1300, 3840]) {
      const page = await open({ viewport: { width, height: 900 }, hash: "rows=large" });
      await everything(page, settle);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${width}: the page is ${wide} pixels wider than the window`);
      // Names of bars are cut inside of their column, figures never are.
      const over = await page.evaluate(() => [...document.querySelectorAll(".line .number, .strip > span > span, .facts dd")].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map((e) => e.textContent));
      assert.deepEqual(over, [], `${width}: figures that do not fit`);
    }
  },

  async paper({ open, assert }) {
    const page = await open({ colorScheme: "dark" });
    const pdf = await page.pdf({ format: "A4", printBackground: true });
    assert.ok(pdf.length > 20000, `a PDF of ${pdf.length} bytes`);
  },

  async tables_for_those_who_cannot_see({ open, section, assert, facts }) {
    const page = await open();
    for (const [id, rows] of [["build", facts.units.length], ["inside", null], ["phases", null]]) {
      await section(page, id);
      await page.click(`#${id} details.astable summary`);
      await page.waitForSelector(`#${id} details.astable tbody tr`);
      const found = await page.evaluate((s) => document.querySelectorAll(`#${s} details.astable tbody tr`).length, id);
      assert.ok(rows === null ? found > 3 : found === rows, `${id}: ${found} rows`);
    }
    const unlabelled = await page.evaluate(() => [...document.querySelectorAll("canvas")].filter((c) => c.getAttribute("role") !== "img" || !c.getAttribute("aria-label")).length);
    assert.equal(unlabelled, 0);
  },
};

// Pages that have little in them, or names that somebody made up: they open, say what is missing, and show names as they are.
const opens = {
  async opens({ open, settle, assert, facts }) {
    const page = await open();
    await everything(page, settle);
    const all = await page.evaluate(() => document.body.innerText);
    for (const words of facts.says ?? []) assert.ok(all.includes(words), `the page says: ${words}`);
    for (const words of facts.not ?? []) assert.ok(!all.includes(words), `the page does not say: ${words}`);
    const made = await page.evaluate(() => [...document.querySelectorAll("img, iframe, svg, object, embed, link, base, form")].map((e) => e.outerHTML.slice(0, 80)));
    assert.deepEqual(made, [], "elements that nobody made");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `the page is ${wide} pixels wider than the window`);
  },
};

const compare = {
  async what_moved({ open, section, assert, facts }) {
    const page = await open();
    await section(page, "compare");
    assert.equal(await page.evaluate(() => document.querySelectorAll("#compare canvas").length), 2, "both builds");
    assert.doesNotMatch(await text(page, "#compare"), /middle length/, "one run a side");
    // The same build twice: the same picture, with a selection in one also in the other.
    const pictures = () => page.evaluate(() => [...document.querySelectorAll("#compare canvas")].map((c) => c.toDataURL()));
    const [before, after] = await pictures();
    assert.equal(before, after);
    const canvas = await box(page, "#compare canvas");
    await page.mouse.click(canvas.x + 8, canvas.y + RULER + 10);
    await page.mouse.move(0, 0);
    await page.waitForFunction((was) => [...document.querySelectorAll("#compare canvas")].every((c) => c.toDataURL() !== was), before);
    assert.equal(...(await pictures()));
    const rows = await page.evaluate(() => [...document.querySelectorAll('[data-moved="Phases"] tbody tr')].map((tr) => [...tr.children].map((c) => c.textContent)));
    const wanted = new Map(facts.phases.map((p) => [p.name, p]));
    assert.ok(rows.length > 3);
    for (const [name, before, after] of rows) {
      const row = wanted.get(name);
      assert.ok(row, name);
      if (row.before?.cpu_s) near(assert, seconds(before), row.before.cpu_s, row.before.cpu_s * 0.01 + 1e-6, `${name} before`);
      if (row.after?.cpu_s) near(assert, seconds(after), row.after.cpu_s, row.after.cpu_s * 0.01 + 1e-6, `${name} after`);
    }
    await page.selectOption("#answer select", "1");
    await page.waitForFunction(() => location.hash.includes("recording=1"));
  },
};

const activities = {
  // What programs recorded of themselves is no build that lacks something.
  async no_alarm_and_no_empty_section({ open, section, assert, facts }) {
    const page = await open();
    const said = await text(page, "#answer");
    assert.ok(said.includes(`${facts.intervals.events} events on ${facts.intervals.threads} threads`), said);
    for (const alarm of ["did not see the end", "not measured", "not watched"]) assert.ok(!said.includes(alarm), said);
    const titles = await page.evaluate(() => [...document.querySelectorAll("main h2")].map((h) => h.textContent));
    assert.deepEqual(titles.slice(1), ["Activities", "Flame graph", "Callers and callees", "About these figures"]);
    const told = await text(page, "#about");
    for (const absent of ["0 Hz", "not known", "serial tail", "cores"]) assert.ok(!told.includes(absent), `${absent} in ${told}`);
    await section(page, "activities");
    const colors = await page.evaluate(() => {
      const canvas = document.querySelector("#activities canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const counts = new Map();
      for (let i = 0; i < data.length; i += 4) {
        const key = data[i] | (data[i + 1] << 8) | (data[i + 2] << 16);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      return [...counts.values()].filter((n) => n > 500).length;
    });
    assert.ok(colors >= 2, "intervals are drawn");
    // Names of any length, script and direction: cut to their band and gutter, and whole in the table.
    const names = await page.evaluate(() => [...document.querySelectorAll("#activities > .activities > .scroll-x tbody th")].map((th) => th.textContent));
    assert.ok(names.includes("n".repeat(500)) && names.some((n) => n.includes("أسماء \u{1f600}")), "names, letter for letter");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `the page is ${wide} pixels wider than the window`);
  },
  async sums_and_events({ open, section, assert, facts }) {
    const page = await open();
    await section(page, "activities");
    const table = "#activities > .activities > .scroll-x tbody tr";
    const rows = await page.evaluate((t) => [...document.querySelectorAll(t)].map((tr) => [...tr.children].map((c) => c.textContent)), table);
    const wanted = new Map();
    const sums = facts.activities.some((a) => a.unit === null) ? facts.activities.filter((a) => a.unit === null) : facts.activities;
    for (const a of sums) wanted.set(`${a.label}\n${a.kind}`, (wanted.get(`${a.label}\n${a.kind}`) ?? 0) + a.self_s);
    assert.equal(rows.length, Math.min(60, wanted.size));
    for (const [label, kind, self] of rows) near(assert, seconds(self), wanted.get(`${label}\n${kind}`), wanted.get(`${label}\n${kind}`) * 0.01 + 1e-9, label);
    assert.ok((await text(page, ".lead")).includes(`Most time of their own had ${rows[0][0]} (`), "the answer names the first");
    // The chart has a table of the longest.
    await page.click("#activities details.astable summary");
    await page.waitForSelector("#activities details.astable tbody tr");
    assert.match(await text(page, "#activities details.astable tbody tr"), /^n{500}.*70\.0 ms$/);
  },

  // outer is on the first thread from 0 to 0.9 of each millisecond, and inner inside of it from 0.1 to 0.4.
  async a_known_event_is_where_it_was({ open, section, pixel, assert }) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open({ hash: "build=0_0.002", colorScheme });
      await section(page, "activities");
      const canvas = await box(page, "#activities canvas");
      const hue = async (t, line) => pixel(page, "#activities canvas", await place(page, "#activities canvas", t, 0, 0.002), RULER + line * 15 + 2);
      const back = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      assert.notEqual(await hue(0.0008, 0), back, "outer");
      assert.equal(await hue(0.00095, 0), back, "nothing after outer");
      assert.equal(await hue(0.0018, 0), await hue(0.0008, 0), "the next one of its name");
      assert.notEqual(await hue(0.0003, 1), back, "inner");
      assert.equal(await hue(0.0006, 1), back, "nothing after inner");
      await page.mouse.move(canvas.x + (await place(page, "#activities canvas", 0.0003, 0, 0.002)), canvas.y + RULER + 15 + 7);
      await page.waitForSelector(".tip:not([hidden])");
      const tip = await text(page, ".tip");
      assert.match(tip, /^inner.*from0\.000100 s.*lasted300 µs/);
    }
  },

  async events_are_found({ open, section, settle, pixel, assert }) {
    const page = await open({ hash: "build=0_0.002" });
    await section(page, "activities");
    const outer = async () => pixel(page, "#activities canvas", await place(page, "#activities canvas", 0.0008, 0, 0.002), RULER + 2);
    const before = await outer();
    await page.fill("#activities input[type=search]", "inner");
    await page.waitForFunction(() => location.hash.includes("events=inner") && document.querySelectorAll("#activities > .activities > .scroll-x tbody tr").length === 1);
    await settle(page);
    assert.notEqual(await outer(), before, "what is not called so is faded");
    await page.fill("#activities input[type=search]", "");
    await page.waitForFunction(() => !location.hash.includes("events="));
    // By keys alone: a line down, one event on, all that are called the same.
    await page.evaluate(() => document.querySelector("#activities canvas").focus());
    for (const key of ["ArrowDown", "ArrowDown", "Shift+ArrowRight"]) await page.keyboard.press(key);
    await page.waitForSelector(".tip:not([hidden])");
    assert.match(await text(page, ".tip"), /^inner.*from0\.001100 s/);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("events=inner"));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("events="));
    // A click does the same; w zooms this chart.
    const canvas = await box(page, "#activities canvas");
    await page.mouse.click(canvas.x + (await place(page, "#activities canvas", 0.0008, 0, 0.002)), canvas.y + RULER + 6);
    await page.waitForFunction(() => location.hash.includes("events=outer"));
    await page.keyboard.press("w");
    await page.waitForFunction(() => /build=0\.0003/.test(location.hash));
  },
};

// Facts are of `report --around '*'`: what stands around each function, in the same order and figures.
const callers = {
  async figures_are_the_reports({ open, section, settle, assert, facts }) {
    const page = await open();
    await section(page, "calls");
    const listed = await page.evaluate(() => [...document.querySelectorAll(".call-list tbody tr")].map((tr) => [...tr.children].map((c) => c.textContent)));
    assert.equal(listed.length, Math.min(60, facts.around.length));
    assert.equal(await text(page, "#around-title"), facts.around.reduce((a, b) => (b.self_s > a.self_s ? b : a)).function, "the one with most time of its own comes first");
    for (const wanted of facts.around) {
      const at = await page.evaluate((name) => [...document.querySelectorAll(".call-list button.fn")].findIndex((b) => b.title === name), wanted.function);
      if (at < 0) continue;
      await page.evaluate((i) => document.querySelectorAll(".call-list button.fn")[i].click(), at);
      await page.waitForFunction((name) => document.getElementById("around-title").textContent === name, wanted.function);
      near(assert, seconds(listed[at][1]), wanted.self_s, wanted.self_s * 0.01 + 1e-9, `${wanted.function}: self`);
      near(assert, seconds(listed[at][3]), wanted.time_s, wanted.time_s * 0.01 + 1e-9, `${wanted.function}: total`);
      assert.equal(Number(listed[at][4].replaceAll(" ", "")), wanted.count);
      assert.match(await text(page, ".call-around .scope"), new RegExp(`^${String(wanted.count).replace(/(?=(\\d{3})+$)(?<=\\d)/g, " ")} calls?${wanted.calls_of_itself ? ` .${wanted.calls_of_itself} of them by itself.` : ""}, total `));
      for (const [role, list] of [["caller", wanted.callers], ["callee", wanted.callees]]) {
        const rows = await page.evaluate((r) => [...document.querySelectorAll(`.call-around [data-role=${r}] tr`)].slice(1).map((tr) => [tr.querySelector("button.fn")?.title ?? tr.children[0].textContent, ...[...tr.children].slice(1).map((c) => c.textContent)]), role);
        assert.deepEqual(list.length ? rows.map((row) => row[0]).sort() : [], list.map((n) => n.function ?? "(outermost)").sort(), `${role}s of ${wanted.function}`);
        for (const n of list) {
          const [, time, share, counts] = rows.find((row) => row[0] === (n.function ?? "(outermost)"));
          near(assert, seconds(time), n.time_s, n.time_s * 0.01 + 1e-9, `${role} ${n.function} of ${wanted.function}`);
          if (!share.startsWith("<")) near(assert, Number(share.slice(0, -1)) / 100, n.share, 0.0006, `its share of ${wanted.function}`);
          assert.equal(Number(counts.replaceAll(" ", "")), n.count);
        }
      }
    }
  },

  // From a function to its caller and back, by mouse, keys, the browser's way back, and by a link.
  async walks({ open, section, assert, facts }) {
    const page = await open();
    await section(page, "calls");
    const at = (name) => page.waitForFunction((wanted) => document.getElementById("around-title")?.textContent === wanted, name);
    const inner = facts.around.find((f) => f.callers[0]?.function && f.callers[0].function !== f.function && f.callers[0].time_s > 0);
    const outer = inner.callers[0].function;
    await page.keyboard.press("/");
    await page.keyboard.type(inner.function);
    await page.waitForFunction((name) => document.querySelectorAll(".call-list button.fn")[0]?.title === name && location.hash.includes("fns="), inner.function);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await at(inner.function);
    await page.waitForFunction(() => location.hash.includes("fn="));
    assert.equal(await page.evaluate(() => document.querySelectorAll(".call-list tr[aria-current]").length), 1);
    await page.click(".call-around [data-role=caller] button.fn");
    await at(outer);
    assert.equal(await page.evaluate(() => document.activeElement.id), "around-title", "the focus goes along");
    const link = page.url();
    await page.goBack();
    await at(inner.function);
    const other = await open({ address: link });
    await other.waitForSelector("#around-title");
    assert.equal(await text(other, "#around-title"), outer, "a link shows the same");
    await page.evaluate(() => document.getElementById("around-title").focus());
    await page.keyboard.press("ArrowLeft");
    await at(outer);
    const callee = facts.around.find((f) => f.function === outer).callees[0].function;
    await page.keyboard.press("ArrowRight");
    await at(callee);
  },

  async is_reached_from_table_and_flame_graph({ open, section, settle, assert, facts }) {
    const page = await open();
    await section(page, "activities");
    const name = await text(page, "#activities > .activities > .scroll-x tbody button");
    await page.click("#activities > .activities > .scroll-x tbody button");
    await page.waitForFunction((wanted) => document.getElementById("around-title")?.textContent === wanted, name);
    await section(page, "stacks");
    assert.ok(await page.evaluate(() => document.querySelector("#stacks .tools > button:last-child").disabled), "nothing is chosen yet");
    await page.evaluate(() => document.querySelector("#stacks canvas").focus());
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.waitForFunction(() => location.hash.includes("root=0"));
    const largest = facts.around.reduce((a, b) => (b.callers.some((c) => c.function === null) && b.time_s > (a?.time_s ?? 0) ? b : a), null);
    await page.click("#stacks .tools > button:last-child");
    await page.waitForFunction((wanted) => document.getElementById("around-title")?.textContent === wanted, largest.function);
    await page.click(".call-around .links button");
    await page.waitForFunction(() => /is in [\d.]+%/.test(document.querySelector("#stacks .scope").textContent));
    for (const way of ["up", "down"]) {
      await page.click(`#stacks button[data-value=${way}]`);
      await settle(page);
    }
  },

  async narrow_and_on_paper({ open, settle, assert }) {
    for (const width of [360, 1300]) {
      const page = await open({ viewport: { width, height: 900 } });
      await everything(page, settle);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)) <= 0, `${width}: wider than the window`);
      const [list, around] = [await box(page, ".call-list"), await box(page, ".call-around")];
      assert.ok(width < 900 ? around.y >= list.y + list.height : around.x >= list.x + list.width, `${width}: beside or below`);
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.evaluate(() => { const l = document.querySelector(".call-list"); return l.scrollHeight - l.clientHeight; }), 0, "all of the list is on paper");
    }
  },
};

const served = {
  async the_list_leads_to_the_page({ open, assert }) {
    const page = await open({ ready: false });
    await page.click("a[href^='page/']");
    await page.waitForSelector("html[data-ready]");
    assert.match(await text(page, "#answer h2"), /^true/);
  },

  // A site in another tab that was told the whole address sees nothing of it, and cannot make it show anything.
  async another_site_gets_nothing({ open, settle, assert, facts }) {
    const page = await open({ ready: false });
    const address = page.url();
    const errors = [];
    const tab = await page.context().newPage();
    tab.on("console", (message) => errors.push(message.text()));
    await tab.goto(facts.foreign);
    const got = await tab.evaluate(async (url) => {
      const tried = {};
      for (const [name, options] of [["read", {}], ["opaque", { mode: "no-cors" }], ["post", { method: "POST", mode: "no-cors", body: "x" }]])
        tried[name] = await fetch(url, options).then(async (r) => `${r.type} ${(await r.text()).length}`, () => "refused");
      const made = (tag, set) => new Promise((done) => {
        const e = document.createElement(tag);
        e.onload = () => done(tag === "iframe" ? `framed ${(() => { try { return e.contentDocument?.body.textContent.length ?? "opaque"; } catch { return "opaque"; } })()}` : "loaded");
        e.onerror = () => done("refused");
        set(e);
        document.body.append(e);
      });
      tried.script = await made("script", (e) => (e.src = url));
      tried.image = await made("img", (e) => (e.src = url));
      tried.frame = await made("iframe", (e) => (e.src = url));
      return tried;
    }, address);
    assert.equal(got.read, "refused");
    assert.match(got.opaque, /refused|opaque 0/);
    assert.match(got.post, /refused|opaque 0/);
    assert.equal(got.script, "refused");
    assert.equal(got.image, "refused");
    assert.match(got.frame, /framed (opaque|0)/);
    for (const frame of tab.frames().slice(1)) assert.ok(!(await frame.content()).includes("page/0"), "the frame shows nothing of it");
    await page.reload();
    await settle(page);
    assert.equal(await page.evaluate(() => document.querySelectorAll("a[href^='page/']").length), 1, "and it still answers whom it should");
  },
};

export const scenarios = { build, opens, compare, activities, callers, served };
