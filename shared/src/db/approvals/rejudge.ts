import { judge, matchesPattern, type PolicyRule, SUPERSEDED } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import { listPolicies, listPoliciesOf, notePolicyChange, toPolicyRule } from "../policies.ts";
import { CHUNK, cut } from "./chunks.ts";
import { type HeldCall, listHeldBesideChanges, listHeldCalls, listHeldPaths } from "./held-calls.ts";
import { type Settled, settleApprovals } from "./settle.ts";

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
  const moot = (await listHeldCalls(tx, projectId, touched)).filter((call) => isMoot(rules, call, now));
  const settled = await endAll(tx, moot);
  if (settled.length > 0) await notePolicyChange(tx, projectId);
  return settled;
}

/** Ends the approvals of all held calls to a tool that is another now. Called as `rejudge` is. */
export async function supersede(tx: Database, projectId: string, path: string): Promise<Settled[]> {
  return endAll(tx, await listHeldCalls(tx, projectId, [path]));
}

/**
 * Approvals that nobody is to be asked about any more: their calls were judged before a change of policies and held
 * after it, so that neither could see the other. `withinMs` is how long before now a change may lie, and how long before
 * the change a call may have been on its way.
 */
export async function findMisjudged(db: Database, withinMs: number): Promise<string[]> {
  const held = await listHeldBesideChanges(db, withinMs);
  if (held.length === 0) return [];
  const projects = [...new Set(held.map((call) => call.projectId))];
  const policies = await listPoliciesOf(db, projects);
  const rules = new Map(projects.map((id, place) => [id, policies[place]?.rows.map(toPolicyRule) ?? []]));
  const now = new Date();
  return held.filter((call) => isMoot(rules.get(call.projectId) ?? [], call, now)).map((call) => call.approvalId);
}

function isMoot(rules: readonly PolicyRule[], call: HeldCall, now: Date): boolean {
  return judge(rules, { ...call, now }, call.defaultMode).mode !== "REQUIRED";
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
