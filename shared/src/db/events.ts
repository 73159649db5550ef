import { type Selectable, sql } from "kysely";
import type { TaskEventData } from "../contracts/index.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

export type EventRow = Selectable<Tables["events"]>;

/** In order of `seq`, beginning after `after`. */
export async function listEvents(
  db: Database,
  taskId: string,
  page: { after: number; limit: number },
): Promise<EventRow[]> {
  return db
    .selectFrom("events")
    .selectAll()
    .where("task_id", "=", taskId)
    .where("seq", ">", page.after)
    .orderBy("seq")
    .limit(page.limit)
    .execute();
}

/** The same page of many tasks' events at once: task id → events; a task without events is absent. */
export async function listEventsOf(
  db: Database,
  taskIds: readonly string[],
  page: { after: number; limit: number },
): Promise<Map<string, EventRow[]>> {
  const { rows } = await sql<EventRow>`
    select e.* from unnest(${taskIds}::uuid[]) as t (id) cross join lateral (
      select * from events where task_id = t.id and seq > ${page.after} order by seq limit ${page.limit}
    ) e order by e.task_id, e.seq
  `.execute(db);
  return Map.groupBy(rows, (row) => row.task_id);
}

/** All that a task has printed so far, as far as it was kept: stream → text. */
export async function outputTexts(db: Database, taskId: string): Promise<Map<"stdout" | "stderr", string>> {
  const rows = await db
    .selectFrom("events")
    .select("data")
    .where("task_id", "=", taskId)
    .where("type", "=", "task.output")
    .orderBy("seq")
    .execute();
  const pieces = rows.map(({ data }) => JSON.parse(data) as TaskEventData["task.output"]);
  const byStream = Map.groupBy(pieces, (piece) => piece.stream);
  return new Map([...byStream].map(([stream, all]) => [stream, all.map((piece) => piece.text).join("")]));
}

export interface EventPosition {
  readonly taskId: string;
  readonly after: number;
}

/**
 * What comes next in many tasks' logs at once: task id → events; a task without new ones is absent. Of each task at
 * most `limit` events and, beyond the first, at most `maxBytes` of data; unlike characters, bytes are known without
 * reading what is stored apart.
 */
export async function listEventsAfter(
  db: Database,
  positions: readonly EventPosition[],
  page: { limit: number; maxBytes: number },
): Promise<Map<string, EventRow[]>> {
  const { rows } = await sql<EventRow>`
    select e.task_id, e.seq, e.at, e.type, e.data
    from unnest(${positions.map(({ taskId }) => taskId)}::uuid[], ${positions.map(({ after }) => after)}::integer[])
      as p (task_id, after) cross join lateral (
      select *, sum(octet_length(n.data)) over (order by n.seq) as bytes, row_number() over (order by n.seq) as place
      from (select * from events where task_id = p.task_id and seq > p.after order by seq limit ${page.limit}) n
    ) e where e.place = 1 or e.bytes <= ${page.maxBytes} order by e.task_id, e.seq
  `.execute(db);
  return Map.groupBy(rows, (row) => row.task_id);
}
