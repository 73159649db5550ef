import { z } from "zod";
import { LOG_LEVELS } from "./logger.ts";

/** Thrown with all faults at once, each naming its variable. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

export type EnvSource = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as absent: `REDIS_URL= npm start` means "without Redis". */
export function parseEnvWith<T extends z.ZodObject>(schema: T, source: EnvSource): z.output<T> {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new EnvError(`the environment is not usable:\n${faults.join("\n")}`);
}

const url = (schemes: string[]) =>
  z.string().refine((value) => schemes.some((scheme) => value.startsWith(`${scheme}://`)), {
    message: `must be a ${schemes.join(" or ")} URL`,
  });

/** The variables that every program of Airlock reads alike. */
export const commonEnv = {
  DATABASE_URL: url(["postgres", "postgresql"]),
  REDIS_URL: url(["redis", "rediss"]).nullable().default(null),
  AIRLOCK_CONFIG: z.string().nullable().default(null),
  AIRLOCK_LOG: z.enum(LOG_LEVELS).default("info"),
};

export const port = z.coerce.number().int().min(0).max(65_535);
export const count = z.coerce.number().int().min(1);
