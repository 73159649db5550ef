import path from "node:path";
import { type EnvSource, LOG_LEVELS, type LogLevel, parseEnvWith } from "@airlock/shared/runtime";
import { z } from "zod";

export interface StartEnv {
  readonly port: number;
  readonly home: string;
  /** Null: made once and kept in the home. */
  readonly adminKey: string | null;
  /** Null: the embedded Postgres. */
  readonly databaseUrl: string | null;
  /** Null: queue and bus live in Postgres. */
  readonly redisUrl: string | null;
  /** Null: warnings on the terminal, everything from info up in the file. */
  readonly logLevel: LogLevel | null;
}

const schema = z.object({
  AIRLOCK_PORT: z.coerce.number("must be a port number").int().min(1).max(65_535).default(4001),
  AIRLOCK_HOME: z.string().default(".airlock"),
  AIRLOCK_ADMIN_KEY: z.string().min(8, "must have at least 8 characters").nullable().default(null),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "must be a postgres:// URL")
    .nullable()
    .default(null),
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, "must be a redis:// URL")
    .nullable()
    .default(null),
  AIRLOCK_LOG: z.enum(LOG_LEVELS).nullable().default(null),
});

export function parseEnv(source: EnvSource): StartEnv {
  const env = parseEnvWith(schema, source);
  return {
    port: env.AIRLOCK_PORT,
    home: path.resolve(env.AIRLOCK_HOME),
    adminKey: env.AIRLOCK_ADMIN_KEY,
    databaseUrl: env.DATABASE_URL,
    redisUrl: env.REDIS_URL,
    logLevel: env.AIRLOCK_LOG,
  };
}
