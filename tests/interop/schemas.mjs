// Checks values against the schemas that an installed client ships.
// usage: node schemas.mjs CLIENT_DIR < lines of {"schema", "value"} > a line of {"known", "errors"} each
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const folder = path.resolve(process.argv[2]);
const shipped = await import(path.join(folder, "dist/gateway/protocol/index.js"));
const { default: Ajv } = createRequire(path.join(folder, "package.json"))("ajv");
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const checks = new Map();

function checkOf(name) {
  const schema = shipped[`${name}Schema`];
  if (!schema) return null;
  if (!checks.has(name)) checks.set(name, ajv.compile(JSON.parse(JSON.stringify(schema))));
  return checks.get(name);
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { schema, value } = JSON.parse(line);
  const check = checkOf(schema);
  const errors = check === null || check(value) ? [] : check.errors;
  const told = errors.map((one) => `${one.instancePath || "/"} ${one.message} ${JSON.stringify(one.params)}`);
  process.stdout.write(`${JSON.stringify({ known: check !== null, errors: told })}\n`);
}
