import { topics } from "@airlock/shared/contracts";
import {
  type Database,
  endUnprovable,
  expireQueued,
  findOutdated,
  findOverdue,
  findUnproved,
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
import { createAlarm } from "./alarm.ts";
import { rejudgeHeldCalls } from "./policy-changes.ts";
import { tellWoken } from "./tell-woken.ts";

const PERIOD_MS = 1_000;
/** How long an approval's own job may be late. */
const EXPIRY_GRACE_MS = 5_000;
const MAX_APPROVALS = 1_000;
/** Looking for approvals of outdated tools reads all pending ones; which providers are proved changes seldom. */
const SWEEPS_A_LOOK = 5;
/** A provider that a worker had so lately may be on its way back: a deploy, a restart. */
const UNPROVED_PATIENCE_MS = 5 * 60_000;
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
 * too long, tasks whose sandbox nobody can prove, tasks of lost workers, parked tasks whose timer is due, approvals
 * whose time is up or whose tool has changed, jobs that the queue may have lost, and calls that are held against policy.
 */
export function startSweeper(context: Context, lostAfterMs: number): { stop(): Promise<void> } {
  const { feeder } = context;
  const alarm = createAlarm(context, PERIOD_MS);
  let sweeps = 0;

  async function sweep(tx: Database): Promise<Sweep | null> {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${SWEEP_LOCK}) as mine`.execute(tx);
    if (!rows[0]?.mine) return null;
    await releaseDue(tx);
    const expired = await expireQueued(tx);
    const looks = sweeps++ % SWEEPS_A_LOOK === 0;
    const unprovable = looks ? await endAllUnprovable(tx) : [];
    const recovered = await recoverFromLostWorkers(tx, lostAfterMs);
    const ended = recovered.filter((task) => task.status !== "QUEUED");
    return {
      jobs: await takeUnclaimed(tx, UNCLAIMED_MS, MAX_READDED),
      events: [...expired, ...unprovable, ...ended].map(({ id, seq }) => [id, seq]),
      recovered: recovered.length,
      woken: await wakeDue(tx),
      overdue: await findOverdue(tx, EXPIRY_GRACE_MS, MAX_APPROVALS),
      outdated: looks ? await findOutdated(tx, lostAfterMs, MAX_APPROVALS) : [],
    };
  }

  /** What cannot be enforced is refused; where nobody can tell, because no worker lives, tasks wait. */
  async function endAllUnprovable(tx: Database): Promise<{ id: string; seq: number }[]> {
    const ended: { id: string; seq: number }[] = [];
    for (const provider of await findUnproved(tx, UNPROVED_PATIENCE_MS))
      ended.push(...(await endUnprovable(tx, provider)));
    return ended;
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
    await rejudgeHeldCalls(context);
    await alarm.set();
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
      await alarm.stop();
    },
  };
}
