import type { Bus } from "@airlock/shared/bus";
import { topics } from "@airlock/shared/contracts";
import { type NewApproval, type Outcome, type Settled, settleApprovals } from "@airlock/shared/db";
import type { ApprovalQueue } from "@airlock/shared/queue";
import { createBatcher } from "@airlock/shared/runtime";
import type { Context } from "../context.ts";
import { tellWoken } from "../upkeep/tell-woken.ts";

/** What an approval's own job does: nobody decided in time. One that was decided meanwhile stays as it is. */
export async function expireApprovals(context: Context, ids: readonly string[]): Promise<void> {
  await settle(context, ids, "EXPIRED", null, "overdue");
}

/** A policy or a schema has changed: these calls are judged anew. */
export async function supersedeApprovals(context: Context, ids: readonly string[], reason: string): Promise<void> {
  await settle(context, ids, "CANCELLED", reason, "always");
}

async function settle(
  context: Context,
  ids: readonly string[],
  status: Outcome["status"],
  reason: string | null,
  when: Parameters<typeof settleApprovals>[2],
): Promise<void> {
  if (ids.length === 0) return;
  const nothing = { inputHash: null, decidedBy: null, editedInput: null, answer: null };
  const settled: Settled = await settleApprovals(
    context.db,
    ids.map((id) => ({ id, status, reason, ...nothing })),
    when,
  );
  await tellWoken(context, settled);
}

interface Announcement {
  readonly projectId: string;
  readonly approval: NewApproval;
}

/** Many at once: tasks park in crowds. What fails here is made up for by the sweeper. */
export function createApprovalAnnouncer(parts: {
  bus: Bus;
  approvals: ApprovalQueue;
  onError: (error: unknown) => void;
}): Context["announceApproval"] {
  const { bus, approvals, onError } = parts;
  const announce = createBatcher<Announcement, void>(
    async (items) => {
      await Promise.all([
        approvals.add(items.map(({ approval }) => ({ id: approval.id, delayMs: approval.expiresInMs }))),
        bus.publish(
          topics.approvals,
          items.map(({ projectId, approval }): [string, string] => [projectId, approval.id]),
        ),
      ]);
      return items.map(() => undefined);
    },
    { maxItems: 500, maxInFlight: 2 },
  );
  return (projectId, approval) => void announce({ projectId, approval }).catch(onError);
}
