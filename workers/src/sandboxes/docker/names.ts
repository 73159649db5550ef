import type { Listed } from "./engine.ts";
import { EXPIRY_LABEL } from "./container-spec.ts";

const LEASE = "airlock-";
const POOL = "airlock-pool-";
/** From being made to being started takes seconds, also on a machine that can hardly keep up. */
const START_MS = 60_000;

export const leaseName = (leaseId: string): string => `${LEASE}${leaseId}`;
export const poolName = (id: string): string => `${POOL}${id}`;

/** The lease that a container is of; null: it waits in a pool. */
export function leaseOf({ name }: Listed): string | null {
  return name.startsWith(POOL) || !name.startsWith(LEASE) ? null : name.slice(LEASE.length);
}

/**
 * Whether a container of a pool is of no use to any worker any more. Those of a lost worker end by themselves, because
 * nobody is at the other end of their standard input.
 */
export function isStale({ state, createdAt, labels }: Listed, now: number): boolean {
  if (Number(labels[EXPIRY_LABEL] ?? 0) * 1000 < now) return true;
  return state === "created" ? createdAt < now - START_MS : state !== "running";
}
