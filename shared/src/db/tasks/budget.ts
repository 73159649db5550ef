import { type RawBuilder, sql } from "kysely";

/** A scalar subquery: the calls of a task that its budget has paid for. One that was refused as it came has no version. */
export function countedCalls(taskId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select count(*)::integer from tool_calls j where j.task_id = ${taskId} and j.version <> ''`;
}

/** The same: how often a person has raised the task's budget. */
export function raisesOf(taskId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select count(*)::integer from approvals p
    where p.task_id = ${taskId} and p.kind = 'BUDGET' and p.status = 'APPROVED'
  `;
}
