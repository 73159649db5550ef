import { z } from "zod";

/**
 * What travels over the bus. Messages are hints: each is repeated by Postgres for whoever missed it, and each fits
 * into 8 kB (the limit of NOTIFY), so lists are cut by `chunk`.
 */
export const topics = {
  /** New events are in Postgres: `[taskId, newest seq]` pairs. */
  events: { name: "events", payload: z.array(z.tuple([z.uuid(), z.int()])) },
  /** Running tasks whose cancellation was asked for. */
  cancel: { name: "cancel", payload: z.array(z.uuid()) },
  /** Running tasks for which an outcome was stored: their segments look for it. */
  wake: { name: "wake", payload: z.array(z.uuid()) },
  /** Projects whose policies or functions changed. */
  policies: { name: "policies", payload: z.array(z.uuid()) },
  /** Approvals that were asked for or settled, as `[project, approval]`. */
  approvals: { name: "approvals", payload: z.array(z.tuple([z.uuid(), z.uuid()])) },
  /** Projects whose environments, or the choice among them, changed. */
  environments: { name: "environments", payload: z.array(z.uuid()) },
  /** Questions about environments that wait for a worker. */
  probes: { name: "probes", payload: z.array(z.uuid()) },
  /** Those that were answered. */
  probed: { name: "probed", payload: z.array(z.uuid()) },
  /** Leases that were given up: their sandboxes are to be destroyed. */
  leases: { name: "leases", payload: z.array(z.uuid()) },
  /** API keys that were revoked, by id. */
  revoked: { name: "revoked", payload: z.array(z.uuid()) },
} as const;

export type Topic = (typeof topics)[keyof typeof topics];
export type TopicPayload<T extends Topic> = z.infer<T["payload"]>;

/** Pairs of UUIDs, the longest items, take 79 bytes each: with 8,000 bytes NOTIFY is full at 100. */
export const MAX_ITEMS_A_MESSAGE = 80;
