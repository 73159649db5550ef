import { sql } from "kysely";
import { newId } from "../../contracts/index.ts";
import { copyArtifacts } from "../artifacts.ts";
import type { Database } from "../database.ts";
import { raisesOf } from "./budget.ts";
import { toIndex } from "./search.ts";

export interface ForkedTask {
  readonly id: string;
  /** Approval of the original → its twin in the fork. */
  readonly approvals: ReadonlyMap<string, string>;
}

/**
 * Copies a parked task: row, journal, kept guest, files, and pending approvals under ids of their own. Null where the
 * project has no such task or it is not parked. Called in a transaction, which locks the original while it is copied.
 */
export async function forkTask(
  tx: Database,
  source: { taskId: string; projectId: string; submittedBy: string | null },
): Promise<ForkedTask | null> {
  const { rows: found } = await sql<{ id: string }>`
    select id from tasks where id = ${source.taskId} and project_id = ${source.projectId} and status = 'PARKED' for update
  `.execute(tx);
  if (found.length === 0) return null;
  const pending = await tx
    .selectFrom("approvals")
    .select("id")
    .where("task_id", "=", source.taskId)
    .where("status", "=", "PENDING")
    .orderBy("id")
    .execute();
  const id = newId();
  const twins = new Map(pending.map((approval) => [approval.id, newId()]));
  await sql`
    with copied as (
      insert into tasks (
        id, project_id, retry_of, forked_from, submitted_by, status, language, environment, provider, code, input,
        session, priority, timeout_ms, max_tool_calls, seed, event_seq, recorded_output, calls, completions, active_ms,
        wake_at, waiting_for, isolation, started_at, environment_id, environment_revision, session_pinned,
        dependencies, lock_hash, commit_hash, sandbox_pin, raises, recorded_stderr, dropped_output
      )
      select ${id}, project_id, null, id, ${source.submittedBy}, 'PARKED', language, environment, provider, code, input,
        session, priority, timeout_ms, max_tool_calls, seed, ${2 + twins.size}, recorded_output, calls, completions, active_ms,
        wake_at, waiting_for, isolation, started_at, environment_id, environment_revision, session_pinned,
        dependencies, lock_hash, commit_hash, sandbox_pin, raises + (${raisesOf(sql`tasks.id`)}),
        recorded_stderr, dropped_output
      from tasks where id = ${source.taskId}
      returning id, waiting_for
    ), twins as (
      select * from unnest(${[...twins.keys()]}::uuid[], ${[...twins.values()]}::uuid[]) as t (was, now)
    ), asked as (
      insert into approvals (
        id, project_id, task_id, call_index, kind, status, path, version, default_mode, input_hash, edited_input,
        expires_at
      )
      select t.now, p.project_id, c.id, p.call_index, p.kind, p.status, p.path, p.version, p.default_mode,
        p.input_hash, p.edited_input, p.expires_at
      from copied c cross join twins t join approvals p on p.id = t.was
    ), called as (
      insert into tool_calls (
        task_id, index, path, sent, input, input_hash, version, status, approval_id, wake_at, output, error_code,
        error_message, completion, started_at, finished_at
      )
      select c.id, j.index, j.path, j.sent, j.input, j.input_hash, j.version, j.status,
        coalesce(t.now, j.approval_id), j.wake_at, j.output, j.error_code, j.error_message, j.completion,
        j.started_at, j.finished_at
      from copied c join tool_calls j on j.task_id = ${source.taskId} left join twins t on t.was = j.approval_id
    ), kept as (
      insert into kept_guests (task_id, image, state, calls, settled, printed, printed_stderr)
      select c.id, k.image, k.state, k.calls, k.settled, k.printed, k.printed_stderr
      from copied c join kept_guests k on k.task_id = ${source.taskId}
    ), pinned as (
      insert into session_files (task_id, path, project_id, sha256, size)
      select c.id, f.path, f.project_id, f.sha256, f.size
      from copied c join session_files f on f.task_id = ${source.taskId}
    ), labelled as (
      insert into task_labels (task_id, project_id, key, value)
      select c.id, l.project_id, l.key, l.value from copied c join task_labels l on l.task_id = ${source.taskId}
    )${toIndex(sql`copied`)}
    insert into events (task_id, seq, type, data)
    select c.id, 1, 'task.queued', ${JSON.stringify({ forkOf: source.taskId })} from copied c
    union all
    select c.id, 1 + row_number() over (order by p.call_index, p.id), 'approval.requested',
      json_build_object('approvalId', t.now, 'index', p.call_index)::text
    from copied c cross join twins t join approvals p on p.id = t.was
    union all
    select c.id, ${2 + twins.size}, 'task.parked', json_build_object('waitingFor', c.waiting_for)::text from copied c
  `.execute(tx);
  await copyArtifacts(tx, source.taskId, id);
  return { id, approvals: twins };
}
