import { type Parking, ToolError, type ToolContext, type ToolPlugin } from "@airlock/workers/plugin";
import { expect, it } from "vitest";
import { z } from "zod";
import { call } from "../../testing/tool-context.ts";
import { defineTool } from "./define-tool.ts";

/** As in CONTRIBUTING.md: its types are checked with those of this file. */
const plugin: ToolPlugin = (kit) =>
  kit.defineTool({
    path: "tracker.createIssue",
    description: "Opens an issue.",
    input: kit.z.strictObject({ title: kit.z.string().min(1), labels: kit.z.array(kit.z.string()).default([]) }),
    output: kit.z.object({ id: kit.z.number() }),
    policy: (input) => (input.labels.includes("draft") ? "auto" : "required"),
    parks: (): Parking | null => null,
    run: async ({ secrets }: ToolContext, { title }) => {
      if (secrets.get("TRACKER") === undefined) throw new kit.ToolError("the tracker needs a key");
      return { id: title.length };
    },
  });

it("a plugin typed by the exported types alone is a tool", async () => {
  const made = await plugin({ defineTool, ToolError, z });
  const [tool] = [made].flat();
  if (tool === undefined) throw new Error("no tool");
  expect([tool.modeOf({ labels: [] }), tool.modeOf({ labels: ["draft"] })]).toEqual(["REQUIRED", "AUTO"]);
  const secrets = { get: () => "key" };
  expect(await call(tool, { title: "four" }, { secrets })).toEqual({ id: 4 });
  await expect(call(tool, { title: "four" })).rejects.toBeInstanceOf(ToolError);
});
