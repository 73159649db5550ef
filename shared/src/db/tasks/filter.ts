import { type RawBuilder, sql } from "kysely";
import type { TaskStatus } from "../../domain/index.ts";

export interface TaskFilter {
  readonly status?: readonly TaskStatus[] | undefined;
  readonly environment?: string | undefined;
  readonly session?: string | undefined;
  readonly batchId?: string | undefined;
  /** Key and JSON text of a scalar; all must match. */
  readonly labels?: readonly (readonly [string, string])[] | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  /** Words of the code, of a label or of the error message; all must be there. */
  readonly search?: string | undefined;
}

/**
 * Whether the task `t` matches; `found` says how its words are looked at. Labels are compared as values of subqueries:
 * a join would let the planner read all tasks of a common one.
 */
export function matches(
  projectId: string,
  filter: TaskFilter,
  found: (search: string) => RawBuilder<boolean>,
): RawBuilder<boolean> {
  const { status, environment, session, batchId, labels, createdAfter, createdBefore, search } = filter;
  const parts: RawBuilder<unknown>[] = [sql`t.project_id = ${projectId}`];
  if (status) parts.push(sql`t.status = any(${status}::text[])`);
  if (environment !== undefined) parts.push(sql`t.environment = ${environment}`);
  if (session !== undefined) parts.push(sql`t.session = ${session}`);
  if (batchId !== undefined) parts.push(sql`t.batch_id = ${batchId}`);
  if (createdAfter) parts.push(sql`t.created_at > ${createdAfter}`);
  if (createdBefore) parts.push(sql`t.created_at < ${createdBefore}`);
  for (const [key, value] of labels ?? []) {
    parts.push(sql`(select l.value from task_labels l where l.task_id = t.id and l.key = ${key}) = ${value}`);
  }
  if (search !== undefined) parts.push(found(search));
  return sql<boolean>`(${sql.join(parts, sql` and `)})`;
}
