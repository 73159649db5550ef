import { hostname } from "node:os";
import { storeEnv } from "@airlock/shared/files";
import { commonEnv, count, type EnvSource, parseEnvWith, port } from "@airlock/shared/runtime";
import { z } from "zod";
import { gitCredentials } from "./provisioning/git-credentials.ts";

const list = z.string().transform((text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);

const optional = z.string().min(1).nullable().default(null);

/** It is written into messages. */
const registry = z.url({ protocol: /^https?$/ }).refine((text) => new URL(text).username === "", {
  message: "must not have a user name in it; use AIRLOCK_NPM_RC",
});

const schema = z.object({
  ...commonEnv,
  ...storeEnv,
  AIRLOCK_CONCURRENCY: count.default(64),
  AIRLOCK_TASK_TIMEOUT_MS: count.default(30_000),
  AIRLOCK_TASK_MEMORY_MB: count.default(128),
  AIRLOCK_ISOLATE_HOSTS: count.default(1),
  AIRLOCK_DOCKER_SOCKET: z.string().optional(),
  AIRLOCK_DOCKER_WARM: z.coerce.number().int().min(0).max(64).default(2),
  AIRLOCK_SANDBOX_IMAGE: z.string().min(1).default("airlock-sandbox"),
  XDG_RUNTIME_DIR: z.string().optional(),
  AIRLOCK_DRAIN_MS: count.default(25_000),
  AIRLOCK_HEARTBEAT_MS: count.default(2_000),
  AIRLOCK_LOST_AFTER_MS: count.default(10_000),
  AIRLOCK_REAP_MS: count.default(10_000),
  AIRLOCK_HEALTH_PORT: port.nullable().default(null),
  AIRLOCK_HEALTH_HOST: z.string().default("127.0.0.1"),
  AIRLOCK_WORKER_HOST: z.string().default(hostname()),
  AIRLOCK_TOOLS: list.default([]),
  /** Null: all of ours. */
  AIRLOCK_SANDBOXES: list.nullable().default(null),
  AIRLOCK_PROVIDERS: list.default([]),
  AIRLOCK_HTTP_ALLOW: list.default([]),
  AIRLOCK_CACHE: z.string().nullable().default(null),
  AIRLOCK_CACHE_MB: count.default(10_240),
  AIRLOCK_PROVISION_TIMEOUT_MS: count.default(300_000),
  AIRLOCK_PROVISION_MB: count.default(2_048),
  AIRLOCK_PROVISION_MEMORY_MB: count.default(2_048),
  AIRLOCK_PROVISION_COMMANDS: z.enum(["on", "off"]).default("on"),
  AIRLOCK_NPM_REGISTRY: registry.nullable().default(null),
  AIRLOCK_NPM_RC: z.string().nullable().default(null),
  AIRLOCK_GIT_CREDENTIALS: gitCredentials.default([]),
  AIRLOCK_PARK_BY: z.enum(["snapshot", "replay"]).default("snapshot"),
  AIRLOCK_SSH_MACHINES: optional,
  VERCEL_OIDC_TOKEN: optional,
  VERCEL_TOKEN: optional,
  VERCEL_TEAM_ID: optional,
  VERCEL_PROJECT_ID: optional,
});

const SECRET_PREFIX = "AIRLOCK_SECRET_";

export type WorkerEnv = z.output<typeof schema> & {
  /** Name → value of each `AIRLOCK_SECRET_<NAME>`. */
  readonly secrets: ReadonlyMap<string, string>;
};

export function parseEnv(source: EnvSource): WorkerEnv {
  const secrets = Object.entries(source).flatMap(([name, value]) =>
    name.startsWith(SECRET_PREFIX) && value !== undefined ? [[name.slice(SECRET_PREFIX.length), value] as const] : [],
  );
  return { ...parseEnvWith(schema, source), secrets: new Map(secrets) };
}

export const HELP = `airlock worker: claims tasks and runs them in sandboxes

  DATABASE_URL             Postgres (required)
  REDIS_URL                Redis for queue and bus; absent: Postgres carries them
  AIRLOCK_CONCURRENCY      tasks at a time (64)
  AIRLOCK_TASK_TIMEOUT_MS  active time of a task that names none (30000)
  AIRLOCK_TASK_MEMORY_MB   memory of one guest (128)
  AIRLOCK_ISOLATE_HOSTS    isolate-host processes (1)
  AIRLOCK_DOCKER_SOCKET    the container engine's socket, Docker's or Podman's (the usual places; empty: none)
  AIRLOCK_DOCKER_WARM      containers kept ready for each image and limits in use (2)
  AIRLOCK_SANDBOX_IMAGE    the image of guests in containers (airlock-sandbox)
  AIRLOCK_DRAIN_MS         how long running tasks may finish after the first signal (25000)
  AIRLOCK_HEARTBEAT_MS     heartbeat period (2000)
  AIRLOCK_LOST_AFTER_MS    a worker silent for this long is lost and its tasks are taken over (10000)
  AIRLOCK_REAP_MS          how often sandboxes without a holder are looked for (10000)
  AIRLOCK_HEALTH_PORT      serves /healthz, /readyz and /metrics; absent: nowhere
  AIRLOCK_HEALTH_HOST      address for it (127.0.0.1)
  AIRLOCK_TOOLS            files or packages with more tools, separated by commas
  AIRLOCK_SANDBOXES        built-in sandbox providers to prove and serve, separated by commas (all)
  AIRLOCK_PROVIDERS        files or packages with more sandbox providers, separated by commas
  AIRLOCK_CONFIG           file that may name tools too (airlock.config.ts, if there is one)
  AIRLOCK_SECRET_<NAME>    credentials for tools: context.secrets.get("<NAME>")
  AIRLOCK_ARTIFACTS        where files are: a folder, or s3://bucket/prefix (artifacts in AIRLOCK_HOME); gateways the same
  AIRLOCK_S3_ENDPOINT      of an S3-compatible service (AWS); with AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
  AIRLOCK_HTTP_ALLOW       host:port pairs, separated by commas, that http.request may reach on private networks
  AIRLOCK_CACHE            where packages and repositories are kept (cache in AIRLOCK_HOME)
  AIRLOCK_CACHE_MB         how much may be kept there (10240)
  AIRLOCK_NPM_REGISTRY     where npm packages come from (npm's own)
  AIRLOCK_NPM_RC           an .npmrc with what that registry asks for; only npm sees it
  AIRLOCK_GIT_CREDENTIALS  NAME=https://host/path pairs, separated by commas: where AIRLOCK_SECRET_<NAME> may be sent
  AIRLOCK_PROVISION_TIMEOUT_MS  how long installing, cloning or a provision command may take (300000)
  AIRLOCK_PROVISION_COMMANDS  whether environments' commands are run here: on or off (on)
  AIRLOCK_PROVISION_MB     how much each of them may write (2048)
  AIRLOCK_PROVISION_MEMORY_MB  how much memory each of them may use, where the worker can make cgroups (2048)
  AIRLOCK_PARK_BY          how isolate guests are kept: snapshot, or replay (snapshot)
  AIRLOCK_SSH_MACHINES     file that names the machines of the provider ssh (docs/operations.md)
  VERCEL_OIDC_TOKEN        lets the provider vercel in; or VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID
  AIRLOCK_WORKER_HOST      name shown for this worker (the host's name)
  AIRLOCK_LOG              log level (info)
`;
