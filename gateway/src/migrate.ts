import { migrateToLatest } from "@airlock/shared/db";
import { chooseBackend, prepareBackend } from "@airlock/shared/queue";
import { parseEnv } from "./env.ts";

/** A one-shot program: brings database and queue to the newest shape, and exits. */
async function main(): Promise<void> {
  const env = parseEnv(process.env);
  await migrateToLatest(env.databaseUrl);
  await prepareBackend(chooseBackend(env));
  process.stdout.write("the database and the queue are up to date\n");
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
