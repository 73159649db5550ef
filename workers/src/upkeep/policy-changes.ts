import { endLapsedPolicies, findMisjudged } from "@airlock/shared/db";
import { SUPERSEDED } from "@airlock/shared/domain";
import type { Context } from "../context.ts";
import { supersedeApprovals } from "../processors/approval-processor.ts";
import { tellWoken } from "./tell-woken.ts";

/** Workers judge by policies as of a second ago, and what they hold is in Postgres some group commits later. */
const BESIDE_MS = 10_000;

/** Calls that wait for a person although policy says otherwise by now: a rule lapsed, or changed while they were held. */
export async function rejudgeHeldCalls(context: Context): Promise<void> {
  for (const settled of await endLapsedPolicies(context.db)) await tellWoken(context, settled);
  await supersedeApprovals(context, await findMisjudged(context.db, BESIDE_MS), SUPERSEDED);
}
