import { sql } from "kysely";
import type { TaskJob } from "../../contracts/index.ts";
import type { Language } from "../../domain/index.ts";
import { type Database, PREPARED } from "../database.ts";
import { type JournalRow, journalOf, readJournal } from "../journal.ts";
import { rowsOf } from "../rows.ts";
import { countedCalls, raisesOf } from "./budget.ts";

/** A guest that was kept when its task parked. */
export interface KeptGuest {
  /** Hash of the boot image that `state` is the difference from. */
  readonly image: Buffer;
  readonly state: Buffer;
  /** The guest's own number and the journal's index of each call that it waits for. */
  readonly calls: readonly (readonly [guestId: number, index: number])[];
  /** Characters of output that were recorded when it was kept, and those of them that are stderr's. */
  readonly printed: number;
  readonly printedStderr: number;
}

/** A job to claim, and what its worker brings to it. */
export interface Claim extends TaskJob {
  /** JSON text of the isolation report of the provider that will run it. */
  readonly isolation: string;
  /** The build whose kept guests that provider can restore; null: none. */
  readonly image: Buffer | null;
}

/** What a worker needs to run a task, read in the statement that claims it. */
export interface ClaimedTask {
  readonly id: string;
  readonly project_id: string;
  readonly session: string | null;
  readonly language: Language;
  readonly code: string;
  readonly input: string | null;
  readonly timeout_ms: number | null;
  readonly seed: Buffer;
  readonly started_at: Date;
  /** The fence: every write of this segment carries it. */
  readonly segments: number;
  /** Characters, and those of them that are stderr's. */
  readonly recorded_output: number;
  readonly recorded_stderr: number;
  /** Bytes beyond what is kept, as far as events tell of them. */
  readonly dropped_output: number;
  readonly event_seq: number;
  readonly calls: number;
  readonly active_ms: number;
  /** The program has run before: in an earlier segment, or in the task that this one is a fork of. */
  readonly before: boolean;
  readonly max_tool_calls: number | null;
  /** How many more calls the task may make before a person is asked; null: as many as it likes. */
  readonly budget: number | null;
  /** The changes of the project's policies that were made before the claim. */
  readonly policies_version: number;
  /** The outcomes that `journal` shows. */
  readonly wakes: number;
  readonly environment: string;
  /** Null: a built-in one. */
  readonly environment_id: string | null;
  /** JSON text; null: none. */
  readonly dependencies: string | null;
  /** What an earlier segment has pinned. */
  readonly lock_hash: Buffer | null;
  readonly commit_hash: string | null;
  readonly sandbox_pin: string | null;
  /** False: its program is run at most once. */
  readonly replayable: boolean;
  /** Null where there is none, or none that the claiming provider can restore. */
  readonly kept: KeptGuest | null;
  /** The calls whose outcome the guest, as it was kept, has not been given; without a kept guest, all calls. */
  readonly journal: readonly JournalRow[];
}

type ClaimedRow = Omit<ClaimedTask, "kept" | "journal"> & {
  readonly image: Buffer | null;
  /** In base64: a third shorter on its way than the driver's hexadecimal digits. */
  readonly state: string;
  readonly kept_calls: string;
  readonly printed: number;
  readonly printed_stderr: number;
  readonly journal: string | null;
};

/**
 * Claims many tasks at once. The answer has, for each asked job, its task or null: null means that the job is stale
 * (cancelled, expired, taken over, or enqueued anew) and there is nothing to do.
 *
 * `wakes` is read by a subquery, so as of the statement's snapshot, as the journal is: a decision that commits while
 * the claim waits for the row is in neither, and keeps the segment from parking.
 *
 * An approved call that a kept guest waits for is journaled as started by the claim itself, which saves a commit between
 * decision and effect; the journal that is returned shows it as it was before, approved and waiting.
 */
