import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { dumpSchema, migrateToLatest } from "@airlock/shared/db";
import { startEmbeddedPostgres } from "./embedded/index.ts";

const FILE = path.resolve(import.meta.dirname, "../shared/src/db/schema.sql");

/** Writes the shape that all migrations give; with `--check` it compares instead and exits 1 on a difference. */
async function main(): Promise<void> {
  const home = await mkdtemp(path.join(tmpdir(), "airlock-schema-"));
  const postgres = await startEmbeddedPostgres({ home, log: console });
  try {
    await migrateToLatest(postgres.url);
    const text = await dumpSchema(postgres.url);
    if (!process.argv.includes("--check")) return await writeFile(FILE, text);
    if (text !== (await readFile(FILE, "utf8"))) {
      console.error("schema.sql is not what the migrations give; run: node infra/dump-schema.ts");
      process.exitCode = 1;
    }
  } finally {
    await postgres.stop();
    await rm(home, { recursive: true, force: true });
  }
}

await main();
