import {
  type Database,
  deleteExpiredTasks,
  deleteUnusedLocks,
  forgetThroughput,
  listRetentions,
} from "@airlock/shared/db";
import { sql } from "kysely";
import type { Context } from "../context.ts";

const PERIOD_MS = 60_000;
/** Between steps while there is more: deleting must not slow down what runs. */
const PAUSE_MS = 1_000;
/** Some 20 ms of a database's time. */
const STEP = 200;
/** The store is asked once for each. */
const FILES_A_STEP = 50;
/** Spells "RETN". */
const RETENTION_LOCK = 0x5245544e;

/** Deletes what projects do not keep any more, and the bytes that were only theirs, in small steps, one worker at a time. */
export function startRetention(context: Pick<Context, "db" | "files" | "log">): { stop(): Promise<void> } {
  const { db, files, log } = context;

  /** Whether there may be more to delete. */
  async function step(tx: Database): Promise<boolean> {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${RETENTION_LOCK}) as mine`.execute(
      tx,
    );
    if (!rows[0]?.mine) return false;
    await forgetThroughput(tx);
    let more = false;
    for (const project of await listRetentions(tx)) {
      const deleted = await deleteExpiredTasks(tx, project, STEP);
      if (deleted > 0) log.info({ project: project.id, tasks: deleted }, "deleted tasks that were old enough");
      more ||= deleted === STEP;
    }
    await deleteUnusedLocks(tx);
    return more;
  }

  let stopped = false;
  let timer = setTimeout(tick, PAUSE_MS);
  let stepping = Promise.resolve();

  function tick(): void {
    stepping = db
      .transaction()
      .execute(step)
      .then(async (more) => (await files.sweep(FILES_A_STEP)) === FILES_A_STEP || more)
      .catch((error: unknown) => {
        log.warn({ err: error }, "could not delete old tasks; the next step tries again");
        return false;
      })
      .then((more) => {
        if (!stopped) timer = setTimeout(tick, more ? PAUSE_MS : PERIOD_MS);
      });
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await stepping;
    },
  };
}
