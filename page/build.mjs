// Makes the page that `lamella page` fills with data: src/main.ts, src/style.css and page.html in one file, with nothing to
// fetch. Where the data belongs the file is cut in two, so that nothing has to be searched for or replaced when it is written.
//
//   node build.mjs [--out DIR]    writes DIR/page_head.html and DIR/page_tail.html (dist)
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { deflateSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const outFlag = process.argv.indexOf("--out");
const out = outFlag > 0 ? process.argv[outFlag + 1] : join(here, "dist");

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, "src", entry)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "iife",
    target: ["es2022", "chrome110", "firefox113", "safari16.4"],
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
  return { text: result.outputFiles[0].text.trim(), inputs: Object.keys(result.metafile.inputs) };
}

/** The packages that went into a bundle, with the notices that their licences ask to be kept. */
async function notices(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) names.add(match[1]);
  }
  const byText = new Map();
  for (const name of [...names].sort()) {
    const dir = join(here, "node_modules", name);
    const file = (await readdir(dir)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name}: no licence file`);
    const text = (await readFile(join(dir, file), "utf8")).trim();
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  return [...byText].map(([text, list]) => `${list.join(", ")}:\n${text}`).join("\n\n");
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function fill(template, values) {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => {
    if (!(name in values)) throw new Error(`page.html: nothing is known as ${name}`);
    return values[name];
  });
}

/** The code lies in the file as the data does, which makes a third of it, and this unpacks it. Its text is known, so the policy lets
 * it run by its hash as well. */
const loader = `(async()=>{\
const code=document.getElementById("lamella-code").textContent;\
const bytes=Uint8Array.from(atob(code),c=>c.charCodeAt(0));\
const text=await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();\
const script=document.createElement("script");script.textContent=text;document.body.append(script)\
})().catch(e=>{document.getElementById("page").textContent="This browser cannot unpack the page: "+e})`;

const style = await bundle("style.css");
const script = await bundle("main.ts");
// The style lies packed with the code, which puts it in place before it does anything else.
script.text = `{const s=document.createElement("style");s.textContent=${JSON.stringify(style.text)};document.head.append(s)}${script.text}`;
const kept = await notices([...script.inputs, ...style.inputs]);
for (const [what, text] of [["loader", loader], ["licences", kept]])
  if (/<\/(script|style)|<!--|-->/i.test(text)) throw new Error(`the ${what} would end the element it stands in`);

// Only these two may run or style: whatever a recording holds, it is data. Nothing may be fetched.
const policy = [
  "default-src 'none'",
  `script-src ${hash(loader)} ${hash(script.text)}`,
  `style-src ${hash(style.text)}`,
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const template = await readFile(join(here, "page.html"), "utf8");
const code = deflateSync(script.text, { level: 9, memLevel: 9 }).toString("base64");
const page = fill(template, { policy, code, loader, licences: kept, data: "\0" });
const [head, tail, ...more] = page.split("\0");
if (tail === undefined || more.length) throw new Error("page.html must say {{data}} once");
await mkdir(out, { recursive: true });
await writeFile(join(out, "page_head.html"), head);
await writeFile(join(out, "page_tail.html"), tail);
console.log(`${relative(process.cwd(), out) || "."}: ${head.length + tail.length} characters, ${script.text.length} of them code before it is packed`);
