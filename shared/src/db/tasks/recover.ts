import { type RawBuilder, sql } from "kysely";
import type { TaskErrorCode } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import { endOpenCalls } from "./journal-writes.ts";
import { toIndex } from "./search.ts";
import { storable } from "./storable.ts";

/** A task taken from a segment that is gone. */
export interface RecoveredTask {
  readonly id: string;
  readonly status: "QUEUED" | "CANCELLED" | "FAILED";
  readonly seq: number;
}

/** A task that loses this many segments in a row, and gets no further, is what kills them: it fails. */
const MAX_LOSSES = 5;

/** Takes the tasks of workers whose heartbeat in Postgres has lapsed, and marks those workers LOST. */
export async function recoverFromLostWorkers(db: Database, lapseMs: number): Promise<RecoveredTask[]> {
  const lapsed = sql`now() - ${lapseMs} * interval '1 millisecond'`;
  await sql`
    update workers set state = 'LOST', running = 0
    where state in ('RUNNING', 'DRAINING') and last_seen_at < ${lapsed}
  `.execute(db);
  return recover(db, {
    where: sql`not exists (
      select from workers w where w.id = t.worker_id and w.state <> 'STOPPED' and w.last_seen_at >= ${lapsed}
    )`,
    losses: 1,
    code: "WORKER_LOST",
    message: `each of the ${MAX_LOSSES} workers that picked the task up was lost while running it`,
    // How far they had come nobody can say any more.
    begun: true,
    fate: "its worker was lost",
  });
}

/** 1 s after the first loss, then twice as long each time. */
const AFTER_LOSSES = sql`power(2, losses - 1)`;
/** Longer with each time in a row that the task was taken up and nothing came of it, up to 51 s. */
const AFTER_TRIES = sql`0.1 * power(2, least(9, (
  select count(*) from events e where e.task_id = changed.id and e.seq > (
    select o.seq from events o where o.task_id = changed.id and o.type <> 'task.resumed' order by o.seq desc limit 1
  )
)))`;

/**
 * Why a segment gives its task back; what may happen again with the next worker is a loss. Where there is a wait, it is
 * in seconds.
 */
const REASONS = {
  "worker drains": { losses: 0, code: "WORKER_LOST", message: "", fate: "its worker was stopped" },
  /** Only other workers have what it needs, and who claims next is chance. */
  misplaced: { losses: 0, code: "WORKER_LOST", message: "", fate: "its worker lacks a tool", wait: AFTER_TRIES },
  "sandbox lost": {
    losses: 1,
    code: "SANDBOX_FAILED",
    message: `the sandbox broke each of the ${MAX_LOSSES} times that the task ran`,
    fate: "its sandbox broke",
  },
  "write refused": {
    losses: 1,
    code: "SANDBOX_FAILED",
    message: `what the task did could not be recorded, each of the ${MAX_LOSSES} times that it ran`,
    fate: "what it did could not be recorded",
  },
  "no lease": {
    losses: 1,
    code: "LEASE_FAILED",
    message: `no sandbox could be had, each of the ${MAX_LOSSES} times that one was asked for`,
    fate: "no sandbox could be had",
    wait: AFTER_LOSSES,
  },
} as const satisfies Record<string, Omit<Recovery, "where" | "begun">>;

export type GiveBackReason = keyof typeof REASONS;

/** Gives a running segment's task back to the queue; one that has begun and is never to be run again fails instead. */
export async function giveBack(
  db: Database,
  { taskId, fence, begun = true }: { taskId: string; fence: number; begun?: boolean },
  reason: GiveBackReason,
  detail: string | null = null,
): Promise<RecoveredTask | null> {
  const where = sql`t.id = ${taskId} and t.segments = ${fence}`;
  const { message, ...rest } = REASONS[reason];
  const told = detail === null ? message : `${message}: ${storable(detail)}`;
  const [task] = await recover(db, { where, ...rest, begun, message: told });
  return task ?? null;
}

interface Recovery {
  readonly where: RawBuilder<unknown>;
  readonly losses: 0 | 1;
  readonly code: TaskErrorCode;
  readonly message: string;
  /** Its program may have been started. */
  readonly begun: boolean;
  /** What became of the segment: why a task that is run at most once ends now. */
  readonly fate: string;
  /** Before it runs again, in seconds. */
  readonly wait?: RawBuilder<unknown>;
}

