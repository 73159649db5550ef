import { sql } from "kysely";
import type { Language } from "../../domain/index.ts";
import { insertArtifacts } from "../artifacts.ts";
import type { KeptContent } from "../contents.ts";
import { type Database, PREPARED } from "../database.ts";
import { toIndex } from "./search.ts";

/** A validated task on its way in. */
export interface NewTask {
  readonly id: string;
  readonly projectId: string;
  readonly batchId: string | null;
  readonly retryOf: string | null;
  readonly submittedBy: string | null;
  readonly language: Language;
  readonly environment: string;
  /** Null: a built-in one. */
  readonly environmentId: string | null;
  readonly provider: string;
  readonly code: string;
  /** JSON text. */
  readonly input: string | null;
  readonly session: string | null;
  readonly priority: number;
  readonly timeoutMs: number | null;
  readonly queueTtlMs: number | null;
  readonly maxToolCalls: number | null;
  /** False: its program is run at most once. */
  readonly replayable: boolean;
  readonly runAt: Date | null;
  readonly idempotencyKey: string | null;
  /** SHA-256 of the payload, where there is an idempotency key. */
  readonly fingerprint: Buffer | null;
  readonly seed: Buffer;
  /** JSON text, names sorted; null: none. */
  readonly dependencies: string | null;
  /** Key and JSON text of a scalar. */
  readonly labels: readonly (readonly [string, string])[];
  /** What the task is given; contents are taken in already. */
  readonly files: readonly (KeptContent & { readonly path: string })[];
}

/** A task that Postgres says has a job in BullMQ. */
export interface JobToAdd {
  readonly taskId: string;
  readonly provider: string;
  readonly job: number;
  readonly priority: number;
}

export interface InsertedTasks {
  /** Ids that were inserted; one that is missing met its idempotency key. */
  readonly inserted: ReadonlySet<string>;
  /** The ones to put into BullMQ now. The others wait in the outbox for the feeder. */
  readonly toEnqueue: readonly JobToAdd[];
  /** Of all that were inserted: they share a transaction. Null where none was. */
  readonly createdAt: Date | null;
}

/**
 * Task rows, their first events and their outbox rows in one statement, so in one transaction whatever `db` is.
 * At most `window` of a project's tasks are marked as enqueued, counting those already there.
 */
export async function insertTasks(db: Database, tasks: readonly NewTask[], window: number): Promise<InsertedTasks> {
  const column = <K extends keyof NewTask>(key: K): NewTask[K][] => tasks.map((task) => task[key]);
  const now = new Date();
  const later = tasks.map((task) => (task.runAt !== null && task.runAt > now ? task.runAt : null));
  const { rows } = await sql<{ id: string; provider: string; priority: number; enqueue: boolean; created_at: Date }>`
    ${PREPARED} with asked as (
      select * from unnest(
        ${column("id")}::uuid[], ${column("projectId")}::uuid[], ${column("batchId")}::uuid[],
        ${column("retryOf")}::uuid[], ${column("submittedBy")}::uuid[], ${column("language")}::text[],
        ${column("environment")}::text[], ${column("provider")}::text[], ${column("code")}::text[],
        ${column("input")}::text[], ${column("session")}::text[], ${column("priority")}::smallint[],
        ${column("timeoutMs")}::integer[], ${column("queueTtlMs")}::bigint[], ${column("maxToolCalls")}::integer[],
        ${later}::timestamptz[], ${column("idempotencyKey")}::text[], ${column("fingerprint")}::bytea[],
        ${column("seed")}::bytea[], ${column("environmentId")}::uuid[], ${column("dependencies")}::text[],
        ${column("replayable")}::boolean[]
      ) with ordinality as a (
        id, project_id, batch_id, retry_of, submitted_by, language, environment, provider, code, input, session,
        priority, timeout_ms, queue_ttl_ms, max_tool_calls, run_at, idempotency_key, fingerprint, seed, environment_id,
        dependencies, replayable, ordinal
      )
    ), inserted as (
      insert into tasks (
        id, project_id, batch_id, retry_of, submitted_by, status, language, environment, provider, code, input,
        session, priority, timeout_ms, queue_ttl_ms, max_tool_calls, run_at, queue_expires_at, idempotency_key,
        fingerprint, seed, environment_id, dependencies, replayable, event_seq
      )
      select
        id, project_id, batch_id, retry_of, submitted_by, 'QUEUED', language, environment, provider, code, input,
        session, priority, timeout_ms, queue_ttl_ms, max_tool_calls, run_at,
        coalesce(run_at, now()) + queue_ttl_ms * interval '1 millisecond', idempotency_key, fingerprint, seed,
        environment_id, dependencies, replayable, 1
      from asked order by ordinal
      on conflict (project_id, idempotency_key) where idempotency_key is not null do nothing
      returning id, project_id, provider, priority, run_at, created_at
    ), held as (
      select project_id, provider, (
        select count(*) from outbox o
        where o.project_id = p.project_id and o.provider = p.provider and o.enqueued_at is not null
      ) as jobs
      from (select distinct project_id, provider from inserted) p
    ), placed as (
      select i.*, i.run_at is null and ${window} >= held.jobs + row_number() over (
        partition by i.project_id, i.provider order by i.run_at nulls first, i.priority desc, i.id
      ) as enqueue
      from inserted i join held using (project_id, provider)
    ), boxed as (
      insert into outbox (task_id, project_id, provider, job, priority, run_at, enqueued_at)
      select id, project_id, provider, 1, priority, run_at, case when enqueue then now() end from placed
    ), logged as (
      insert into events (task_id, seq, type, data) select id, 1, 'task.queued', '{}' from placed
    )${toIndex(sql`placed`)}
    select id, provider, priority, enqueue, created_at from placed
  `.execute(db);
  const inserted = new Set(rows.map((row) => row.id));
  const fresh = tasks.filter((task) => inserted.has(task.id));
  await insertLabels(db, fresh);
  await insertFiles(db, fresh);
  return {
    inserted,
    toEnqueue: rows
      .filter((row) => row.enqueue)
      .map((row) => ({ taskId: row.id, provider: row.provider, job: 1, priority: row.priority })),
    createdAt: rows[0]?.created_at ?? null,
  };
}

async function insertLabels(db: Database, tasks: readonly NewTask[]): Promise<void> {
  const rows = tasks.flatMap((task) =>
    task.labels.map(([key, value]) => ({ task_id: task.id, project_id: task.projectId, key, value })),
  );
  // 4 parameters a row; Postgres takes 65,535 a statement.
  for (let from = 0; from < rows.length; from += 10_000) {
    await db
      .insertInto("task_labels")
      .values(rows.slice(from, from + 10_000))
      .execute();
  }
}

function insertFiles(db: Database, tasks: readonly NewTask[]): Promise<unknown> {
  const files = tasks.flatMap((task) =>
    task.files.map(({ path, ...content }) => ({ path, content, projectId: task.projectId, taskId: task.id })),
  );
  return insertArtifacts(
    db,
    // Not the session's: what a task is given is no output of anybody.
    files.map(({ path, ...file }) => ({ ...file, session: null, name: path, direction: "INPUT" as const })),
  );
}
