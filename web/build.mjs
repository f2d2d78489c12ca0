// SPDX-License-Identifier: MIT
// Bundles the page.
//
//   node build.mjs --out DIR            page.js, page.css and page.html in DIR, and page.d for ninja
//   node build.mjs --out DIR --test     the tests (*_test.ts), bundled and run
//   node build.mjs --out DIR --tools    check_answer.mjs and mock.mjs in DIR
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const WEB = path.dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const out = path.resolve(args[args.indexOf("--out") + 1] ?? "build");
const common = { absWorkingDir: WEB, bundle: true, charset: "utf8", logLevel: "warning", jsx: "automatic", jsxImportSource: "preact" };

function find(folder, ending) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : find(at, ending);
    return entry.name.endsWith(ending) ? [at] : [];
  });
}

async function page() {
  const notice = fs.readFileSync(path.join(WEB, "licences.txt"), "utf8").replaceAll("*/", "* /");
  const result = await build({
    ...common,
    entryPoints: { page: "main.tsx" },
    outdir: out,
    format: "iife",
    target: ["es2021", "chrome90", "firefox90", "safari15"],
    minify: !args.includes("--plain"),
    legalComments: "none",
    banner: { js: `/*\n${notice}*/` },
    define: { "process.env.NODE_ENV": '"production"' },
    metafile: true,
  });
  fs.copyFileSync(path.join(WEB, "page.html"), path.join(out, "page.html"));
  // What the page is made of, for ninja: files come and go without anybody listing them.
  const inputs = [...Object.keys(result.metafile.inputs), "page.html", "licences.txt", "package-lock.json", "build.mjs"];
  const paths = inputs.map((name) => path.resolve(WEB, name).replaceAll(" ", "\\ "));
  fs.writeFileSync(path.join(out, "page.d"), `${path.join(args.includes("--depend-as") ? args[args.indexOf("--depend-as") + 1] : "page.js")}: ${paths.join(" ")}\n`);
}

async function tools() {
  await build({ ...common, entryPoints: find(path.join(WEB, "testing"), ".main.ts"), outdir: out, outExtension: { ".js": ".mjs" }, format: "esm", platform: "node", target: "node18", entryNames: "[name]" });
}

async function test() {
  const where = path.join(out, "tests");
  fs.rmSync(where, { recursive: true, force: true });
  const tests = find(WEB, "_test.ts");
  if (tests.length === 0) throw new Error("there are no tests");
  await build({ ...common, entryPoints: tests, outdir: where, outbase: WEB, outExtension: { ".js": ".mjs" }, format: "esm", platform: "node", target: "node18", sourcemap: "inline" });
  const made = find(where, "_test.mjs");
  const done = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...made], { stdio: "inherit", env: { ...process.env, SILT_WEB: WEB } });
  process.exitCode = done.status ?? 1;
}

fs.mkdirSync(out, { recursive: true });
await (args.includes("--test") ? test() : args.includes("--tools") ? tools() : page());
