/**
 * ACTIVE: being made, or held by its worker. RELEASED: its sandbox is gone. FAILED: no sandbox could be had. RETAINED: a
 * failed task's, or one that rests for its session's next task, kept until its time is up. EXPIRED: its worker was lost, or its time was up; destroyed by the reaper.
 * PENDING_CLEANUP: its sandbox may still exist, and the reaper tries to destroy it.
 */
export const LEASE_STATES = ["ACTIVE", "RELEASED", "FAILED", "RETAINED", "EXPIRED", "PENDING_CLEANUP"] as const;
export type LeaseState = (typeof LEASE_STATES)[number];
