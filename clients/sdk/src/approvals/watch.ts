import { ConnectionError } from "../errors.ts";
import { type Approval, FollowApprovals, ListTaskApprovals } from "../generated.ts";
import { reconnecting } from "../stream/reconnect.ts";
import { ALIVE } from "../stream/subscribe.ts";
import type { Transport } from "../transport.ts";

/** All that are pending, then each approval when it is asked for and when it is settled: each state once. */
export function watchApprovals(transport: Transport, signal: AbortSignal | undefined): AsyncIterable<Approval> {
  const pending = new Map<string, Approval>();
  const settled = new Set<string>();

  function isNews(approval: Approval): boolean {
    if (approval.status === "PENDING") {
      if (pending.has(approval.id)) return false;
      pending.set(approval.id, approval);
      return true;
    }
    pending.delete(approval.id);
    return !settled.has(approval.id);
  }

  /** What was decided while nobody listened: a stream begins with what is pending and does not tell. */
  async function* settledMeanwhile(): AsyncGenerator<Approval, void> {
    settled.clear();
    for (const known of [...pending.values()]) {
      const { task } = await transport.patiently(ListTaskApprovals, { id: known.task.id }, { signal });
      const now = task?.approvals.find(({ id }) => id === known.id);
      if (now?.status === "PENDING") continue;
      pending.delete(known.id);
      settled.add(known.id);
      if (now !== undefined) yield now;
    }
  }

  async function* connect(): AsyncGenerator<Approval | typeof ALIVE, void> {
    yield* settledMeanwhile();
    for await (const message of transport.subscribe(FollowApprovals, {}, signal)) {
      if (message === ALIVE) yield ALIVE;
      else if (isNews(message.approvalUpdates)) yield message.approvalUpdates;
    }
    throw new ConnectionError("UNREACHABLE", "the gateway's stream of approvals ended");
  }

  return reconnecting(connect, transport.patience, signal);
}
