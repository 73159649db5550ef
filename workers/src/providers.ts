import type { PublishedProvider } from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import { z } from "zod";
import type { WorkerEnv } from "./env.ts";
import { createDockerProvider } from "./sandboxes/docker/index.ts";
import { findSocket } from "./sandboxes/docker/socket.ts";
import { loadProviders } from "./sandboxes/load-providers.ts";
import { createIsolateProvider } from "./sandboxes/isolate/index.ts";
import { createProcessProvider } from "./sandboxes/process/index.ts";
import { createSshProvider } from "./sandboxes/ssh/index.ts";
import { readMachines } from "./sandboxes/ssh/machines.ts";
import { findCredentials } from "./sandboxes/vercel/credentials.ts";
import { createVercelProvider } from "./sandboxes/vercel/index.ts";
import type { IsolationReport, ProbeResult, SandboxProvider } from "./sandboxes/port.ts";

export interface ProvedProvider {
  readonly provider: SandboxProvider;
  readonly isolation: IsolationReport;
  /** Which kept guests it can restore. */
  readonly image: Buffer | null;
}

/** How each of our providers is made; a worker makes those that it is to serve. */
const MAKERS: Readonly<Record<string, (env: WorkerEnv, log: Logger) => SandboxProvider | Promise<SandboxProvider>>> = {
  isolate: (env, log) =>
    createIsolateProvider({
      hosts: env.AIRLOCK_ISOLATE_HOSTS,
      maxThreads: env.AIRLOCK_CONCURRENCY,
      log: log.child({ provider: "isolate" }),
    }),
  process: (_, log) => createProcessProvider({ log: log.child({ provider: "process" }) }),
  docker: (env, log) =>
    createDockerProvider({
      socket: findSocket(env.AIRLOCK_DOCKER_SOCKET, env.XDG_RUNTIME_DIR),
      image: env.AIRLOCK_SANDBOX_IMAGE,
      warm: env.AIRLOCK_DOCKER_WARM,
      log: log.child({ provider: "docker" }),
    }),
  vercel: (env) => createVercelProvider({ credentials: findCredentials(env) }),
  ssh: async (env) => createSshProvider({ machines: await readMachines(env.AIRLOCK_SSH_MACHINES) }),
};

export async function createProviders(env: WorkerEnv, log: Logger): Promise<SandboxProvider[]> {
  const builtIn = (env.AIRLOCK_SANDBOXES ?? Object.keys(MAKERS)).map(async (name) => {
    const make = Object.hasOwn(MAKERS, name) ? MAKERS[name] : undefined;
    if (make === undefined) throw new Error(`AIRLOCK_SANDBOXES: there is no built-in provider ${JSON.stringify(name)}`);
    return make(env, log);
  });
  return [...(await Promise.all(builtIn)), ...(await loadProviders(env.AIRLOCK_PROVIDERS))];
}

export interface UnprovedProvider {
  readonly provider: SandboxProvider;
  readonly reason: string;
}

export interface ProbedProviders {
  readonly proved: readonly ProvedProvider[];
  readonly unproved: readonly UnprovedProvider[];
}

/** Isolation is measured, never assumed: a provider that cannot prove its walls gets no queue. */
export async function proveProviders(providers: readonly SandboxProvider[], log: Logger): Promise<ProbedProviders> {
  const proved: ProvedProvider[] = [];
  const unproved: UnprovedProvider[] = [];
  const results = await Promise.all(providers.map((provider) => provider.probe()));
  for (const [i, provider] of providers.entries()) {
    const result = results[i] as ProbeResult;
    if (result.available) proved.push({ provider, ...result });
    else {
      log.info({ provider: provider.name, reason: result.reason }, "provider is not available here");
      unproved.push({ provider, reason: result.reason });
    }
  }
  return { proved, unproved };
}

/** What the gateway hears of them: it checks environments by their schemas, and tells why one cannot be had. */
export function providerManifests({ proved, unproved }: ProbedProviders): PublishedProvider[] {
  const manifest = ({
    name,
    capabilities,
    config,
  }: SandboxProvider): Omit<PublishedProvider, "isolation" | "reason"> => ({
    name,
    capabilities: { ...capabilities, retains: capabilities.retains ?? false, reuses: capabilities.reuses ?? false },
    configSchema: JSON.stringify(z.toJSONSchema(config, { io: "input", unrepresentable: "any" })),
  });
  return [
    ...proved.map(({ provider, isolation }) => ({
      ...manifest(provider),
      isolation: JSON.stringify(isolation),
      reason: null,
    })),
    ...unproved.map(({ provider, reason }) => ({ ...manifest(provider), isolation: null, reason })),
  ];
}
