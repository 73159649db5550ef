import { type Selectable, sql } from "kysely";
import type { Database } from "./database.ts";
import type { Tables, WorkerState } from "./tables.ts";

export type WorkerRow = Selectable<Tables["workers"]>;

export interface NewWorker {
  readonly id: string;
  readonly host: string;
  readonly version: string;
  readonly capacity: number;
  readonly providers: readonly string[];
  /** `path@version` of each. */
  readonly tools: readonly string[];
}

export async function registerWorker(db: Database, worker: NewWorker): Promise<void> {
  await db
    .insertInto("workers")
    .values({
      id: worker.id,
      host: worker.host,
      version: worker.version,
      state: "RUNNING",
      capacity: worker.capacity,
      running: 0,
      providers: [...worker.providers],
      tools: [...worker.tools],
      last_seen_at: sql<Date>`now()`,
    })
    .execute();
}

/** Says that the worker lives. True where others had given it up meanwhile: its tasks have been taken from it. */
export async function heartbeat(
  db: Database,
  worker: { id: string; state: WorkerState; running: number },
): Promise<boolean> {
  const { rows } = await sql<{ was_lost: boolean }>`
    update workers w set state = ${worker.state}, running = ${worker.running}, last_seen_at = now()
    from (select id, state from workers where id = ${worker.id} for update) before
    where w.id = before.id
    returning before.state = 'LOST' as was_lost
  `.execute(db);
  return rows[0]?.was_lost ?? true;
}

/** The newest first; workers that are gone for a day are left out. */
export async function listWorkers(db: Database): Promise<WorkerRow[]> {
  return db
    .selectFrom("workers")
    .selectAll()
    .where("last_seen_at", ">", sql<Date>`now() - interval '1 day'`)
    .orderBy("id", "desc")
    .limit(1000)
    .execute();
}
