import { newId } from "../contracts/index.ts";
import type { Database } from "./database.ts";

export interface AuditEntry {
  readonly projectId: string | null;
  /** Who: `key:<id>`, `worker:<id>` or `system`. */
  readonly actor: string;
  /** What, as noun.verb: `api_key.created`. */
  readonly action: string;
  readonly subject: string | null;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Append-only. Written in the transaction of what it tells about. */
export async function audit(db: Database, entry: AuditEntry): Promise<void> {
  await db
    .insertInto("audit_log")
    .values({
      id: newId(),
      project_id: entry.projectId,
      actor: entry.actor,
      action: entry.action,
      subject: entry.subject,
      data: JSON.stringify(entry.data ?? {}),
    })
    .execute();
}
