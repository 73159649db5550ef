import { type RawBuilder, sql } from "kysely";
import { smallestIdAt } from "../../contracts/index.ts";
import { assertNever, type TaskStatus } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import { matches, type TaskFilter } from "./filter.ts";
import { STATE_OF_TASK, type TaskRow, type TaskState } from "./read.ts";
import { indexRest, isFound, queryOf, searchTasks } from "./search.ts";

export interface TaskList<Row = TaskRow> {
  readonly rows: Row[];
  /** The id up to which was looked, where that ended before the page was full: there may be more behind it. */
  readonly lookedUpTo: string | null;
}

/** Tasks that a walk looks at first: some milliseconds. */
const SHORT_WALK = 500;
/** Tasks that any list looks at before it says where to go on: some tenths of a second. */
const LONG_WALK = 20_000;
/** Tasks that are found by their words and then put in order. */
const MAX_FOUND = 5_000;
/** Tasks that a search indexes first. */
const MAX_UNINDEXED = 200;
/** Ids are made by gateways, `created_at` by Postgres: their clocks may differ by as much. */
const CLOCKS_MS = 60_000;

/**
 * Newest first; `after` is the id of the last task of the page before. Each index that fits the filter is walked for a
 * while, in the order of the page; then those tasks are put in order that have all words, labels and the environment,
 * unless they are too many; then one index is walked further. So a page costs about the same whatever the filter and
 * however many tasks there are.
 */
export function listTasks(db: Database, projectId: string, filter: TaskFilter, page: Page): Promise<TaskList> {
  return list(db, projectId, filter, page, sql<TaskRow>`t.*`);
}

/** The same list, of no more than tells whether a task has changed. */
export function listTaskStates(
  db: Database,
  projectId: string,
  filter: TaskFilter,
  page: Page,
): Promise<TaskList<TaskState>> {
  return list(db, projectId, filter, page, STATE_OF_TASK);
}

interface Page {
  readonly limit: number;
  readonly after: string | null;
}

async function list<Row extends TaskState>(
  db: Database,
  projectId: string,
  filter: TaskFilter,
  page: Page,
  columns: RawBuilder<Row>,
): Promise<TaskList<Row>> {
  if (filter.search !== undefined) await indexRest(db, MAX_UNINDEXED);
  if (filter.status?.length === 0) return { rows: [], lookedUpTo: null };
  const look: Look<Row> = { db, projectId, filter, columns, limit: page.limit, range: rangeOf(filter, page.after) };
  const [first, ...others] = walksOf(projectId, filter, look.range);
  for (const walk of [first, ...others]) {
    const { rows, more } = await walkTasks(look, walk, SHORT_WALK);
    if (rows.length === page.limit || !more) return { rows, lookedUpTo: null };
  }
  const found = await foundTasks(look);
  if (found !== null) return { rows: await sortTasks(look, found), lookedUpTo: null };
  const { rows, more, last } = await walkTasks(look, first, LONG_WALK);
  return { rows, lookedUpTo: rows.length < page.limit && more ? last : null };
}

/** All that have the words, labels and environment of the filter; null where they are too many, or not all indexed. */
async function foundTasks({ db, projectId, filter }: Look<TaskState>): Promise<string[] | null> {
  const query = queryOf(projectId, filter);
  if (query === null) return null;
  // A search may be behind by a few seconds; other filters are exact.
  if (filter.search === undefined && !(await indexRest(db, MAX_UNINDEXED))) return null;
  const found = await searchTasks(db, query, MAX_FOUND + 1);
  return found.length > MAX_FOUND ? null : found;
}

interface Look<Row> {
  readonly db: Database;
  readonly projectId: string;
  readonly filter: TaskFilter;
  /** Of the task `t`. */
  readonly columns: RawBuilder<Row>;
  readonly limit: number;
  readonly range: Range;
}

/** Ids from `least` (inclusive) to `below` (exclusive). */
interface Range {
  readonly least: string;
  readonly below: string;
}

const ALL: Range = {
  least: "00000000-0000-0000-0000-000000000000",
  below: "ffffffff-ffff-ffff-ffff-ffffffffffff",
};

function rangeOf({ createdAfter, createdBefore }: TaskFilter, after: string | null): Range {
  const idAt = (time: Date, clocksMs: number): string => smallestIdAt(new Date(Math.max(0, time.getTime() + clocksMs)));
  const below = createdBefore ? idAt(createdBefore, CLOCKS_MS) : ALL.below;
  return {
    least: createdAfter ? idAt(createdAfter, -CLOCKS_MS) : ALL.least,
    below: after !== null && after < below ? after : below,
  };
}

