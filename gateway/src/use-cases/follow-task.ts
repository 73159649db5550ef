import { isId } from "@airlock/shared/contracts";
import type { Caller, EventRow } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { notFound } from "./not-found.ts";

const MAX_SEQ = 2 ** 31 - 1;

/** `lastEventId` wins over `after`: it is how far the client came before it was cut off. */
export async function followTask(
  app: App,
  caller: Caller,
  { taskId, after, lastEventId }: { taskId: string; after: number; lastEventId: string | null },
): Promise<AsyncIterable<EventRow>> {
  const from = lastEventId === null ? requireSeq("after", after) : requireSeq("Last-Event-ID", toNumber(lastEventId));
  const cursor = isId(taskId) ? await app.live.events.follow(caller.projectId, taskId.toLowerCase(), from) : null;
  if (cursor === null) throw notFound("task");
  return cursor;
}

function toNumber(header: string): number {
  return /^\d{1,10}$/.test(header) ? Number(header) : Number.NaN;
}

function requireSeq(field: string, seq: number): number {
  if (seq >= 0 && seq <= MAX_SEQ) return seq;
  throw new ApiError("BAD_INPUT", `${field}: is not the seq of an event; use one that was received, or 0`);
}
