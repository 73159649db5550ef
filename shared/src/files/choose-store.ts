import path from "node:path";
import { z } from "zod";
import { EnvError } from "../runtime/index.ts";
import { createDiskStore } from "./disk-store.ts";
import { createS3Store } from "./s3-store.ts";
import type { Store } from "./store.ts";

/** What gateways and workers read alike; they must be told the same. */
export const storeEnv = {
  AIRLOCK_HOME: z.string().default(".airlock"),
  AIRLOCK_ARTIFACTS: z.string().nullable().default(null),
  AIRLOCK_S3_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null),
  AWS_REGION: z.string().default("us-east-1"),
  AWS_ACCESS_KEY_ID: z.string().nullable().default(null),
  AWS_SECRET_ACCESS_KEY: z.string().nullable().default(null),
  AWS_SESSION_TOKEN: z.string().nullable().default(null),
};

export type StoreEnv = { readonly [K in keyof typeof storeEnv]: z.output<(typeof storeEnv)[K]> };

const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/;

/** `s3://bucket/prefix`, or a folder (`artifacts` in the home). */
export function chooseStore(env: StoreEnv): Store {
  const place = env.AIRLOCK_ARTIFACTS ?? path.join(env.AIRLOCK_HOME, "artifacts");
  if (!place.startsWith("s3:")) return createDiskStore(path.resolve(place));
  const [, bucket, prefix = ""] = BUCKET.exec(place) ?? [];
  if (bucket === undefined)
    throw new EnvError("AIRLOCK_ARTIFACTS: must be a folder, or s3://bucket or s3://bucket/prefix");
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (accessKeyId === null || secretAccessKey === null) {
    throw new EnvError("AIRLOCK_ARTIFACTS names a bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY too");
  }
  return createS3Store({
    endpoint: env.AIRLOCK_S3_ENDPOINT ?? `https://s3.${env.AWS_REGION}.amazonaws.com`,
    bucket,
    prefix: prefix === "" ? "" : `${prefix.replace(/\/+$/, "")}/`,
    region: env.AWS_REGION,
    accessKeyId,
    secretAccessKey,
    sessionToken: env.AWS_SESSION_TOKEN,
  });
}
