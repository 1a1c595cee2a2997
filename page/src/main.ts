// The page's entry: unpacks the data that lies in the file (docs/page-data.md) and shows it.
import { Data, readJson, type Json } from "./decode";
import { el } from "./dom";
import { Model } from "./model";
import { Page } from "./page";
import { State } from "./state";
import { startTheme } from "./theme";

// Read one after the other: what several need while they are unpacked would add up.
async function readAll(): Promise<{ models: Model[]; comparison: Json }> {
  const models: Model[] = [];
  for (const element of document.querySelectorAll("script[data-lamella=recording]")) {
    models.push(new Model(await Data.read(element), models.length));
    element.remove(); // its text is of no use any more
  }
  const element = document.querySelector("script[data-lamella=comparison]");
  return { models, comparison: element ? await readJson(element) : null };
}

async function show(): Promise<void> {
  startTheme();
  const main = document.getElementById("page")!;
  try {
    const { models, comparison } = await readAll();
    if (models.length === 0) throw new Error("it holds no recording");
    new Page(main, models, comparison, new State());
    document.documentElement.dataset["ready"] = "1";
  } catch (error) {
    main.replaceChildren(el("p", { class: "broken", role: "alert" }, `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}.`));
    throw error;
  }
}

void show();
