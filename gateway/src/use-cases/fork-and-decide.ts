import { isId } from "@airlock/shared/contracts";
import {
  audit,
  type Caller,
  type Database,
  type Decidable,
  findAsked,
  findDecidable,
  forkTask,
  beginPolicyChange,
  rejudge,
  type Settled,
  settleApprovals,
  type TaskRow,
} from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { ReadyDecision } from "../decisions.ts";
import { checkDecision } from "./approvals/check-decision.ts";
import { lostFault } from "./approvals/conflict.ts";
import type { DecisionInput } from "./approvals/decision-input.ts";
import { rememberFaults } from "./approvals/remember.ts";
import { notFound } from "./not-found.ts";

export interface Forked {
  readonly id: string;
  /** The fork's own approvals that nobody has decided. */
  readonly asked: readonly Decidable[];
  readonly settled: Settled;
  /** Null where no policy changed. */
  readonly rejudged: readonly Settled[] | null;
}

/**
 * Null where the task is not parked any more. The fork counts as submitted by whoever submitted the original: its
 * program is theirs, so they are the ones who may not approve what it does.
 */
export async function forkAndDecide(
  tx: Database,
  caller: Caller,
  original: TaskRow,
  given: readonly DecisionInput[],
): Promise<Forked | null> {
  const { projectId } = caller;
  if (given.some((decision) => decision.remember)) await beginPolicyChange(tx, projectId);
  const fork = await forkTask(tx, { taskId: original.id, projectId, submittedBy: original.submitted_by });
  if (fork === null) return null;
  const twins = (await findDecidable(tx, [...fork.approvals.values()])).filter((row) => row !== null);
  const decisions = await checkAll(tx, caller, { original, approvals: fork.approvals, twins }, given);
  const settled = await settleApprovals(
    tx,
    decisions.map((decision) => decision.outcome),
    "live",
    decisions.map((decision) => decision.consequence),
  );
  // Only time can have come between: nobody else knows the fork yet.
  if (settled.ids.size < decisions.length) throw new ApiError("CONFLICT", "an approval expired just now");
  const patterns = decisions.flatMap(({ consequence }) => consequence.policy?.pattern ?? []);
  const rejudged = patterns.length > 0 ? await rejudge(tx, projectId, patterns) : null;
  const data = { forkOf: original.id, decisions: decisions.length };
  await audit(tx, { projectId, actor: `key:${caller.keyId}`, action: "task.forked", subject: fork.id, data });
  const ended = new Set([settled, ...(rejudged ?? [])].flatMap(({ ids }) => [...ids]));
  return { id: fork.id, asked: twins.filter((row) => !ended.has(row.id)), settled, rejudged };
}

interface Copies {
  readonly original: TaskRow;
  /** Approval of the original → its twin. */
  readonly approvals: ReadonlyMap<string, string>;
  readonly twins: readonly Decidable[];
}

/** The decisions name the original's approvals and settle their twins. The first refusal ends it all. */
async function checkAll(
  tx: Database,
  caller: Caller,
  { original, approvals, twins }: Copies,
  given: readonly DecisionInput[],
): Promise<ReadyDecision[]> {
  const byId = new Map(twins.map((row) => [row.id, row]));
  const asked = await findAsked(tx, [...byId.keys()]);
  const ready: ReadyDecision[] = [];
  for (const decision of given) {
    const twin = byId.get(approvals.get(decision.id.toLowerCase()) ?? "");
    if (twin === undefined) throw await noTwin(tx, original, decision.id);
    const checked = checkDecision(caller, decision, twin, asked.get(twin.id) ?? null);
    if (checked instanceof ApiError) throw checked;
    ready.push(checked);
  }
  const [fault] = (await rememberFaults(tx, ready)).values();
  if (fault) throw fault;
  return ready;
}

async function noTwin(tx: Database, original: TaskRow, approvalId: string): Promise<ApiError> {
  const [row] = isId(approvalId) ? await findDecidable(tx, [approvalId]) : [];
  return row?.task_id === original.id ? lostFault(row) : notFound("approval");
}
