import type { TaskErrorCode } from "@airlock/shared/domain";
import { expect } from "vitest";
import type { DrivenGuest, ProgramOptions, ProgramRun } from "../../../testing/driven-guest.ts";

export type Run = (code: string, options?: Omit<ProgramOptions, "code">) => Promise<ProgramRun>;
export type Start = (code: string, options?: Omit<ProgramOptions, "code">) => Promise<DrivenGuest>;

export const returned = (value: unknown) => ({
  kind: "returned",
  output: value === undefined ? null : JSON.stringify(value),
});

export const failed = (code: TaskErrorCode, message = /./) => ({
  kind: "failed",
  failure: { code, message: expect.stringMatching(message) as string },
});