/** A query of up to so many `id`s, the newest first. */
type Walk = (limit: number) => RawBuilder<unknown>;

/** `ids` selects from an index that has them in order. */
const inOrder = (ids: RawBuilder<unknown>, id: RawBuilder<unknown>, { least, below }: Range): Walk => {
  return (limit) => sql`${ids} and ${id} >= ${least} and ${id} < ${below} order by ${id} desc limit ${limit}`;
};

/** `ids` selects few, which are put in order; `offset 0` keeps the planner from looking for them along another index. */
const sorted = (ids: RawBuilder<unknown>, range: Range): Walk =>
  inOrder(sql`select id from (${ids} offset 0) few where true`, sql`id`, range);

/** The indexes that fit, those that may hold the fewest tasks first. */
function walksOf(projectId: string, filter: TaskFilter, range: Range): [Walk, ...Walk[]] {
  const { batchId, session, labels = [], status } = filter;
  const tasks = sql`select id from tasks where project_id = ${projectId}`;
  if (batchId !== undefined) return [sorted(sql`select id from tasks where batch_id = ${batchId}`, range)];
  const walks: Walk[] = [];
  if (session !== undefined) walks.push(inOrder(sql`${tasks} and session = ${session}`, sql`id`, range));
  for (const [key, value] of labels) {
    const labelled = sql`project_id = ${projectId} and key = ${key} and value = ${value}`;
    walks.push(inOrder(sql`select task_id as id from task_labels where ${labelled}`, sql`task_id`, range));
  }
  if (status) walks.push(merged(status.flatMap((one) => walksOfStatus(projectId, one, range))));
  const [first, ...others] = walks;
  return first ? [first, ...others] : [inOrder(tasks, sql`id`, range)];
}

function walksOfStatus(projectId: string, status: TaskStatus, range: Range): Walk[] {
  const tasks = sql`select id from tasks where project_id = ${projectId} and status = ${sql.lit(status)}`;
  switch (status) {
    case "QUEUED": {
      const waiting = sql`from outbox where project_id = ${projectId}`;
      return [
        inOrder(sql`select task_id as id ${waiting} and run_at is null`, sql`task_id`, range),
        sorted(sql`select task_id as id ${waiting} and run_at is not null`, range),
      ];
    }
    case "RUNNING":
      return [sorted(sql`${tasks} and worker_id is not null`, range)];
    case "PARKED":
    case "SUCCEEDED":
    case "FAILED":
    case "CANCELLED":
    case "TIMED_OUT":
      return [inOrder(tasks, sql`id`, range)];
    default:
      return assertNever(status);
  }
}

function merged(walks: readonly Walk[]): Walk {
  const [only] = walks;
  if (walks.length === 1 && only) return only;
  return (limit) => {
    const ids = walks.map((walk) => sql`(select id from (${walk(limit)}) one)`);
    return sql`select id from (${sql.join(ids, sql` union all `)}) each order by id desc limit ${limit}`;
  };
}

/** The tasks that match among the next `most` of the walk, and whether it goes on behind them. */
async function walkTasks<Row extends TaskState>(
  look: Look<Row>,
  walk: Walk,
  most: number,
): Promise<{ rows: Row[]; more: boolean; last: string | null }> {
  const { rows } = await sql<Row & { looked: number; last: string | null }>`
    select l.looked, l.last, m.*
    from (select count(*)::integer as looked, (array_agg(id order by id))[1] as last from (${walk(most)}) w) l
    left join lateral (
      select ${look.columns} from (${walk(most)}) w cross join lateral (select * from tasks where id = w.id offset 0) t
      where ${matches(look.projectId, look.filter, isFound)}
      order by w.id desc limit ${look.limit}
    ) m on true
    order by m.id desc
  `.execute(look.db);
  const { looked, last } = rows[0] as { looked: number; last: string | null };
  return { rows: rows.filter((row) => row.id !== null), more: looked === most, last };
}

async function sortTasks<Row extends TaskState>(look: Look<Row>, ids: readonly string[]): Promise<Row[]> {
  const { db, projectId, filter, columns, range, limit } = look;
  const { rows } = await sql<Row>`
    select ${columns} from tasks t
    where t.id = any(${ids}::uuid[]) and t.id >= ${range.least} and t.id < ${range.below}
      and ${matches(projectId, filter, isFound)}
    order by t.id desc limit ${limit}
  `.execute(db);
  return rows;
}
