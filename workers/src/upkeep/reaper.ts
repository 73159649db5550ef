import { isId, topics } from "@airlock/shared/contracts";
import {
  audit,
  type Database,
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
    await change("lease.expired", (tx) => expireLeases(tx, { workerId, held: context.leases.held(), lapseMs }));
    // One provider that does not answer must not keep the others waiting.
    await Promise.all(lasting.map((provider) => reap(provider).catch((error) => warn(provider, error))));
  }

  async function reap(provider: SandboxProvider): Promise<void> {
    const existing = (await provider.leftovers()).filter(isId);
    const { destroy, unknown } = await judgeLeftovers(db, existing);
    for (const id of destroy) await destroyOne(provider, id);
    const gone = await findGone(db, { provider: provider.name, host: options.host, existing });
    if (gone.length > 0) await change("lease.destroyed", (tx) => markDestroyed(tx, gone));
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
      const reason = error instanceof Error ? error.message : String(error);
      return change("lease.cleanup_failed", async (tx) => {
        const lease = await markUndestroyed(tx, id, reason);
        return lease?.attempts === 1 ? [lease] : [];
      });
    }
    metrics.reaped.inc({ provider: provider.name });
    await change("lease.destroyed", (tx) => markDestroyed(tx, [id]));
  }

  /** A task's end is its last event: what happens to its sandbox later is told in the audit log. */
  async function change(action: string, act: (tx: Database) => Promise<LeaseRow[]>): Promise<void> {
    await db.transaction().execute(async (tx) => {
      for (const lease of await act(tx)) {
        const { task_id: task, provider, environment, error, attempts } = lease;
        const data = { task, provider, environment, error, attempts };
        const { project_id: projectId, id: subject } = lease;
        await audit(tx, { projectId, actor: `worker:${workerId}`, action, subject, data });
      }
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
