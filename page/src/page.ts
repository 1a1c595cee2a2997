// The page: header, sections, and what keeps them together.
import { about } from "./about";
import { answer } from "./answer";
import { Activities } from "./activities";
import { TimeAxis } from "./axis";
import { Build } from "./build";
import { Calls } from "./call_data";
import { Callers } from "./callers";
import { Compare } from "./compare";
import type { Json } from "./decode";
import { button, choice, el, foldedTable, soon } from "./dom";
import { Flame } from "./flame";
import { count, plural, visible } from "./format";
import { Graph, metadataAt } from "./graph";
import { Inside, type Shown } from "./inside";
import { Keys } from "./keys";
import { Legend } from "./legend";
import { Machine } from "./machine";
import type { Model } from "./model";
import { Phases } from "./phases";
import { Shelf } from "./shelf";
import { lanesOf, orderOf, State, type View } from "./state";
import { coverageLine } from "./coverage";
import { buildTable, threadTable } from "./tables";
import { describeSelection } from "./summary";
import { toggleTheme } from "./theme";
import { Units } from "./units";

type Changed = Set<keyof View>;

export class Page {
  private readonly model: Model;
  private readonly graph: Graph;
  private readonly calls: Calls;
  private readonly nav = el("nav", { "aria-label": "Sections" });
  private readonly chips = el("div", { class: "chips", "aria-live": "polite" });
  private readonly sections: HTMLElement[] = [];
  private readonly refreshers: ((changed: Changed | null) => void)[] = [];
  private readonly build: TimeAxis;
  private readonly perUnit: TimeAxis;

  constructor(
    private readonly main: HTMLElement,
    private readonly models: Model[],
    comparison: Json,
    private readonly state: State,
  ) {
    this.model = models[state.view.recording] ?? models[0];
    const { model } = this;
    this.graph = new Graph(model);
    this.calls = new Calls(model);
    this.build = new TimeAxis(model.elapsed);
    this.perUnit = new TimeAxis(Math.max(1e-6, ...longest(model)));
    this.bindAxis("build", this.build);
    this.bindAxis("unitAxis", this.perUnit);
    document.title = `${visible(model.title)} · Lamella`;
    const unitSearch = this.header();
    const { hasBuild } = model;
    const callers = this.calls.known ? this.makeCallers() : null;
    const keys = new Keys(state, unitSearch.hidden && callers ? callers.search : unitSearch, () => this.axisInUse());
    this.answerSection();
    if (models.length > 1 || comparison !== null) this.compareSection(comparison, keys);
    if (hasBuild) this.buildSection(keys);
    // Where there is no build, what a program called is what it is about.
    const hasActivities = model.data.has("activities") || model.data.has("events");
    const actsFirst = hasActivities && (model.isOfEvents || !hasBuild);
    const hasFlame = model.data.has("stacks_whole") || model.data.has("call_tree");
    if (actsFirst) this.activitiesSection(keys);
    if (!hasBuild) this.flameAndCallers(hasFlame, callers);
    if (model.spans.start.length > 0) this.insideSection(keys);
    if (model.data.has("phases") && model.hasPhases) this.phasesSection();
    if (hasBuild) this.unitsSection();
    if (hasBuild) this.flameAndCallers(hasFlame, callers);
    if (hasActivities && !actsFirst) this.activitiesSection(keys);
    if (hasBuild && !model.isOfEvents) this.shelfSection();
    this.section("about", "About these figures", about(model));
    for (const refresh of this.refreshers) refresh(null);
    state.listen((changed) => this.changed(changed));
    this.watchScroll();
    if (state.view.at) this.scrollTo(state.view.at);
  }

  private axisInUse(): TimeAxis {
    return this.state.view.time === "unit" ? this.perUnit : this.build;
  }

  private bindAxis(key: "build" | "unitAxis", axis: TimeAxis): void {
    const given = this.state.view[key];
    if (given) axis.set(given[0], given[1], false);
    axis.listen((byUser) => {
      if (byUser) this.state.set({ [key]: axis.isAll ? null : [axis.t0, axis.t1] });
    });
  }

  private changed(changed: Changed): void {
    if (changed.has("recording")) {
      this.state.writeAddress(); // another recording is another page: the fragment says which
      location.reload();
      return;
    }
    // The address may have been edited: axes follow without telling it again.
    const follow = (given: [number, number] | null, axis: TimeAxis): void => axis.set(given?.[0] ?? 0, given?.[1] ?? axis.last, false);
    if (changed.has("build")) follow(this.state.view.build, this.build);
    if (changed.has("unitAxis")) follow(this.state.view.unitAxis, this.perUnit);
    for (const refresh of this.refreshers) refresh(changed);
  }

