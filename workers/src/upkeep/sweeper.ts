import { topics } from "@airlock/shared/contracts";
import {
  type Database,
  expireQueued,
  findOutdated,
  findOverdue,
  type JobToAdd,
  recoverFromLostWorkers,
  releaseDue,
  takeUnclaimed,
  wakeDue,
  type Woken,
} from "@airlock/shared/db";
import { sql } from "kysely";
import type { Context } from "../context.ts";
import { SUPERSEDED } from "@airlock/shared/domain";
import { expireApprovals, supersedeApprovals } from "../processors/approval-processor.ts";
import { tellWoken } from "./tell-woken.ts";

const PERIOD_MS = 1_000;
/** How long an approval's own job may be late. */
const EXPIRY_GRACE_MS = 5_000;
const MAX_APPROVALS = 1_000;
/** Looking for approvals of outdated tools reads all pending ones. */
const SWEEPS_A_LOOK = 5;
/** A job that is not claimed this long after it was enqueued is added again; where it still is, nothing changes. */
const UNCLAIMED_MS = 5_000;
const MAX_READDED = 2_000;
/** Spells "SWEP". */
const SWEEP_LOCK = 0x53574550;

interface Sweep {
  readonly jobs: readonly JobToAdd[];
  readonly events: [string, number][];
  readonly recovered: number;
  readonly woken: Woken;
  /** Approvals whose own job should have expired them. */
  readonly overdue: readonly string[];
  /** Approvals of a tool version that no worker has any more. */
  readonly outdated: readonly string[];
}

/**
 * Compares Postgres with the world once a second, one worker at a time: delayed tasks that are due, tasks that waited
 * too long, tasks of lost workers, parked tasks whose timer is due, approvals whose time is up or whose tool has changed,
 * and jobs that the queue may have lost.
 */
export function startSweeper(context: Context, lostAfterMs: number): { stop(): Promise<void> } {
  const { feeder } = context;
  let sweeps = 0;

  async function sweep(tx: Database): Promise<Sweep | null> {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${SWEEP_LOCK}) as mine`.execute(tx);
    if (!rows[0]?.mine) return null;
    await releaseDue(tx);
    const expired = await expireQueued(tx);
    const recovered = await recoverFromLostWorkers(tx, lostAfterMs);
    const ended = recovered.filter((task) => task.status !== "QUEUED");
    return {
      jobs: await takeUnclaimed(tx, UNCLAIMED_MS, MAX_READDED),
      events: [...expired, ...ended].map(({ id, seq }) => [id, seq]),
      recovered: recovered.length,
      woken: await wakeDue(tx),
      overdue: await findOverdue(tx, EXPIRY_GRACE_MS, MAX_APPROVALS),
      outdated: sweeps++ % SWEEPS_A_LOOK === 0 ? await findOutdated(tx, lostAfterMs, MAX_APPROVALS) : [],
    };
  }

  async function tick(): Promise<void> {
    const found = await context.db.transaction().execute(sweep);
    if (!found) return;
    if (found.recovered > 0) {
      context.metrics.recovered.inc(found.recovered);
      context.log.warn({ tasks: found.recovered }, "took tasks over from lost workers");
    }
    await tellWoken(context, found.woken);
    await expireApprovals(context, found.overdue);
    await supersedeApprovals(context, found.outdated, SUPERSEDED);
    if (found.jobs.length > 0) await context.queues.add(found.jobs);
    await feeder.feed();
    if (found.events.length > 0) await context.bus.publish(topics.events, found.events);
  }

  let ticking = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    ticking = tick()
      .catch((error: unknown) => context.log.warn({ err: error }, "sweep failed; the next one tries again"))
      .finally(() => {
        busy = false;
      });
  }, PERIOD_MS);

  return {
    async stop() {
      clearInterval(timer);
      await ticking;
    },
  };
}
