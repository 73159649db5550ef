import { readdir, readFile, writeFile } from "node:fs/promises";
import { buildASTSchema, type DocumentNode, type GraphQLSchema, parse, validate } from "graphql";
import { renderClientTypes } from "./render.ts";

const FILE = new URL("../src/generated.ts", import.meta.url);
const OPERATIONS = new URL("../operations/", import.meta.url);
const GATEWAY = new URL("../../../gateway/", import.meta.url);

/** Writes the SDK's operations and their types; with `--check` it compares instead and exits 1 on a difference. */
async function main(): Promise<void> {
  const [schema, operations] = await Promise.all([readSchema(), readOperations()]);
  const faults = validate(schema, operations);
  if (faults.length > 0) throw new Error(faults.map(String).join("\n\n"));
  const text = renderClientTypes(schema, operations);
  if (!process.argv.includes("--check")) return writeFile(FILE, text);
  if (text !== (await readFile(FILE, "utf8").catch(() => ""))) {
    console.error("clients/sdk/src/generated.ts is not what the schema gives; run: node clients/sdk/generate/main.ts");
    process.exitCode = 1;
  }
}

/** What the gateway serves. */
async function readSchema(): Promise<GraphQLSchema> {
  return buildASTSchema(parse(await readFile(new URL("schema.graphql", GATEWAY), "utf8")));
}

async function readOperations(): Promise<DocumentNode> {
  const names = (await readdir(OPERATIONS)).filter((name) => name.endsWith(".graphql")).sort();
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, OPERATIONS), "utf8")));
  return parse(texts.join("\n"));
}

await main();
