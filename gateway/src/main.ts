import { migrateToLatest } from "@airlock/shared/db";
import { chooseBackend, prepareBackend } from "@airlock/shared/queue";
import { createLifecycle, createLogger, EnvError } from "@airlock/shared/runtime";
import { parseEnv } from "./env.ts";
import { startGateway } from "./start.ts";

const HELP = `Usage: node gateway/src/main.ts

Airlock's gateway: takes tasks in over GraphQL at /graphql. It migrates the database at start, and drains on SIGTERM.

  DATABASE_URL             Postgres (required)
  REDIS_URL                Redis for queue and bus; without it they live in Postgres
  AIRLOCK_HOST             address to listen on (127.0.0.1)
  AIRLOCK_PORT             port to listen on (4001)
  AIRLOCK_ADMIN_KEY        an admin key of the default project; those set before are revoked
  AIRLOCK_ARTIFACTS        where files are: a folder, or s3://bucket/prefix (artifacts in AIRLOCK_HOME); workers the same
  AIRLOCK_S3_ENDPOINT      of an S3-compatible service (AWS); with AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
  AIRLOCK_STREAMS_PER_KEY  subscriptions that a key may have open on this gateway (1000)
  AIRLOCK_CONFIG           file with environments, policies and limits (airlock.config.ts, if there is one)
  AIRLOCK_CORS_ORIGINS     origins whose pages may call the API from a browser, like https://app.example.com,https://…
  AIRLOCK_LOG              trace, debug, info, warn, error, fatal or silent (info)
`;

async function main(): Promise<void> {
  if (process.argv.includes("--help")) {
    process.stdout.write(HELP);
    return;
  }
  const env = parseEnv(process.env);
  const log = createLogger({ program: "gateway", level: env.logLevel });
  const lifecycle = createLifecycle({ log });
  lifecycle.handleSignals();
  try {
    const backend = chooseBackend(env);
    await migrateToLatest(env.databaseUrl);
    await prepareBackend(backend);
    const server = await startGateway({ env, backend, log, lifecycle });
    log.info({ host: env.host, port: server.port, backend: backend.kind }, "listening");
  } catch (error) {
    log.fatal({ err: error }, "could not start");
    await lifecycle.shutdown("could not start").catch(() => {});
    process.exit(1);
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof EnvError ? error.message : String(error)}\n`);
  process.exit(1);
});
