import { sql } from "kysely";
import type { Database } from "./database.ts";

export interface QueueStats {
  /** Waiting for a worker now; tasks with a runAt in the future do not count. */
  readonly runnable: number;
  readonly running: number;
  readonly parked: number;
  readonly oldestWaitingMs: number | null;
  /** Tasks that ended on a worker; to the ten seconds. */
  readonly finishedLastMinute: number;
  readonly finishedLastFiveMinutes: number;
}

/** Of one project. Each part reads an index that holds only rows in that state, or the workers' own counts. */
export async function queueStats(db: Database, projectId: string): Promise<QueueStats> {
  const { rows } = await sql<QueueStats>`
    select
      (select count(*)::integer from outbox where project_id = ${projectId} and run_at is null) as runnable,
      (select count(*)::integer from tasks
        where project_id = ${projectId} and status = 'RUNNING' and worker_id is not null) as running,
      (select count(*)::integer from tasks where project_id = ${projectId} and status = 'PARKED') as parked,
      (select least(extract(epoch from now() - since) * 1000, 2147483647)::integer from outbox
        where project_id = ${projectId} and run_at is null order by since limit 1) as "oldestWaitingMs",
      f."lastMinute" as "finishedLastMinute", f."lastFive" as "finishedLastFiveMinutes"
    from (
      select coalesce(sum(finished) filter (where since > now() - interval '1 minute'), 0)::integer as "lastMinute",
        coalesce(sum(finished), 0)::integer as "lastFive"
      from throughput where project_id = ${projectId} and since > now() - interval '5 minutes'
    ) f
  `.execute(db);
  return rows[0] as QueueStats;
}
