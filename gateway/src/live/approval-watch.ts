import {
  type ApprovalRow,
  type Database,
  findApprovals,
  listApprovalIds,
  listRecentApprovals,
} from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import { ApprovalBoard, CHUNK, idsFromNow } from "./approval-board.ts";
import { createFollowers, type Follower } from "./followers.ts";
import { ToldApprovals } from "./told-approvals.ts";

export interface ApprovalWatch {
  /** First all that are pending, then each when it is asked for and when it is decided. */
  follow(projectId: string): AsyncIterable<ApprovalRow>;
  /** Tasks that have new events: whatever happens to an approval is told by an event of its task. */
  hint(taskIds: readonly string[]): void;
  /** Compares with Postgres: hints can be lost. */
  check(): void;
}

export function createApprovalWatch({ db, log }: { db: Database; log: Logger }): ApprovalWatch {
  const boards = new Map<string, ApprovalBoard>();
  const followers = createFollowers<ApprovalRow, ApprovalRow>({
    log,
    find: async (projectIds, taskIds) => {
      const rows = await listRecentApprovals(db, projectIds, taskIds);
      return rows
        .filter((row) => boards.get(row.project_id)?.isNews(row))
        .map((row) => ({ projectId: row.project_id, news: row }));
    },
    check,
  });

  function boardOf(projectId: string): ApprovalBoard {
    let board = boards.get(projectId);
    if (board === undefined) {
      board = new ApprovalBoard(db, projectId, (row) => followers.tell(projectId, row));
      boards.set(projectId, board);
    }
    return board;
  }

  function check(): void {
    const followed = followers.projects();
    for (const [projectId, board] of boards) {
      if (!followed.has(projectId)) boards.delete(projectId);
      else board.look().catch((err: unknown) => log.warn({ err }, "could not compare approvals with Postgres"));
    }
  }

  return {
    follow: (projectId) => followers.add(new ApprovalFollower(db, projectId, boardOf(projectId))),
    hint: (taskIds) => followers.hint(taskIds),
    check,
  };
}

const MAX_NOTED = 1_000;

/**
 * What one subscriber has been shown. It is told what differs from that by the rows that are noted; one for whom too
 * many were noted, because it did not read on, finds in Postgres what it has missed.
 */
class ApprovalFollower implements Follower<ApprovalRow, ApprovalRow> {
  readonly projectId: string;
  readonly #db: Database;
  readonly #board: ApprovalBoard;
  readonly #told = new ToldApprovals();
  readonly #noted = new Map<string, ApprovalRow>();
  readonly #toRead: string[] = [];
  readonly #toShow: ApprovalRow[] = [];
  /** What it may have missed was asked for from here on; null: it has not begun. */
  #from: string | null = null;
  #behind = false;

  constructor(db: Database, projectId: string, board: ApprovalBoard) {
    this.#db = db;
    this.projectId = projectId;
    this.#board = board;
  }

  note(row: ApprovalRow): void {
    if (this.#behind) return;
    this.#noted.set(row.id, row);
    if (this.#noted.size > MAX_NOTED) this.doubt();
  }

  doubt(): void {
    this.#noted.clear();
    this.#behind = true;
  }

  async next(): Promise<ApprovalRow | undefined> {
    while (this.#toShow.length === 0) {
      if (this.#from === null) await this.#begin();
      else if (this.#toRead.length > 0) await this.#read();
      else if (this.#noted.size > 0) this.#showNoted();
      else if (this.#behind) await this.#catchUp(this.#from);
      else return undefined;
    }
    return this.#toShow.shift();
  }

  async #begin(): Promise<void> {
    this.#behind = false;
    const { ids, from } = await this.#board.look();
    for (const id of this.#told.begin(ids, from)) this.#toRead.push(id);
    this.#from = from;
  }

  async #catchUp(from: string): Promise<void> {
    // What is noted from now on comes on top.
    this.#behind = false;
    const now = idsFromNow();
    for (const id of this.#told.compare(await listApprovalIds(this.#db, this.projectId, from))) this.#toRead.push(id);
    this.#from = now;
  }

  async #read(): Promise<void> {
    const ids = this.#toRead.slice(0, CHUNK);
    const rows = await findApprovals(this.#db, this.projectId, ids);
    this.#toRead.splice(0, ids.length);
    for (const row of rows) if (row !== null) this.#show(row);
  }

  #showNoted(): void {
    for (const row of this.#noted.values()) this.#show(row);
    this.#noted.clear();
    this.#from = this.#board.from;
  }

  #show(row: ApprovalRow): void {
    for (const news of this.#told.take(row)) this.#toShow.push(news);
  }
}
