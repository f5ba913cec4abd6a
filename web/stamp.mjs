// Writes down what the build was made of and what came out, so that a test can tell when either was changed alone.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const ROOT = import.meta.dirname;
const OUT = join(ROOT, "../src/roost/web");
const STAMP = "build.json";
const SOURCES = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "stamp.mjs"];

const inside = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join("/"));
const digest = (file) => createHash("sha256").update(readFileSync(join(ROOT, file))).digest("hex");

const sources = [...SOURCES, ...inside(join(ROOT, "src")), ...inside(join(ROOT, "public"))].sort();
const whole = createHash("sha256");
for (const file of sources) whole.update(`${file} ${digest(file)}\n`);
const built = inside(OUT).map((file) => file.slice("../src/roost/web/".length)).filter((file) => file !== STAMP).sort();
const files = Object.fromEntries(built.map((file) => [file, digest(`../src/roost/web/${file}`)]));
writeFileSync(join(OUT, STAMP), `${JSON.stringify({ sources: whole.digest("hex"), files }, null, 2)}\n`);
