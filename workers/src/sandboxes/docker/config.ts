import { z } from "zod";

/** What `npm run sandbox-image` makes. */
export const DEFAULT_IMAGE = "airlock-sandbox";

export const RUNTIMES = ["runc", "runsc"] as const;
export type Runtime = (typeof RUNTIMES)[number];

export const dockerConfig = z.strictObject({
  /** Of the engine's own: nothing is ever pulled. It must have what `docs/operations.md` lists. */
  image: z.string().min(1).max(512).optional(),
  /** `runc` stands for whatever the engine's default is; `runsc` is gVisor. */
  runtime: z.enum(RUNTIMES).default("runc"),
  /** Numbers, so that no file of the image decides who the guest is; never root. */
  uid: z.int().min(1).max(2_147_483_647).default(65_532),
});
