import { sql } from "kysely";
import type { ApprovalStatus } from "../../domain/index.ts";
import { type Database, PREPARED } from "../database.ts";
import { rowsOf } from "../rows.ts";
import { storable } from "../tasks/storable.ts";
import { toWoken, wakeParts, type Woken, type WokenRow } from "../tasks/wake.ts";
import { type Consequence, consequenceParts } from "./consequences.ts";

/** What becomes of a pending approval. */
export interface Outcome {
  readonly id: string;
  readonly status: Exclude<ApprovalStatus, "PENDING">;
  /** Hex; null where nobody looked at what was shown (expiry, supersession). */
  readonly inputHash: string | null;
  readonly decidedBy: string | null;
  readonly reason: string | null;
  /** JSON text. */
  readonly editedInput: string | null;
  readonly answer: string | null;
}

export interface Settled extends Woken {
  /** The approvals that took their outcome; the others were not pending any more, too late, or not as shown. */
  readonly ids: ReadonlySet<string>;
  /** When they took it, by the database's clock; null where none did. */
  readonly at: Date | null;
}

/**
 * Settles many approvals and wakes their tasks, in one statement: the task's row is locked first, as parking does. Of
 * two racing decisions one changes the row; the other finds it settled. `when` guards by the database's clock: a
 * decision needs an approval that has not expired, an expiry one that has. Nothing is settled for a task that is to be
 * cancelled: its worker, which may not have heard of it, would run what was approved. An approval may appear once.
 */
export async function settleApprovals(
  db: Database,
  outcomes: readonly Outcome[],
  when: "live" | "overdue" | "always",
  consequences: readonly Consequence[] = [],
): Promise<Settled> {
  const column = <K extends keyof Outcome>(key: K) => outcomes.map((outcome) => outcome[key]);
  // As expressions: plain comparisons let the planner walk the indexes of all pending approvals.
  const expiry = sql`p.expires_at + interval '0'`;
  const guard = { live: sql`${expiry} > now()`, overdue: sql`${expiry} <= now()`, always: sql`true` }[when];
  const { rows } = await sql<WokenRow & { approvals: string[]; at: Date }>`
    ${PREPARED} with asked as (
      select * from ${rowsOf([
        ["uuid", column("id")],
        ["text", column("status")],
        ["text", column("inputHash")],
        ["text", outcomes.map((outcome) => storable(outcome.decidedBy))],
        ["text", outcomes.map((outcome) => storable(outcome.reason))],
        ["text", column("editedInput")],
        ["text", column("answer")],
      ])} as a (id, status, input_hash, decided_by, reason, edited_input, answer)
    ), locked as (
      select id from tasks
      where id in (select p.task_id from approvals p join asked using (id)) and cancel_requested_at is null
      order by id for update
    ), settled as (
      update approvals p set
        status = a.status, decided_at = now(), decided_by = a.decided_by, reason = a.reason,
        edited_input = coalesce(a.edited_input, p.edited_input), answer = a.answer
      from asked a
      where (select count(*) from locked) > 0 and p.id = a.id and p.status || '' = 'PENDING' and ${guard}
        and (p.task_id in (select id from locked)) is true
        and (a.input_hash is null or p.input_hash = decode(a.input_hash, 'hex'))
      returning p.id, p.task_id, p.status, p.decided_by
    ), counted as (
      select s.task_id as id, count(*)::integer as outcomes, array_agg(s.id order by s.id) as approvals, array_agg(
        json_build_object('approvalId', s.id, 'decision', s.status, 'by', s.decided_by)::text order by s.id
      ) as told
      from settled s group by 1
    ), ${wakeParts(sql`counted`)}, logged as (
      insert into events (task_id, seq, type, data)
      select w.id, w.base + e.n, 'approval.decided', e.data
      from woken w cross join lateral unnest(w.told) with ordinality as e (data, n)
    )${consequenceParts(consequences)}
    select id, provider, job, priority, seq, queued, enqueue, running, approvals, now() as at from placed
  `.execute(db);
  return { ...toWoken(rows), ids: new Set(rows.flatMap((row) => row.approvals)), at: rows[0]?.at ?? null };
}
