import { isId, topics } from "@airlock/shared/contracts";
import { audit, type Caller, giveUpLease, type LeaseRow, lockLease } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { notFound } from "./not-found.ts";

/** Gives a retained sandbox up: a worker that can reach it destroys it. One that was given up already stays as it is. */
export async function releaseLease(app: App, caller: Caller, id: string): Promise<LeaseRow> {
  if (!isId(id)) throw notFound("lease");
  const { projectId, keyId } = caller;
  const lease = await app.db.transaction().execute(async (tx) => {
    const found = await lockLease(tx, projectId, id);
    if (found === null) throw notFound("lease");
    if (found.state === "ACTIVE") {
      throw new ApiError("CONFLICT", "the lease is ACTIVE: its task runs; cancel the task instead");
    }
    if (found.state !== "RETAINED") return found;
    await audit(tx, { projectId, actor: `key:${keyId}`, action: "lease.released", subject: id });
    return giveUpLease(tx, id);
  });
  await app.bus.publish(topics.leases, [id]).catch((error: unknown) => {
    app.log.warn({ err: error }, "could not tell the workers of a lease; they look by themselves");
  });
  return lease;
}
