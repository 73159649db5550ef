import { appendFileSync } from "node:fs";
import type { ToolPlugin } from "@airlock/workers/plugin";

/**
 * Loaded into the worker by the bench. `bench.mark` is called by a guest that runs again; the moment is taken where the
 * call is judged, before anything of it is stored.
 */
const plugin: ToolPlugin = ({ defineTool, z }) =>
  defineTool({
    path: "bench.mark",
    description: "Notes when the program came here.",
    input: z.strictObject({ id: z.string() }),
    output: z.null(),
    policy: ({ id }) => {
      const at = performance.timeOrigin + performance.now();
      appendFileSync(process.env["AIRLOCK_BENCH_MARKS"] ?? "", `${id} ${at}\n`);
      return "auto";
    },
    idempotent: true,
    run: () => Promise.resolve(null),
  });

export default plugin;
