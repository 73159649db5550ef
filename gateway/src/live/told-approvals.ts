import type { ApprovalIds, ApprovalRow } from "@airlock/shared/db";

const MAX_DECIDED = 10_000;

/** Which approvals somebody has been told of, and so what is news. */
export class ToldApprovals {
  /** Told as pending, and not yet as decided. */
  readonly #pending = new Set<string>();
  /** Told as decided; the newest, so that another event of the task does not tell of them again. */
  readonly #decided = new Set<string>();
  /** What is older and not pending was decided before anybody asked. */
  #from = "";

  /** What is there when one begins: all that was decided is no news. Answers what is pending. */
  begin(ids: ApprovalIds, from: string): readonly string[] {
    this.#from = from;
    for (const id of ids.decided) this.#rememberDecided(id);
    return ids.pending;
  }

  rememberPending(ids: readonly string[]): void {
    for (const id of ids) this.#pending.add(id);
  }

  /** Those that there is something to tell of. */
  compare({ pending, decided }: ApprovalIds): string[] {
    const now = new Set(pending);
    const gone = [...this.#pending].filter((id) => !now.has(id));
    const asked = pending.filter((id) => !this.#pending.has(id));
    const both = decided.filter((id) => !this.#decided.has(id) && !this.#pending.has(id));
    return [...gone, ...[...asked, ...both].toSorted()];
  }

  /** What is to be told of it: nothing, one thing, or that it was asked for and then decided. */
  take(row: ApprovalRow): ApprovalRow[] {
    if (this.#decided.has(row.id)) return [];
    if (row.status === "PENDING") {
      if (this.#pending.has(row.id)) return [];
      this.#pending.add(row.id);
      return [row];
    }
    const wasPending = this.#pending.has(row.id);
    if (!wasPending && row.id < this.#from) return [];
    this.#rememberDecided(row.id);
    if (wasPending) return [row];
    const asked = { status: "PENDING", decided_at: null, decided_by: null, reason: null } as const;
    return [{ ...row, ...asked, edited_input: null, answer: null }, row];
  }

  /** It was deleted with its task. */
  forget(id: string): void {
    this.#pending.delete(id);
  }

  #rememberDecided(id: string): void {
    this.#pending.delete(id);
    this.#decided.add(id);
    if (this.#decided.size > MAX_DECIDED) this.#decided.delete(this.#decided.values().next().value as string);
  }
}
