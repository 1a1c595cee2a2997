// Bundles the tests of page/test and runs each with Node's own runner.
//
//   node test.mjs
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
const out = await mkdtemp(join(tmpdir(), "lamella-page-"));
try {
  await build({
    entryPoints: tests.map((name) => join(here, "test", name)),
    bundle: true,
    platform: "node",
    format: "esm",
    outdir: out,
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  await rm(out, { recursive: true });
}
