import {
  type Database,
  type HeldCall,
  listHeldCalls,
  listHeldPaths,
  listPolicies,
  beginPolicyChange,
  retryDeadlocks,
  type Settled,
  settleApprovals,
  toPolicyRule,
} from "@airlock/shared/db";
import { judge, matchesPattern, SUPERSEDED } from "@airlock/shared/domain";
import type { Announcer } from "../../announcer.ts";
import type { App } from "../../context.ts";
import { CHUNK, cut } from "./chunks.ts";

/**
 * Ends the approvals of held calls that policy no longer wants asked about, so that their tasks wake and the calls are
 * judged anew; the others stay as they are. `patterns` are those of the policies that changed. Called in the
 * transaction that changed them, under their lock.
 */
export async function rejudge(tx: Database, projectId: string, patterns: readonly string[]): Promise<Settled[]> {
  const paths = await listHeldPaths(tx, projectId);
  const touched = paths.filter((path) => patterns.some((pattern) => matchesPattern(pattern, path)));
  if (touched.length === 0) return [];
  const rules = (await listPolicies(tx, projectId)).map(toPolicyRule);
  const now = new Date();
  const isMoot = (call: HeldCall): boolean => judge(rules, { ...call, now }, call.defaultMode).mode !== "REQUIRED";
  return endAll(tx, (await listHeldCalls(tx, projectId, touched)).filter(isMoot));
}

/** Ends the approvals of all held calls to a tool that is another now. Called as `rejudge` is. */
export async function supersede(tx: Database, projectId: string, path: string): Promise<Settled[]> {
  return endAll(tx, await listHeldCalls(tx, projectId, [path]));
}

async function endAll(tx: Database, calls: readonly HeldCall[]): Promise<Settled[]> {
  const settled: Settled[] = [];
  for (const chunk of cut(calls, CHUNK)) settled.push(await settleApprovals(tx, chunk.map(toOutcome), "always"));
  return settled;
}

function toOutcome({ approvalId }: HeldCall) {
  const nobody = { inputHash: null, decidedBy: null, editedInput: null, answer: null };
  return { id: approvalId, status: "CANCELLED" as const, reason: SUPERSEDED, ...nobody };
}

/** After the commit. */
export function announceRejudged(announcer: Announcer, projectId: string, rejudged: readonly Settled[]): void {
  announcer.announce({ policiesOf: projectId });
  for (const woken of rejudged) announcer.announce({ woken, settled: [...woken.ids].map((id) => [projectId, id]) });
}

/** For policies that were committed a moment ago. */
export async function rejudgeProject(app: App, projectId: string, patterns: readonly string[]): Promise<void> {
  const rejudged = await retryDeadlocks(() =>
    app.db.transaction().execute(async (tx) => {
      await beginPolicyChange(tx, projectId);
      return rejudge(tx, projectId, patterns);
    }),
  );
  announceRejudged(app.announcer, projectId, rejudged);
}
