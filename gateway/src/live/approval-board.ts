import { smallestIdAt } from "@airlock/shared/contracts";
import { type ApprovalIds, type ApprovalRow, type Database, findApprovals, listApprovalIds } from "@airlock/shared/db";
import { ToldApprovals } from "./told-approvals.ts";

/** Ids are made by workers, whose clocks may differ from ours by as much. */
const CLOCKS_MS = 60_000;
/** Rows in memory at a time. */
export const CHUNK = 100;

export interface Look {
  readonly ids: ApprovalIds;
  /** The ids' `decided` are complete from here on. */
  readonly from: string;
}

/** All that is asked for later has a larger id. */
export function idsFromNow(): string {
  return smallestIdAt(new Date(Date.now() - CLOCKS_MS));
}

/** A project whose approvals somebody follows: it is compared with Postgres once for all of them. */
export class ApprovalBoard {
  readonly #db: Database;
  readonly #projectId: string;
  readonly #tell: (row: ApprovalRow) => void;
  readonly #told = new ToldApprovals();
  #from: string | null = null;
  #looking: Promise<unknown> = Promise.resolve();
  #next: Promise<Look> | null = null;

  constructor(db: Database, projectId: string, tell: (row: ApprovalRow) => void) {
    this.#db = db;
    this.#projectId = projectId;
    this.#tell = tell;
  }

  /** Of what was asked for before, the followers have been told all. Null: nobody has looked yet. */
  get from(): string | null {
    return this.#from;
  }

  /** False where the followers have been told of it already. */
  isNews(row: ApprovalRow): boolean {
    return this.#told.take(row).length > 0;
  }

  /** Begins after the call; whoever calls until then shares it. Followers are told of what no hint has told of. */
  look(): Promise<Look> {
    if (this.#next !== null) return this.#next;
    const look = this.#looking.then(async () => {
      this.#next = null;
      return this.#compare();
    });
    this.#next = look;
    this.#looking = look.catch(() => undefined);
    return look;
  }

  async #compare(): Promise<Look> {
    const now = idsFromNow();
    const from = this.#from ?? now;
    const ids = await listApprovalIds(this.#db, this.#projectId, from);
    if (this.#from === null) this.#told.rememberPending(this.#told.begin(ids, from));
    else await this.#tellOf(this.#told.compare(ids));
    // Not before all are told: where that fails, the next look finds them again.
    this.#from = now;
    return { ids, from };
  }

  async #tellOf(ids: readonly string[]): Promise<void> {
    for (let i = 0; i < ids.length; i += CHUNK) {
      const chunk = ids.slice(i, i + CHUNK);
      for (const [place, row] of (await findApprovals(this.#db, this.#projectId, chunk)).entries()) {
        if (row === null) this.#told.forget(chunk[place] as string);
        else if (this.isNews(row)) this.#tell(row);
      }
    }
  }
}
