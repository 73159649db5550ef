import { type StoreEnv, storeEnv } from "@airlock/shared/files";
import { commonEnv, count, type EnvSource, type LogLevel, parseEnvWith, port } from "@airlock/shared/runtime";
import { z } from "zod";

const schema = z.object({
  ...commonEnv,
  ...storeEnv,
  AIRLOCK_HOST: z.string().default("127.0.0.1"),
  AIRLOCK_PORT: port.default(4001),
  // Shorter ones can be guessed; the generated one has 43 characters.
  AIRLOCK_ADMIN_KEY: z.string().min(8).nullable().default(null),
  AIRLOCK_STREAMS_PER_KEY: count.default(1_000),
  AIRLOCK_CORS_ORIGINS: z.string().default("").transform(listOrigins),
});

/** As browsers send them, so that one with a path or a slash at its end is told instead of never matched. */
function listOrigins(text: string, context: z.RefinementCtx): ReadonlySet<string> {
  const origins = text.split(",").flatMap((part) => part.trim() || []);
  for (const origin of origins) {
    const web = /^https?:/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin;
    if (!web) context.addIssue(`${JSON.stringify(origin)} is not an origin like https://app.example.com`);
  }
  return new Set(origins);
}

export interface GatewayEnv {
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly host: string;
  readonly port: number;
  /** Null: no admin key is ensured. */
  readonly adminKey: string | null;
  /** How many subscriptions a key may have open on this gateway. */
  readonly streamsPerKey: number;
  /** Pages of these may read what the API answers to a browser, besides Airlock's own. */
  readonly corsOrigins: ReadonlySet<string>;
  readonly logLevel: LogLevel;
  /** Null: `airlock.config.ts` in the working folder, if there is one. */
  readonly configFile: string | null;
  readonly store: StoreEnv;
}

export function parseEnv(source: EnvSource): GatewayEnv {
  const env = parseEnvWith(schema, source);
  return {
    databaseUrl: env.DATABASE_URL,
    redisUrl: env.REDIS_URL,
    host: env.AIRLOCK_HOST,
    port: env.AIRLOCK_PORT,
    adminKey: env.AIRLOCK_ADMIN_KEY,
    streamsPerKey: env.AIRLOCK_STREAMS_PER_KEY,
    corsOrigins: env.AIRLOCK_CORS_ORIGINS,
    logLevel: env.AIRLOCK_LOG,
    configFile: env.AIRLOCK_CONFIG,
    store: env,
  };
}
