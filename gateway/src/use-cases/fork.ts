import { isId } from "@airlock/shared/contracts";
import { type Caller, type Decidable, findTask, retryDeadlocks, type Settled, type TaskRow } from "@airlock/shared/db";
import { ApiError, type TaskStatus } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { requireScope } from "../require-scope.ts";
import type { DecisionInput } from "./approvals/decision-input.ts";
import { announceRejudged } from "./approvals/rejudge.ts";
import { forkAndDecide } from "./fork-and-decide.ts";
import { notFound } from "./not-found.ts";

/** A second task from a parked one, with its own answers. All or nothing. */
export async function forkTask(
  app: App,
  caller: Caller,
  given: { id: string; decisions?: readonly DecisionInput[] | null | undefined },
): Promise<TaskRow> {
  const decisions = given.decisions ?? [];
  if (decisions.length > 0) requireScope(caller, "approve");
  refuseRepeats(decisions);
  const original = isId(given.id) ? await findTask(app.db, caller.projectId, given.id) : null;
  if (original === null) throw notFound("task");
  const forked = await retryDeadlocks(() =>
    app.db.transaction().execute((tx) => forkAndDecide(tx, caller, original, decisions)),
  );
  if (forked === null) throw notParked((await findTask(app.db, caller.projectId, given.id))?.status ?? original.status);
  announceFork(app, caller.projectId, forked);
  app.metrics.submitted("fork", 1);
  return (await findTask(app.db, caller.projectId, forked.id)) as TaskRow;
}

function refuseRepeats(decisions: readonly DecisionInput[]): void {
  const ids = new Set(decisions.map((decision) => decision.id.toLowerCase()));
  if (ids.size < decisions.length) throw new ApiError("BAD_INPUT", "decisions: name an approval more than once");
}

function notParked(status: TaskStatus): ApiError {
  return new ApiError("CONFLICT", `the task is ${status}; only a PARKED task can be forked`);
}

function announceFork(
  app: App,
  projectId: string,
  forked: { id: string; asked: readonly Decidable[]; settled: Settled; rejudged: readonly Settled[] | null },
): void {
  const { id, asked, settled, rejudged } = forked;
  app.announcer.announce({
    woken: { ...settled, events: settled.events.length > 0 ? settled.events : [[id, 1]] },
    settled: [...settled.ids].map((approval) => [projectId, approval]),
    asked: asked.map((row) => ({ id: row.id, projectId, expiresAt: row.expires_at })),
  });
  if (rejudged !== null) announceRejudged(app.announcer, projectId, rejudged);
}
