import {
  type ApprovalRow,
  type Database,
  findApprovals,
  listPendingIds,
  listRecentApprovals,
} from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import { createFollowers, type Follower } from "./followers.ts";

export interface ApprovalWatch {
  /** First all that are pending, then each when it is asked for and when it is decided. */
  follow(projectId: string): AsyncIterable<ApprovalRow>;
  /** Tasks that have new events: whatever happens to an approval is told by an event of its task. */
  hint(taskIds: readonly string[]): void;
  /** Compares with Postgres: hints can be lost. */
  check(): void;
}

export function createApprovalWatch({ db, log }: { db: Database; log: Logger }): ApprovalWatch {
  const followers = createFollowers<ApprovalRow, ApprovalRow>({
    log,
    find: async (projectIds, taskIds) => {
      const rows = await listRecentApprovals(db, projectIds, taskIds);
      return rows.map((row) => ({ projectId: row.project_id, news: row }));
    },
  });
  return {
    follow: (projectId) => followers.add(new ApprovalFollower(db, projectId)),
    hint: (taskIds) => followers.hint(taskIds),
    check: () => followers.check(),
  };
}

const MAX_NOTED = 1_000;
const MAX_TOLD = 10_000;
const CHUNK = 100;

/**
 * What one subscriber has been shown. It is told what differs from that: by the rows that are noted, and now and then
 * (at the start, in doubt, or when too many were noted) by the list of all that are pending.
 */
class ApprovalFollower implements Follower<ApprovalRow, ApprovalRow> {
  readonly projectId: string;
  readonly #db: Database;
  /** Shown as pending, and not yet as decided. */
  readonly #pending = new Set<string>();
  /** Shown as decided; the newest, so that another event of the task does not show them again. */
  readonly #decided = new Set<string>();
  readonly #noted = new Map<string, ApprovalRow>();
  readonly #toRead: string[] = [];
  readonly #toShow: ApprovalRow[] = [];
  #inDoubt = true;
  #startedAt: Date | null = null;

  constructor(db: Database, projectId: string) {
    this.#db = db;
    this.projectId = projectId;
  }

  note(row: ApprovalRow): void {
    this.#noted.set(row.id, row);
    if (this.#noted.size > MAX_NOTED) this.doubt();
  }

  doubt(): void {
    this.#inDoubt = true;
  }

  async next(): Promise<ApprovalRow | undefined> {
    while (this.#toShow.length === 0) {
      if (this.#inDoubt) await this.#compare();
      else if (this.#toRead.length > 0) await this.#read();
      else if (this.#noted.size > 0) this.#showNoted();
      else return undefined;
    }
    return this.#toShow.shift();
  }

  async #compare(): Promise<void> {
    this.#inDoubt = false;
    this.#noted.clear();
    this.#toRead.length = 0;
    const { ids, at } = await listPendingIds(this.#db, this.projectId);
    this.#startedAt ??= at;
    const now = new Set(ids);
    this.#toRead.push(
      ...[...this.#pending].filter((id) => !now.has(id)),
      ...ids.filter((id) => !this.#pending.has(id)),
    );
  }

  async #read(): Promise<void> {
    const rows = await findApprovals(this.#db, this.projectId, this.#toRead.splice(0, CHUNK));
    for (const row of rows) if (row !== null) this.#show(row);
  }

  #showNoted(): void {
    for (const row of this.#noted.values()) this.#show(row);
    this.#noted.clear();
  }

  #show(row: ApprovalRow): void {
    if (this.#decided.has(row.id)) return;
    if (row.status === "PENDING") {
      if (!this.#pending.has(row.id)) this.#toShow.push(row);
      this.#pending.add(row.id);
    } else if (this.#pending.delete(row.id)) {
      this.#tellDecided(row);
    } else if (this.#startedAt !== null && row.requested_at > this.#startedAt) {
      // Asked for and decided between two looks: it is still told of both.
      this.#toShow.push({ ...row, status: "PENDING", decided_at: null, decided_by: null, reason: null, answer: null });
      this.#tellDecided(row);
    }
  }

  #tellDecided(row: ApprovalRow): void {
    this.#toShow.push(row);
    this.#decided.add(row.id);
    if (this.#decided.size > MAX_TOLD) this.#decided.delete(this.#decided.values().next().value as string);
  }
}
