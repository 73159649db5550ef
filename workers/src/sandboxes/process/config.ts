import { z } from "zod";

export const processConfig = z.strictObject({
  /** Limits that may go unenforced where this machine cannot enforce them. */
  acceptUnenforced: z.array(z.enum(["memory", "pids"])).default([]),
});

export type ProcessEnvironment = z.output<typeof processConfig>;

/** What a machine can lack, and an environment can do without. */
export type Bounded = Readonly<Record<ProcessEnvironment["acceptUnenforced"][number], boolean>>;

/** What is missing for an environment; null: nothing. */
export function whatIsMissing(held: Bounded, { acceptUnenforced }: ProcessEnvironment): string | null {
  const refused = (["memory", "pids"] as const).filter((limit) => !held[limit] && !acceptUnenforced.includes(limit));
  return refused.length === 0 ? null : `this machine does not enforce ${refused.join(" and ")}`;
}
