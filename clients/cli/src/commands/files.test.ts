import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Artifact } from "@airlock/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliRig, startCliRig } from "../../testing/cli-rig.ts";

const home = mkdtempSync(path.join(tmpdir(), "airlock-cli-files-"));
let rig: CliRig;
beforeAll(async () => {
  rig = await startCliRig();
});
afterAll(async () => {
  await rig.stop();
  rmSync(home, { recursive: true });
});

describe.concurrent("files of tasks", () => {
  test("go in with --file, are listed, and come out with download", async () => {
    const user = await rig.user();
    const local = await rig.file("words.txt", "naïve");
    const input = `const { content } = await tools.artifacts.get({ name: "in/words.txt" });
      await tools.artifacts.put({ name: "out/a.txt", content: content.toUpperCase() });
      await tools.artifacts.put({ name: "b", base64: "AP8=" });
      return content`;
    const args = ["run", "-", "--session", "files", "--file", `in/words.txt=${local}`, "--detach"];
    const { id } = await user.json<{ id: string }>(args, { input });
    await user.client.tasks.handle(id).result();
    const files = await user.json<Artifact[]>(["tasks", "artifacts", id]);
    expect(files.map(({ name, direction, size }) => [direction, name, size])).toEqual([
      ["INPUT", "in/words.txt", 6],
      ["OUTPUT", "out/a.txt", 6],
      ["OUTPUT", "b", 2],
    ]);
    const folder = path.join(home, id);
    expect((await user.airlock(["tasks", "download", id, "-o", folder])).code).toBe(0);
    expect(readFileSync(path.join(folder, "out/a.txt"), "utf8")).toBe("NAÏVE");
    expect([...readFileSync(path.join(folder, "b"))]).toEqual([0, 255]);
    const again = await user.airlock(["tasks", "download", id, "b", "-o", folder]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("is there already")]);
    expect((await user.airlock(["tasks", "download", id, "c"])).code).toBe(2);
    expect((await user.client.artifacts.ofSession("files")).map(({ name }) => name)).toEqual(["b", "out/a.txt"]);
  });

  test("one that cannot be read, and one whose path is none, are told before anything runs", async () => {
    const user = await rig.user();
    const missing = await user.airlock(["run", "-", "--file", "nowhere.txt"], { input: "return 1" });
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("nowhere.txt")]);
    const local = await rig.file("x.txt", "x");
    const bad = await user.airlock(["run", "-", "--file", `../x=${local}`], { input: "return 1" });
    expect(bad.stderr).toContain("BAD_INPUT");
  });
});
