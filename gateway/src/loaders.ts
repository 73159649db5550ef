import {
  type ApprovalRow,
  type ArtifactRow,
  type BatchRow,
  countBatches,
  type Database,
  type EventRow,
  findApprovals,
  findBatches,
  findCalls,
  findTasks,
  labelsOf,
  type LeaseRow,
  leasesOfTasks,
  listApprovalsOf,
  listArtifactsOf,
  listCallsOf,
  listEventsOf,
  type TaskRow,
  type ToolCallRow,
} from "@airlock/shared/db";
import type { TaskStatus } from "@airlock/shared/domain";
import DataLoader from "dataloader";

interface CallKey {
  readonly taskId: string;
  readonly index: number;
}

interface ListPage {
  readonly after: number;
  readonly limit: number;
}

/** One set for each request: lists of things ask the database once for each kind of thing that they refer to. */
export interface Loaders {
  readonly task: DataLoader<string, TaskRow | null>;
  readonly batch: DataLoader<string, BatchRow | null>;
  readonly labels: DataLoader<string, [string, string][]>;
  readonly batchCounts: DataLoader<string, Partial<Record<TaskStatus, number>>>;
  readonly approval: DataLoader<string, ApprovalRow | null>;
  readonly call: DataLoader<CallKey, ToolCallRow | null, string>;
  /** By task. */
  readonly approvals: DataLoader<string, ApprovalRow[]>;
  readonly artifacts: DataLoader<string, ArtifactRow[]>;
  readonly leases: DataLoader<string, LeaseRow[]>;
  events(page: ListPage): DataLoader<string, EventRow[]>;
  calls(page: ListPage): DataLoader<string, ToolCallRow[]>;
}

export function createLoaders(db: Database, projectId: string): Loaders {
  return {
    task: new DataLoader((ids) => findTasks(db, projectId, ids)),
    batch: new DataLoader((ids) => findBatches(db, projectId, ids)),
    labels: listsOf((ids) => labelsOf(db, ids)),
    batchCounts: new DataLoader(async (ids) => {
      const found = await countBatches(db, ids);
      return ids.map((id) => found.get(id) ?? {});
    }),
    approval: new DataLoader((ids) => findApprovals(db, projectId, ids)),
    call: new DataLoader((keys: readonly CallKey[]) => findCalls(db, keys), {
      cacheKeyFn: ({ taskId, index }) => `${taskId}/${index}`,
    }),
    approvals: listsOf((ids) => listApprovalsOf(db, ids)),
    artifacts: listsOf((ids) => listArtifactsOf(db, ids)),
    leases: listsOf((ids) => leasesOfTasks(db, ids)),
    events: pagesOf((page) => listsOf((ids) => listEventsOf(db, ids, page))),
    calls: pagesOf((page) => listsOf((ids) => listCallsOf(db, ids, page))),
  };
}

/** A task that has none of the things is absent from what `find` answers. */
function listsOf<T>(find: (ids: readonly string[]) => Promise<Map<string, T[]>>): DataLoader<string, T[]> {
  return new DataLoader(async (ids) => {
    const found = await find(ids);
    return ids.map((id) => found.get(id) ?? []);
  });
}

/** One loader for each page that the request asks for. */
function pagesOf<T>(create: (page: ListPage) => DataLoader<string, T[]>): (page: ListPage) => DataLoader<string, T[]> {
  const loaders = new Map<string, DataLoader<string, T[]>>();
  return (page) => {
    const key = `${page.after}/${page.limit}`;
    const loader = loaders.get(key) ?? create(page);
    loaders.set(key, loader);
    return loader;
  };
}
