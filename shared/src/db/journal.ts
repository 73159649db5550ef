import { type RawBuilder, type Selectable, sql } from "kysely";
import type { ApprovalKind, ApprovalStatus, TaskErrorCode, ToolCallStatus } from "../domain/index.ts";
import type { Database } from "./database.ts";
import type { ToolCallsTable } from "./tables.ts";

export type ToolCallRow = Selectable<ToolCallsTable>;

/** What became of the question to a person. */
export interface Verdict {
  readonly id: string;
  readonly kind: ApprovalKind;
  readonly status: ApprovalStatus;
  /** Of the tool that it was about. */
  readonly version: string;
  readonly reason: string | null;
  readonly decidedBy: string | null;
  /** JSON text. */
  readonly editedInput: string | null;
  /** JSON text. */
  readonly answer: string | null;
}

/** A call as a segment needs it. */
export interface JournalRow {
  readonly index: number;
  readonly path: string;
  /** JSON text of the input as the guest sent it, and with defaults where those changed it. */
  readonly sent: string;
  readonly input: string | null;
  readonly inputHash: string;
  readonly version: string;
  readonly status: ToolCallStatus;
  readonly output: string | null;
  readonly errorCode: TaskErrorCode | null;
  readonly errorMessage: string | null;
  /** Its place in the order of outcomes; null while it has none. */
  readonly completion: number | null;
  /** Milliseconds since 1970. */
  readonly finishedAt: number | null;
  readonly wakeAt: number | null;
  readonly verdict: Verdict | null;
}

const millis = (column: string): RawBuilder<unknown> =>
  sql`floor(extract(epoch from ${sql.ref(column)}) * 1000)::bigint`;

/** A scalar subquery: the calls of a task that have no outcome, or one after the first `settled`, as JSON text. */
export function journalOf(taskId: RawBuilder<unknown>, settled: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select json_agg(json_build_object(
      'index', j.index, 'path', j.path, 'sent', j.sent, 'input', j.input, 'inputHash', encode(j.input_hash, 'hex'),
      'version', j.version, 'status', j.status, 'output', j.output, 'errorCode', j.error_code,
      'errorMessage', j.error_message, 'completion', j.completion, 'finishedAt', ${millis("j.finished_at")},
      'wakeAt', ${millis("j.wake_at")},
      'verdict', (select json_build_object(
        'id', v.id, 'kind', v.kind, 'status', v.status, 'version', v.version, 'reason', v.reason,
        'decidedBy', v.decided_by, 'editedInput', v.edited_input, 'answer', v.answer
      ) from approvals v where v.id = j.approval_id)
    ) order by j.index)::text
    from tool_calls j
    where j.task_id = ${taskId} and (j.completion is null or j.completion > ${settled})
  `;
}

export function readJournal(text: string | null): JournalRow[] {
  return text === null ? [] : (JSON.parse(text) as JournalRow[]);
}

/** What a running segment is told to look at: its open calls, and which outcomes they show. Null: not its task. */
export async function openCalls(
  db: Database,
  segment: { taskId: string; fence: number },
): Promise<{ wakes: number; journal: JournalRow[] } | null> {
  const { rows } = await sql<{ wakes: number; journal: string | null }>`
    select t.wakes, (${journalOf(sql`t.id`, sql`t.completions`)}) as journal
    from tasks t where t.id = ${segment.taskId} and t.segments = ${segment.fence} and t.status = 'RUNNING'
  `.execute(db);
  const [row] = rows;
  return row ? { wakes: row.wakes, journal: readJournal(row.journal) } : null;
}

/** In order of index, beginning after `after`, of many tasks at once. */
export async function listCallsOf(
  db: Database,
  taskIds: readonly string[],
  page: { after: number; limit: number },
): Promise<Map<string, ToolCallRow[]>> {
  const { rows } = await sql<ToolCallRow>`
    select c.* from unnest(${taskIds}::uuid[]) as t (id) cross join lateral (
      select * from tool_calls where task_id = t.id and index > ${page.after} order by index limit ${page.limit}
    ) c order by c.task_id, c.index
  `.execute(db);
  return Map.groupBy(rows, (row) => row.task_id);
}

/** In the order asked; null where there is none. */
export async function findCalls(
  db: Database,
  keys: readonly { taskId: string; index: number }[],
): Promise<(ToolCallRow | null)[]> {
  const { rows } = await sql<ToolCallRow & { place: number }>`
    select c.*, k.place::integer from unnest(
      ${keys.map((key) => key.taskId)}::uuid[], ${keys.map((key) => key.index)}::integer[]
    ) with ordinality as k (task_id, index, place) join tool_calls c on c.task_id = k.task_id and c.index = k.index
  `.execute(db);
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return keys.map((_, place) => byPlace.get(place + 1) ?? null);
}
