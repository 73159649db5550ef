import { expect, it } from "vitest";
import { newId } from "./ids.ts";
import { bullPriority, taskJob } from "./jobs.ts";

it("gives BullMQ a job id without a colon, other for each job number", () => {
  const taskId = newId();
  const ids = [1, 2].map((job) => taskJob.jobId({ taskId, job }));
  expect(new Set(ids).size).toBe(2);
  expect(ids.join("")).not.toContain(":");
});

it("turns higher-is-sooner into BullMQ's lower-is-sooner and never into 0, which BullMQ serves before all", () => {
  expect(bullPriority(999)).toBeLessThan(bullPriority(0));
  expect(bullPriority(999)).toBeGreaterThanOrEqual(1);
});
