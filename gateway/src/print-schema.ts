import { readFile, writeFile } from "node:fs/promises";
import { printSchema } from "graphql";
import { schema } from "./schema/index.ts";

const FILE = new URL("../schema.graphql", import.meta.url);
const printed = `# Made by print-schema.ts; do not edit.\n\n${printSchema(schema)}\n`;

if (process.argv.includes("--check")) {
  const committed = await readFile(FILE, "utf8").catch(() => "");
  if (committed !== printed) {
    process.stderr.write("gateway/schema.graphql is not what the code says; run node gateway/src/print-schema.ts\n");
    process.exit(1);
  }
} else await writeFile(FILE, printed);
