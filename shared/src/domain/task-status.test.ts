import { describe, expect, it } from "vitest";
import { canTransition, hasEnded, statusesBefore, TASK_STATUSES } from "./task-status.ts";

describe("task states", () => {
  it("never leave an end", () => {
    for (const ended of TASK_STATUSES.filter(hasEnded)) {
      for (const next of TASK_STATUSES) expect(canTransition(ended, next)).toBe(false);
    }
  });

  it("reach RUNNING only from QUEUED, so that every run has been claimed", () => {
    expect(statusesBefore("RUNNING")).toEqual(["QUEUED"]);
  });
});