  private section(id: string, title: string, ...content: (Node | null)[]): HTMLElement {
    const made = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title`, tabindex: "-1" }, title), ...content);
    this.main.append(made);
    this.sections.push(made);
    const link = el("a", { href: `#at=${id}` }, id === "answer" ? "Answer" : (SHORT[title] ?? title));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.goTo(id);
    });
    this.nav.append(link);
    return made;
  }

  private readonly goTo = (id: string): void => {
    const target = document.getElementById(id) ?? this.sections[0];
    this.scrollTo(target.id);
    document.getElementById(`${target.id}-title`)?.focus({ preventScroll: true });
    this.state.set({ at: target.id });
  };

  // Sections above fill themselves while they come near, which moves the one that is wanted: it is followed until it rests, or until
  // somebody else moves the page.
  private scrollTo(id: string): void {
    const until = performance.now() + 1500;
    let rests = 0;
    const stop = new AbortController();
    for (const type of ["wheel", "touchstart", "keydown", "pointerdown"]) addEventListener(type, () => stop.abort(), { signal: stop.signal, passive: true });
    const step = (): void => {
      if (stop.signal.aborted) return;
      const before = scrollY;
      document.getElementById(id)?.scrollIntoView();
      rests = Math.abs(scrollY - before) < 1 ? rests + 1 : 0;
      if (rests < 20 && performance.now() < until) requestAnimationFrame(step);
      else {
        stop.abort();
        this.mark();
      }
    };
    step();
  }

  private on(keys: (keyof View)[], refresh: () => void): void {
    this.refreshers.push((changed) => {
      if (!changed || keys.some((key) => changed.has(key))) refresh();
    });
  }

  private header(): HTMLInputElement {
    const { model, state } = this;
    const search = el("input", { type: "search", class: "find", placeholder: "find a unit  /", "aria-label": "Find a unit", list: "unit-names" });
    search.value = state.view.find;
    search.hidden = model.unitTable.rows === 0;
    const names = el("datalist", { id: "unit-names" });
    for (const unit of model.units.slice(0, 2000)) if (unit.row >= 0) names.append(el("option", { value: visible(unit.name) }));
    const find = (): void => {
      const wanted = search.value.trim().toLowerCase();
      state.set({ find: search.value, units: wanted ? model.units.filter((u) => u.row >= 0 && visible(u.name).toLowerCase().includes(wanted)).map((u) => u.row) : [] });
    };
    search.addEventListener("change", find);
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") find();
      if (event.key === "Escape") search.blur();
    });
    const bar = el("header", { class: "top" }, el("span", { class: "brand" }, "Lamella"), this.nav, search, names, button("◐", toggleTheme, { class: "theme", title: "Light or dark", "aria-label": "Light or dark" }));
    this.main.before(bar);
    this.main.append(this.chips);
    this.on(["units", "thread", "phase", "range"], () => this.drawChips());
    return search;
  }

  // What is selected, and the way out of it.
  private drawChips(): void {
    const { state, model } = this;
    const { view } = state;
    this.chips.replaceChildren();
    const chip = (text: string, clear: Partial<View>): void => {
      this.chips.append(el("span", { class: "chip" }, visible(text), button("×", () => state.set(clear), { "aria-label": `Clear ${text}` })));
    };
    if (view.units.length > 0) chip(view.units.length === 1 ? (model.unitTable.text("unit", view.units[0]) ?? "one unit") : plural(view.units.length, "unit"), { units: [], find: "" });
    if (view.thread >= 0) chip(describeSelection(model, { ...view, range: null }), { thread: -1 });
    if (view.phase) chip(view.phase.replace("/", " › "), { phase: "" });
    if (view.range) chip(`${view.range[0].toFixed(3)} s to ${view.range[1].toFixed(3)} s`, { range: null });
    if (this.chips.childElementCount > 0) this.chips.prepend(el("span", { class: "chips-name" }, "Selected"));
    this.chips.hidden = this.chips.childElementCount === 0;
  }

  private answerSection(): void {
    const { model, models, state } = this;
    const { session } = model;
    const facts = [
      session["started_at"] ? String(session["started_at"]).replace("T", " ").replace("Z", " UTC") : "", session["host"] ? `on ${String(session["host"])}` : "",
      `${String(session["tool"] ?? "lamella")} ${String(session["tool_version"] ?? "")}`,
    ].filter(Boolean).map(visible).join(" · ");
    const command = String(session["command"] ?? model.name);
    const whole = command === model.title ? null : el("p", { class: "facts-line" }, visible(command));
    const made = this.section("answer", visible(model.title), el("p", { class: "facts-line" }, facts), whole);
    if (models.length > 1) {
      const pick = el("select", { "aria-label": "Recording" });
      models.forEach((m, i) => pick.append(el("option", { value: String(i), ...(m === model ? { selected: "" } : {}) }, visible(`${m.data.header.set ? "after" : "before"}: ${m.name}`))));
      pick.addEventListener("change", () => state.set({ ...view0(), recording: Number(pick.value) }));
      made.append(el("label", { class: "pick" }, "Shown below: ", pick));
    }
    made.append(answer(model, this.graph, state, this.goTo));
  }

  private buildSection(keys: Keys): void {
    const { model, state } = this;
    const lanes = new Build(model, this.graph, state, this.build);
    const machine = new Machine(model, state, this.build);
    keys.watch(lanes.pane.canvas, () => this.build);
    keys.watch(machine.pane.canvas, () => this.build);
    const units = model.unitTable.rows;
    const which = choice("Lanes", [["units", "a lane a unit"], ["packed", "packed"]], () => lanesOf(state.view, units), (value) => state.set({ lanes: value }));
    const legend = el("p", { class: "legend" });
    const used = new Set(Array.from(model.spans.phase, (p) => model.segmentOf[p]));
    for (const segment of model.segments.filter((_, i) => used.has(i))) {
      const swatch = el("span", { class: "swatch" });
      swatch.style.background = segment.css;
      legend.append(el("span", { class: "key" }, swatch, segment.name));
    }
    const known: string[] = [];
    if (this.graph.critical.size > 0) known.push("A line below a bar: on the critical path.");
    if (model.units.some((u, i) => u.row >= 0 && metadataAt(model, i) !== null)) known.push("A notch: metadata was there, and what needed only that could start.");
    known.push("Uncoloured: the unit ran, and none of its threads was working.");
    if (this.graph.edges.length > 0) known.push("Point at a unit to see what it waited for.");
    this.section("build", "The build", el("div", { class: "tools" }, which, this.axisTools(() => this.build), legend),
      machine.bands.length ? machine.scroller : null, lanes.scroller, el("p", { class: "note" }, known.join(" ")),
      foldedTable("Table of the build", () => buildTable(model, this.graph)));
    this.on(["lanes"], () => {
      which.refresh();
      lanes.refresh();
    });
    this.on(["units", "range"], () => {
      lanes.pane.invalidate();
      machine.pane.invalidate();
    });
  }

  private axisTools(axis: () => TimeAxis): HTMLElement {
    return el("div", { class: "choice", role: "group", "aria-label": "Axis" }, button("−", () => axis().zoom(1 / 0.6), { "aria-label": "Zoom out" }),
      button("+", () => axis().zoom(0.6), { "aria-label": "Zoom in" }), button("fit", () => axis().fit()));
  }

  private insideSection(keys: Keys): void {
    const { model, state } = this;
    const inside = new Inside(model, state, this.build, this.perUnit);
    keys.watch(inside.pane.canvas, () => this.axisInUse(), true);
    const time = choice("Time", [["build", "build time"], ["unit", "unit time"]], () => state.view.time, (value) => state.set({ time: value }));
    const rows = choice("Rows", [["small", "thin rows"], ["large", "tall rows"]], () => state.view.rows, (value) => state.set({ rows: value }));
    const order = choice("Order", [["start", "first to start"], ["cpu", "most CPU first"]], () => orderOf(state.view, model.unitTable.rows), (value) => state.set({ order: value }));
    time.hidden = !model.hasBuild;
    const said = el("p", { class: "scope merged", "aria-live": "off" });
    inside.onDrawn = soon(100, (shown: Shown) => {
      const merged = shown.merged > 0
        ? `${plural(shown.merged, "span is", "spans are")} narrower than a pixel here and merged: each pixel has the colour of the phase that held most of it. Zoom in to part them.`
        : "None is merged.";
      said.textContent = `${plural(shown.allRows, "thread")}, ${count(shown.rows)} of them in view with ${plural(shown.spans, "span")}. ${merged} ${coverageLine(model)}`;
    });
    const table = foldedTable("Table of threads", () => threadTable(model, state.view));
    const title = model.unitTable.rows > 0 ? "Inside the compiler" : "Threads over time";
    this.section("inside", title, el("div", { class: "tools" }, time, order, rows, this.axisTools(() => this.axisInUse())), model.hasPhases ? new Legend(model, state).root : null, said, inside.scroller,
      el("p", { class: "note" }, "A row is a thread, a band a stretch of samples in one phase. Drag or A and D to move, Ctrl and wheel or W and S to zoom, F to fit, Shift and drag to select a stretch of time, click a name to select its unit."),
      table);
    this.on(["units", "rows", "order"], () => {
      rows.refresh();
      order.refresh();
      inside.refresh();
      table.dispatchEvent(new Event("refresh"));
    });
    this.on(["time", "phase", "range", "thread"], () => {
      time.refresh();
      inside.pane.invalidate();
    });
    if (state.view.thread >= 0) inside.scrollToThread(state.view.thread);
  }

  private phasesSection(): void {
    const phases = new Phases(this.model, this.state);
    this.section("phases", "Phases", phases.root);
    this.lazily(phases.root, ["units", "thread", "phase", "range"], () => phases.refresh());
  }

  private unitsSection(): void {
    const units = new Units(this.model, this.state);
    this.section("units", "Units", units.root);
    this.lazily(units.root, ["units", "sort", "filter", "columns"], () => units.refresh());
  }

  private makeCallers(): Callers {
    const { state, goTo } = this;
    return new Callers(this.calls, state, [
      { id: "stacks", title: "Find it in the flame graph", show: (name) => { state.set({ frames: name, root: "" }); goTo("stacks"); } },
      { id: "activities", title: "Find it over time", of: "events", show: (name) => { state.set({ events: name }); goTo("activities"); } },
    ]);
  }

  private readonly showCallers = (row: number): void => {
    this.state.set({ fn: row, at: "calls" });
    this.goTo("calls");
  };

  private flameAndCallers(hasFlame: boolean, callers: Callers | null): void {
    if (hasFlame) {
      const flame = new Flame(this.model, this.state, this.calls, this.showCallers);
      this.section("stacks", this.model.hasBuild ? "Stacks" : "Flame graph", flame.root);
      this.lazily(flame.root, ["units", "thread", "phase", "range", "flame", "root", "frames", "of", "fn"], () => flame.refresh());
    }
    if (!callers) return;
    this.section("calls", "Callers and callees", callers.root);
    this.lazily(callers.root, ["fn", "of", "fns"], () => callers.refresh());
  }

  private activitiesSection(keys: Keys): void {
    const { model, state } = this;
    const activities = new Activities(model, state, this.build, keys, this.calls, this.showCallers);
    if (activities.events && model.isOfEvents) {
      // Nothing else happened here: what there is fills the axis, unless a link says otherwise.
      const { first, last } = activities.events;
      this.build.last = Math.max(last, 1e-6);
      const [t0, t1] = state.view.build ?? [first > last * 0.2 ? first : 0, last];
      this.build.set(t0, t1, false);
    }
    this.section("activities", "Activities", activities.root);
    this.lazily(activities.root, ["units", "thread", "events", "range"], () => activities.refresh());
  }

  private shelfSection(): void {
    const shelf = new Shelf(this.model, this.state);
    this.section("questions", "Questions", shelf.root);
    this.lazily(shelf.root, ["question", "units"], () => shelf.refresh());
  }

  private compareSection(comparison: Json, keys: Keys): void {
    const compare = new Compare(this.models, comparison, keys);
    this.section("compare", "What changed", compare.root);
  }

  // Filled when it comes near the view; from then on whenever what it shows changes.
  private lazily(root: HTMLElement, keys: (keyof View)[], refresh: () => void): void {
    let near = false;
    let stale = true;
    const now = (): void => {
      stale = false;
      refresh();
    };
    new IntersectionObserver((seen) => {
      near = seen[seen.length - 1].isIntersecting;
      if (near && stale) now();
    }, { rootMargin: "600px" }).observe(root);
    addEventListener("beforeprint", () => stale && now());
    this.on(keys, () => {
      stale = true;
      if (near) now();
    });
  }

  // The link of the section that is being read is marked.
  private mark(): void {
    let at = 0;
    this.sections.forEach((section, i) => {
      if (section.getBoundingClientRect().top < innerHeight * 0.35) at = i;
    });
    this.nav.querySelectorAll("a").forEach((link, i) => (i === at ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  }

  private watchScroll(): void {
    let wanted = false;
    addEventListener("scroll", () => {
      if (wanted) return;
      wanted = true;
      requestAnimationFrame(() => {
        wanted = false;
        this.mark();
      });
    }, { passive: true });
    new ResizeObserver(() => this.mark()).observe(this.main); // a section that fills itself moves those below without a scroll
    this.mark();
  }
}

// Sections in the row of links, where their titles are longer; the first has the command's.
const SHORT: Record<string, string> = {
  "What changed": "Compare", "The build": "Build", "Inside the compiler": "Inside", "Threads over time": "Threads", "Callers and callees": "Callers", "About these figures": "About",
};

const view0 = (): Partial<View> => ({ units: [], thread: -1, phase: "", range: null, build: null, unitAxis: null, root: "", fn: -1 });

function longest(model: Model): number[] {
  let most = 0;
  for (const unit of model.units) if (unit.row >= 0) most = Math.max(most, unit.end - unit.start);
  return [most > 0 ? most : model.elapsed];
}

