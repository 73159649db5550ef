import { z } from "zod";

/** Memory comes with the processors. */
export const BYTES_PER_VCPU = 2048 * 1024 * 1024;
const VCPUS = [1, 2, 4, 8] as const;

export const vercelConfig = z
  .strictObject({
    /** Of the project's registry, or one of the vendor's own; the vendor's default where neither it nor `runtime` is given. */
    image: z.string().min(1).max(512).optional(),
    runtime: z.string().min(1).max(64).optional(),
    /** More are taken where the environment's limits ask for more. */
    vcpus: z.literal(VCPUS).default(1),
    /** How long a sandbox may live; longer where a task's own time needs it and the vendor's plan allows it. */
    timeoutMs: z
      .int()
      .min(60_000)
      .max(24 * 3600_000)
      .default(5 * 60_000),
    region: z
      .string()
      .regex(/^[a-z]{3}[0-9]$/, "a region is like iad1")
      .optional(),
    networkPolicy: z.literal("deny-all").default("deny-all"),
  })
  .refine(({ image, runtime }) => image === undefined || runtime === undefined, {
    error: "image and runtime exclude each other",
  });

export type VercelConfig = z.output<typeof vercelConfig>;

/** The smallest machine that has what is asked for; null where there is none. */
export function chooseVcpus(
  config: Pick<VercelConfig, "vcpus">,
  limits: { readonly cpus: number; readonly memoryBytes: number },
): number | null {
  const least = Math.max(config.vcpus, limits.cpus, limits.memoryBytes / BYTES_PER_VCPU);
  return VCPUS.find((count) => count >= least) ?? null;
}