export async function claimTasks(
  db: Database,
  jobs: readonly Claim[],
  workerId: string,
): Promise<(ClaimedTask | null)[]> {
  // By their number: whatever makes a task wait for a worker again raises it, and a fork is made parked.
  const first = jobs.every(({ job }) => job === 1);
  const { rows } = await sql<ClaimedRow & { place: number }>`
    ${PREPARED} with asked as (
      select * from ${rowsOf([
        ["integer", jobs.map((_, place) => place)],
        ["uuid", jobs.map((job) => job.taskId)],
        ["integer", jobs.map((job) => job.job)],
        ["text", jobs.map((job) => job.isolation)],
        ["bytea", jobs.map((job) => job.image)],
      ])} as a (place, id, job, isolation, image)
    ), claimed as (
      update tasks t set
        status = 'RUNNING', worker_id = ${workerId}, segments = segments + 1, event_seq = event_seq + 1,
        started_at = coalesce(started_at, date_trunc('milliseconds', now())), isolation = a.isolation,
        wake_at = null, waiting_for = null
      from asked a
      where t.id = a.id and t.job = a.job and t.status = 'QUEUED'
        and (t.queue_expires_at is null or t.queue_expires_at > now() or t.segments > 0)
      returning t.id, t.project_id, t.session, t.language, t.code, t.input, t.timeout_ms, t.seed, t.started_at,
        t.segments, t.recorded_output, t.recorded_stderr, t.dropped_output, t.event_seq, t.calls, t.active_ms, t.max_tool_calls,
        t.environment, t.environment_id, t.dependencies, t.lock_hash, t.commit_hash, t.sandbox_pin, t.replayable, t.raises, a.place,
        t.segments > 1 or t.forked_from is not null as before, a.image as own_image
    ), unboxed as (
      delete from outbox o using claimed c where o.task_id = c.id
    ), logged as (
      insert into events (task_id, seq, type, data)
      select id, event_seq, case segments when 1 then 'task.started' else 'task.resumed' end,
        '{"segment":' || segments || '}'
      from claimed
    )${first ? NOTHING_BEFORE : WHAT_WAS_BEFORE}
  `.execute(db);
  // By place: a job may be asked for twice at once, and stands for one claim.
  const claimed = new Map(rows.map(({ place, ...row }) => [place, toClaimed(row)]));
  return jobs.map((_, place) => claimed.get(place) ?? null);
}

/** The first claim of a task finds nothing that an earlier segment has left: half of the work is looking for it. */
const NOTHING_BEFORE = sql`
    select c.*, (select o.policies_version from projects o where o.id = c.project_id), null::bytea as image,
      c.max_tool_calls as budget, 0 as wakes, null as journal
    from claimed c`;

const WHAT_WAS_BEFORE = sql`, started as (
      update tool_calls j set status = 'STARTED', started_at = clock_timestamp()
      from (
        select o.task_id, o.index from claimed c cross join lateral (
          select task_id, index, approval_id, c.own_image from tool_calls
          where c.before and task_id = c.id and status = 'WAITING' and wake_at is null offset 0
        ) o
        where (select v.status || v.kind from approvals v where v.id = o.approval_id) = 'APPROVEDTOOL_CALL'
          and (
            select position(',' || o.index || ']' in k.calls) > 0 from kept_guests k
            where k.task_id = o.task_id and k.image = o.own_image
          )
        offset 0
      ) a
      where j.task_id = a.task_id and j.index = a.index
    )
    select c.*, (select o.policies_version from projects o where o.id = c.project_id), k.image, k.state,
      k.calls as kept_calls, k.printed, k.printed_stderr,
      case when c.max_tool_calls is not null then greatest(c.max_tool_calls, 1) * (c.raises + (
        ${raisesOf(sql`c.id`)}
      )) + c.max_tool_calls - (${countedCalls(sql`c.id`)}) end as budget,
      case when c.before then (select b.wakes from tasks b where b.id = c.id) else 0 end as wakes,
      case when c.calls > 0 then (${journalOf(sql`c.id`, sql`coalesce(k.settled, 0)`)}) end as journal
    from claimed c left join lateral (
      select image, encode(state, 'base64') as state, calls, settled, printed, printed_stderr from kept_guests
      where c.before and task_id = c.id and image = c.own_image offset 0
    ) k on true`;

function toClaimed({ image, kept_calls, printed_stderr, journal: text, ...row }: ClaimedRow): ClaimedTask {
  const { state, printed, ...task } = row;
  const journal = readJournal(text);
  if (image === null) return { ...task, kept: null, journal };
  const calls = JSON.parse(kept_calls) as KeptGuest["calls"];
  const kept = { image, state: Buffer.from(state, "base64"), printed, printedStderr: printed_stderr, calls };
  return { ...task, kept, journal };
}
