import type { Bus } from "@airlock/shared/bus";
import { topics } from "@airlock/shared/contracts";
import type { Database, InsertedTasks, NewBatch, NewTask } from "@airlock/shared/db";
import { insertBatch, insertTasks, retryDeadlocks, wasRolledBack } from "@airlock/shared/db";
import { FEED_WINDOW } from "@airlock/shared/domain";
import type { TaskQueues } from "@airlock/shared/queue";
import { createBatcher, type Logger } from "@airlock/shared/runtime";

/** Null where the idempotency key is taken; otherwise when the task was created. */
export type Admitted = Date | null;

export interface Admission {
  /** Simultaneous calls share one insert. */
  one(task: NewTask): Promise<Admitted>;
  /** The batch and its tasks in one transaction. */
  batch(batch: NewBatch, tasks: readonly NewTask[]): Promise<Admitted>;
  /** Resolves when everything that was accepted has been offered to the queue and told to subscribers. */
  settle(): Promise<void>;
}

/** One statement of this size takes about 5 ms; more would only make the first of them wait. */
const MAX_GROUP = 200;
/** Lists learn of new tasks a moment later, so that the tasks themselves come first. */
const NEWS_MS = 25;

export function createAdmission(parts: {
  db: Database;
  queues: Pick<TaskQueues, "add">;
  bus: Pick<Bus, "publish">;
  log: Logger;
}): Admission {
  const { db, queues, bus, log } = parts;
  const sending = new Set<Promise<void>>();
  const news: [string, number][] = [];
  let timer: NodeJS.Timeout | undefined;

  /** Not awaited by the caller: the task is safe in Postgres, where what fails here is found again. */
  function send(sent: Promise<unknown>, complaint: string): void {
    const tracked: Promise<void> = sent
      .then(
        () => undefined,
        (error: unknown) => log.warn({ err: error }, complaint),
      )
      .finally(() => sending.delete(tracked));
    sending.add(tracked);
  }

  function tell({ toEnqueue, inserted }: InsertedTasks): void {
    if (toEnqueue.length > 0) send(queues.add(toEnqueue), "could not enqueue; the outbox keeps the tasks");
    // `task.queued` is the first event.
    for (const id of inserted) news.push([id, 1]);
    if (news.length > 0) timer ??= setTimeout(tellSubscribers, NEWS_MS);
  }

  function tellSubscribers(): void {
    clearTimeout(timer);
    timer = undefined;
    const events = news.splice(0);
    if (events.length > 0) send(bus.publish(topics.events, events), "could not tell subscribers of new tasks");
  }

  async function flush(tasks: NewTask[]): Promise<Admitted[]> {
    const stored = await retryDeadlocks(() => insertAll(db, inOrder(tasks)));
    tell(stored);
    return tasks.map((task) => (stored.inserted.has(task.id) ? stored.createdAt : null));
  }

  return {
    // Two in flight: the second gathers and travels while the first commits.
    one: createBatcher(flush, { maxItems: MAX_GROUP, maxInFlight: 2, changedNothing: wasRolledBack }),
    async batch(batch, tasks) {
      const stored = await db.transaction().execute(async (tx) => {
        if (!(await insertBatch(tx, batch))) return null;
        return insertTasks(tx, tasks, FEED_WINDOW);
      });
      if (stored === null) return null;
      tell(stored);
      return stored.createdAt;
    },
    async settle() {
      tellSubscribers();
      await Promise.all(sending);
    },
  };
}

/** Two groups with the same idempotency keys wait for each other's: whoever takes them in one order waits only once. */
function inOrder(tasks: NewTask[]): NewTask[] {
  const place = ({ projectId, idempotencyKey }: NewTask) => (idempotencyKey === null ? "" : projectId + idempotencyKey);
  return tasks.toSorted((a, b) => {
    const [first, second] = [place(a), place(b)];
    return first < second ? -1 : Number(first > second);
  });
}

/** Labels and files are more statements, so only tasks that have some pay for a transaction around all. */
function insertAll(db: Database, tasks: NewTask[]): Promise<InsertedTasks> {
  if (tasks.every((task) => task.labels.length === 0 && task.files.length === 0))
    return insertTasks(db, tasks, FEED_WINDOW);
  return db.transaction().execute((tx) => insertTasks(tx, tasks, FEED_WINDOW));
}
