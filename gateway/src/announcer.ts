import { setImmediate as nextTurn } from "node:timers/promises";
import type { Bus } from "@airlock/shared/bus";
import { topics } from "@airlock/shared/contracts";
import type { Woken } from "@airlock/shared/db";
import type { ApprovalQueue, TaskQueues } from "@airlock/shared/queue";
import { createBatcher, type Logger } from "@airlock/shared/runtime";

/** What a commit has changed for others. */
export interface News {
  readonly woken?: Woken;
  /** Approvals that are not pending any more, as `[project, approval]`. */
  readonly settled?: readonly (readonly [string, string])[];
  /** Approvals that are pending now. */
  readonly asked?: readonly { readonly id: string; readonly projectId: string; readonly expiresAt: Date }[];
  /** The project whose policies changed. */
  readonly policiesOf?: string;
}

export interface Announcer {
  /** Not awaited by whoever made the news: all of it is in Postgres, where it is found again if it is lost here. */
  announce(news: News): void;
  /** Resolves when what was announced has been sent. */
  settle(): Promise<void>;
}

/** Of jobs to remove: Redis and BullMQ's tables have more urgent things to do than 10,000 at once. */
const REMOVE_CHUNK = 100;

export function createAnnouncer(parts: {
  queues: Pick<TaskQueues, "add">;
  approvals: Pick<ApprovalQueue, "add" | "remove">;
  bus: Bus;
  log: Logger;
}): Announcer {
  const { queues, approvals, bus, log } = parts;
  const sending = new Set<Promise<void>>();
  let stopping = false;

  function send(what: string, sent: Promise<unknown>): void {
    const tracked: Promise<void> = sent
      .then(
        () => undefined,
        (error: unknown) => log.warn({ err: error, what }, "could not announce; Postgres keeps it"),
      )
      .finally(() => sending.delete(tracked));
    sending.add(tracked);
  }

  /** A job that stays finds its approval settled and does nothing: so none is worth waiting for at shutdown. */
  const removeJob = createBatcher<string, void>(
    async (ids) => {
      if (!stopping) await approvals.remove(ids);
      return ids.map(() => undefined);
    },
    { maxItems: REMOVE_CHUNK },
  );

  /** What tasks wait for. */
  function wake({ toEnqueue, running }: Woken): void {
    if (toEnqueue.length > 0) send("woken tasks", queues.add(toEnqueue));
    if (running.length > 0) send("running tasks", bus.publish(topics.wake, [...running]));
  }

  return {
    announce(news) {
      if (news.woken) wake(news.woken);
      // BullMQ writes to its connection a little later: nothing else is written before that.
      send(
        "hints",
        nextTurn().then(() => tell(news)),
      );
    },
    async settle() {
      stopping = true;
      while (sending.size > 0) await Promise.all(sending);
    },
  };

  function tell({ woken, settled = [], asked = [], policiesOf }: News): void {
    if (policiesOf !== undefined) send("policies", bus.publish(topics.policies, [policiesOf]));
    if (woken && woken.events.length > 0) send("events", bus.publish(topics.events, [...woken.events]));
    const pairs = [...settled, ...asked.map(({ projectId, id }) => [projectId, id] as const)];
    if (pairs.length > 0) send("approvals", bus.publish(topics.approvals, pairs.map(toPair)));
    if (asked.length > 0) send("approval jobs", approvals.add(asked.map(toJob)));
    if (settled.length > 0) send("approval jobs", Promise.all(settled.map(([, id]) => removeJob(id))));
  }
}

function toJob({ id, expiresAt }: { id: string; expiresAt: Date }): { id: string; delayMs: number } {
  return { id, delayMs: Math.max(0, expiresAt.getTime() - Date.now()) };
}

function toPair([projectId, approvalId]: readonly [string, string]): [string, string] {
  return [projectId, approvalId];
}