async function recover(
  db: Database,
  { where, losses, code, message, begun, fate, wait = sql`null::integer` }: Recovery,
): Promise<RecoveredTask[]> {
  const once = `${fate}, and this task said that it is never run again (replayable: false)`;
  const { rows } = await sql<RecoveredTask>`
    with gone as (
      select t.id, case
        when t.cancel_requested_at is not null then 'CANCELLED'
        when t.losses + ${losses} >= ${MAX_LOSSES} or ${begun} and not t.replayable then 'FAILED'
        else 'QUEUED'
      end as next
      from tasks t where t.status = 'RUNNING' and ${where}
      order by t.id limit 1000 for update skip locked
    ), changed as (
      update tasks t set
        status = g.next, job = t.job + 1, losses = t.losses + ${losses}, worker_id = null,
        event_seq = t.event_seq + case g.next when 'QUEUED' then 0 else 1 end,
        finished_at = case g.next when 'QUEUED' then null else now() end,
        error_code = case g.next when 'FAILED' then ${code} when 'CANCELLED' then 'CANCELLED' end,
        error_message = case g.next
          when 'FAILED' then case when ${begun} and not t.replayable then ${once} else ${message} end
          when 'CANCELLED' then 'cancelled'
        end
      from gone g where t.id = g.id
      returning t.id, t.project_id, t.provider, t.job, t.priority, t.status, t.losses, t.event_seq as seq
    ), boxed as (
      insert into outbox (task_id, project_id, provider, job, priority, run_at)
      select id, project_id, provider, job, priority,
        now() + (${wait}) * interval '1 second'
      from changed where status = 'QUEUED'
    ), logged as (
      insert into events (task_id, seq, type, data)
      select id, seq,
        case status when 'FAILED' then 'task.failed' else 'task.cancelled' end,
        case status when 'FAILED' then '{"code":"' || ${code}::text || '"}' else '{}' end
      from changed where status <> 'QUEUED'
    ), ended as (
      select id from changed where status <> 'QUEUED'
    )${endOpenCalls(sql`ended`)}${toIndex(sql`ended`)}
    select id, status, seq from changed
  `.execute(db);
  return rows;
}

/** Queued tasks that nobody started within their queueTtlMs end as TIMED_OUT. */
export async function expireQueued(db: Database): Promise<{ id: string; seq: number }[]> {
  const { rows } = await sql<{ id: string; seq: number }>`
    with late as (
      select id from tasks
      where status = 'QUEUED' and queue_expires_at <= now() and segments = 0
      order by id limit 1000 for update skip locked
    ), changed as (
      update tasks t set
        status = 'TIMED_OUT', finished_at = now(), event_seq = t.event_seq + 1, error_code = 'QUEUE_EXPIRED',
        error_message = 'no worker started the task within its queueTtlMs of ' || t.queue_ttl_ms || ' ms'
      from late where t.id = late.id
      returning t.id, t.event_seq as seq
    ), unboxed as (
      delete from outbox o using changed c where o.task_id = c.id
    ), logged as (
      insert into events (task_id, seq, type, data)
      select id, seq, 'task.timed_out', '{"code":"QUEUE_EXPIRED"}' from changed
    )${toIndex(sql`changed`)}
    select * from changed
  `.execute(db);
  return rows;
}

/**
 * Tasks whose provider no live worker could prove end: what cannot be enforced is refused. One that has run before waits:
 * its journal is worth more than an answer now.
 */
export async function endUnprovable(
  db: Database,
  { name, reason }: { name: string; reason: string },
): Promise<{ id: string; seq: number }[]> {
  const message = `no worker can enforce the isolation of the provider "${name}": ${storable(reason)}`;
  const { rows } = await sql<{ id: string; seq: number }>`
    with stuck as (
      select t.id from outbox o join tasks t on t.id = o.task_id
      where o.provider = ${name} and o.run_at is null and t.status = 'QUEUED' and t.segments = 0
        and t.forked_from is null
      order by t.id limit 1000 for update of t skip locked
    ), changed as (
      update tasks t set
        status = 'FAILED', finished_at = now(), event_seq = t.event_seq + 1, job = t.job + 1,
        error_code = 'ISOLATION_UNAVAILABLE', error_message = ${message}
      from stuck where t.id = stuck.id
      returning t.id, t.event_seq as seq
    ), unboxed as (
      delete from outbox o using changed c where o.task_id = c.id
    ), logged as (
      insert into events (task_id, seq, type, data)
      select id, seq, 'task.failed', '{"code":"ISOLATION_UNAVAILABLE"}' from changed
    )${endOpenCalls(sql`changed`)}${toIndex(sql`changed`)}
    select id, seq from changed
  `.execute(db);
  return rows;
}
