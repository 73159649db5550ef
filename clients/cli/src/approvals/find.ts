import type { Approval, Client } from "@airlock/client";
import { ApiError } from "@airlock/client";

/** The API lists approvals and has no query for one; the pending ones are few. */
export async function findPending(client: Client, id: string): Promise<Approval> {
  for await (const approval of client.approvals.list("PENDING")) if (approval.id === id) return approval;
  throw new ApiError("NOT_FOUND", `no approval ${id} is pending; "airlock approvals ls" lists them`, false);
}
