import { sql } from "kysely";
import type { Database } from "./database.ts";

/** Adds tasks that have ended on a worker: project → how many. Rows that no statistic reads any more go. */
export async function addThroughput(
  db: Database,
  workerId: string,
  finished: ReadonlyMap<string, number>,
): Promise<void> {
  await sql`
    with gone as (
      delete from throughput where worker_id = ${workerId} and since < now() - interval '10 minutes'
        and project_id = any(${[...finished.keys()]}::uuid[])
    )
    insert into throughput as t (project_id, since, worker_id, finished)
    select f.project_id, date_bin('10 seconds', now(), 'epoch'), ${workerId}, f.finished
    from unnest(${[...finished.keys()]}::uuid[], ${[...finished.values()]}::integer[]) as f (project_id, finished)
    on conflict (project_id, since, worker_id) do update set finished = t.finished + excluded.finished
  `.execute(db);
}

/** What workers that are gone have left behind. */
export async function forgetThroughput(db: Database): Promise<void> {
  await sql`delete from throughput where since < now() - interval '1 hour'`.execute(db);
}
