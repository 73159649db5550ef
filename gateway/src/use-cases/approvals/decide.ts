import { isId } from "@airlock/shared/contracts";
import {
  type ApprovalRow,
  type Asked,
  type Caller,
  type Decidable,
  findAsked,
  beginPolicyChange,
  rejudge,
  retryDeadlocks,
  settleApprovals,
} from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import type { ReadyDecision } from "../../decisions.ts";
import { checkDecision } from "./check-decision.ts";
import { lostFault } from "./conflict.ts";
import { type DecisionInput, isEdited } from "./decision-input.ts";
import { decidedRow } from "./ready-decision.ts";
import { rememberFaults } from "./remember.ts";
import { announceRejudged } from "./rejudge.ts";

export async function decideApproval(app: App, caller: Caller, given: DecisionInput): Promise<ApprovalRow> {
  const row = isId(given.id) ? await app.decisions.find(given.id) : null;
  const decision = checkDecision(caller, given, row, await askedOf(app, given, row));
  if (decision instanceof ApiError) throw decision;
  return take(app, row as Decidable, decision);
}

/** What was shown is read only where it is compared with something. */
async function askedOf(app: App, given: DecisionInput, row: Decidable | null): Promise<Asked | null> {
  if (row === null || !isEdited(given)) return null;
  return (await findAsked(app.db, [row.id])).get(row.id) ?? null;
}

/** Settles a decision that was found in order; whoever comes second is told who came first. */
export async function take(app: App, row: Decidable, decision: ReadyDecision): Promise<ApprovalRow> {
  const { policy } = decision.consequence;
  const at = policy === null ? await app.decisions.one(decision) : await takeAndRemember(app, decision, policy.pattern);
  if (at === null) throw lostFault(await app.decisions.find(row.id));
  return decidedRow(row, decision, at);
}

/** What is remembered holds for calls that wait already: they are judged anew with it. */
async function takeAndRemember(app: App, decision: ReadyDecision, pattern: string): Promise<Date | null> {
  const { projectId, outcome, consequence } = decision;
  const { settled, rejudged } = await retryDeadlocks(() =>
    app.db.transaction().execute(async (tx) => {
      await beginPolicyChange(tx, projectId);
      const fault = (await rememberFaults(tx, [decision])).get(decision);
      if (fault) throw fault;
      const settled = await settleApprovals(tx, [outcome], "live", [consequence]);
      return { settled, rejudged: settled.at === null ? [] : await rejudge(tx, projectId, [pattern]) };
    }),
  );
  if (settled.at === null) return null;
  app.announcer.announce({ woken: settled, settled: [[projectId, outcome.id]] });
  announceRejudged(app.announcer, projectId, rejudged);
  return settled.at;
}
