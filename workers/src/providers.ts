import type { Logger } from "@airlock/shared/runtime";
import type { WorkerEnv } from "./env.ts";
import { createIsolateProvider } from "./sandboxes/isolate/index.ts";
import type { IsolationReport, SandboxProvider } from "./sandboxes/port.ts";

export interface ProvedProvider {
  readonly provider: SandboxProvider;
  readonly isolation: IsolationReport;
  /** Which kept guests it can restore. */
  readonly image: Buffer | null;
}

export function createProviders(env: WorkerEnv, log: Logger): SandboxProvider[] {
  return [
    createIsolateProvider({
      hosts: env.AIRLOCK_ISOLATE_HOSTS,
      maxThreads: env.AIRLOCK_CONCURRENCY,
      log: log.child({ provider: "isolate" }),
    }),
  ];
}

/** Isolation is measured, never assumed: a provider that cannot prove its walls gets no queue. */
export async function proveProviders(providers: readonly SandboxProvider[], log: Logger): Promise<ProvedProvider[]> {
  const proved: ProvedProvider[] = [];
  for (const provider of providers) {
    const result = await provider.probe();
    if (result.available) proved.push({ provider, ...result });
    else log.warn({ provider: provider.name, reason: result.reason }, "provider is not available here");
  }
  return proved;
}
