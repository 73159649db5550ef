import { isId, topics } from "@airlock/shared/contracts";
import {
  audit,
  expireLeases,
  findGone,
  judgeLeftovers,
  type LeaseRow,
  markDestroyed,
  markUndestroyed,
} from "@airlock/shared/db";
import type { Context } from "../context.ts";
import type { SandboxProvider } from "../sandboxes/port.ts";
import { startTicker } from "./ticker.ts";

export interface ReaperOptions {
  readonly host: string;
  readonly periodMs: number;
  readonly lostAfterMs: number;
}

type Parts = Pick<Context, "db" | "bus" | "log" | "metrics" | "leases" | "workerId">;

/**
 * Destroys the sandboxes that nobody holds: of lost workers, of retained leases whose time is up, and of releases that
 * failed. It asks the providers what exists, so nothing depends on what somebody wrote down in time. Sandboxes that
 * this database does not know are another installation's, and are left alone.
 */
export async function startReaper(
  context: Parts,
  providers: readonly SandboxProvider[],
  options: ReaperOptions,
): Promise<{ stop(): Promise<void> }> {
  const { db, log, metrics, workerId } = context;
  const lasting = providers.filter(({ capabilities }) => capabilities.outlivesWorker);
  if (lasting.length === 0) return { stop: async () => {} };
  const strangers = new Set<string>();

  async function tick(): Promise<void> {
    const { lostAfterMs: lapseMs } = options;
    const expired = await expireLeases(db, { workerId, held: context.leases.held(), lapseMs });
    for (const lease of expired) await tell("lease.expired", lease);
    // One provider that does not answer must not keep the others waiting.
    await Promise.all(lasting.map((provider) => reap(provider).catch((error) => warn(provider, error))));
  }

  async function reap(provider: SandboxProvider): Promise<void> {
    const existing = (await provider.leftovers()).filter(isId);
    const { destroy, unknown } = await judgeLeftovers(db, existing);
    for (const id of destroy) await destroyOne(provider, id);
    const gone = await findGone(db, { provider: provider.name, host: options.host, existing });
    for (const lease of await markDestroyed(db, gone)) await tell("lease.destroyed", lease);
    const unseen = unknown.filter((id) => !strangers.has(id));
    for (const id of unseen) strangers.add(id);
    if (unseen.length > 0) {
      log.warn(
        { provider: provider.name, leases: unseen },
        "sandboxes that this database does not know are left alone",
      );
    }
  }

  async function destroyOne(provider: SandboxProvider, id: string): Promise<void> {
    try {
      await provider.destroy(id);
    } catch (error) {
      metrics.cleanupFailures.inc({ provider: provider.name });
      log.warn(
        { err: error, provider: provider.name, lease: id },
        "a sandbox could not be destroyed; tried again later",
      );
      const lease = await markUndestroyed(db, id, error instanceof Error ? error.message : String(error));
      if (lease?.attempts === 1) await tell("lease.cleanup_failed", lease);
      return;
    }
    metrics.reaped.inc({ provider: provider.name });
    for (const lease of await markDestroyed(db, [id])) await tell("lease.destroyed", lease);
  }

  /** A task's end is its last event: what happens to its sandbox later is told here. */
  async function tell(action: string, lease: LeaseRow): Promise<void> {
    const { task_id: task, provider, environment, error, attempts } = lease;
    await audit(db, {
      projectId: lease.project_id,
      actor: `worker:${workerId}`,
      action,
      subject: lease.id,
      data: { task, provider, environment, error, attempts },
    });
  }

  function warn(provider: SandboxProvider, error: unknown): void {
    log.warn({ err: error, provider: provider.name }, "could not look for sandboxes without a holder");
  }

  const { periodMs } = options;
  const ticker = startTicker(tick, { periodMs, log, onFailure: "reaping failed; the next time tries again" });
  await context.bus.subscribe(topics.leases, () => ticker.hurry());
  return ticker;
}
