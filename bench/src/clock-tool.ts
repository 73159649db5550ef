import type { ToolPlugin } from "@airlock/workers/plugin";

/** Loaded into the worker by the bench: tells a guest, whose own clock stands still, when its answer was made. */
const plugin: ToolPlugin = ({ defineTool, z }) =>
  defineTool({
    path: "bench.clock",
    description: "Milliseconds since 1970, with fractions.",
    input: z.strictObject({}),
    output: z.number(),
    policy: "auto",
    idempotent: true,
    run: () => Promise.resolve(performance.timeOrigin + performance.now()),
  });

export default plugin;
