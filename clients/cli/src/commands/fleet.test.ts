import type { Worker } from "@airlock/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliRig, startCliRig } from "../../testing/cli-rig.ts";

let rig: CliRig;
beforeAll(async () => {
  rig = await startCliRig();
});
afterAll(() => rig.stop());

describe.concurrent("airlock tools, workers and doctor", () => {
  test("tools ls finds tools by words and tells their mode", async () => {
    const { airlock, json } = await rig.user();
    expect((await airlock(["tools", "ls", "echo"])).stdout).toMatch(/^util\.echo\tAUTO\t/);
    expect((await airlock(["tools", "ls"])).stdout).toMatch(/^http\.request\tREQUIRED\t/m);
    expect(await json(["tools", "ls", "echo"])).toMatchObject([{ path: "util.echo", mode: "AUTO" }]);
  });

  test("tools types prints declarations", async () => {
    const { airlock, json } = await rig.user();
    const { stdout } = await airlock(["tools", "types", "echo"]);
    expect(stdout).toContain("echo(");
    expect(stdout).not.toContain("request(");
    expect(await json(["tools", "types", "echo"])).toEqual({ types: stdout });
  });

  test("workers ls tells who runs and what they have proved", async () => {
    const { airlock, json } = await rig.user();
    expect((await airlock(["workers", "ls"])).stdout).toMatch(/\tRUNNING\t0\/64\t.*\tisolate\n$/);
    expect(await json<Worker[]>(["workers", "ls"])).toMatchObject([{ state: "RUNNING", providers: ["isolate"] }]);
  });

  test("environments are listed, shown and proved", async () => {
    const { airlock, json } = await rig.user();
    expect((await airlock(["environments", "ls"])).stdout).toMatch(
      /^isolate \(default\)\tisolate\tjavascript, typescript\t\tactive\tbuilt-in$/m,
    );
    expect((await airlock(["environments", "show", "isolate"])).stdout).toMatch(/^provider +isolate$/m);
    expect(await json(["environments", "show", "isolate"])).toMatchObject({ name: "isolate", revision: null });
    const proved = await airlock(["environments", "probe", "isolate"]);
    expect(proved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^available\nisolation +wasm/) as string });
    expect((await airlock(["environments", "show", "none"])).code).toBe(2);
    expect((await airlock(["environments", "probe", "none"])).code).not.toBe(0);
  });

  test("doctor tells of every part, and of the gateway's workers", async () => {
    const { airlock, json } = await rig.user();
    const { stdout, code } = await airlock(["doctor"]);
    expect(code).toBe(0);
    for (const part of ["node", "system", "user", "bwrap", "cgroups", "docker", "runsc", "redis"]) {
      expect(stdout).toMatch(new RegExp(`^${part}\t(ok|missing)\t`, "m"));
    }
    expect(stdout).toContain(`gateway\tok\t1 running, proved: isolate\t${rig.url}\n`);
    expect(await json(["doctor"])).toContainEqual(expect.objectContaining({ name: "node", state: "ok" }));
    const bare = await json(["doctor"], { env: { PATH: "/nonexistent" } });
    expect(bare).toContainEqual(expect.objectContaining({ name: "bwrap", state: "missing", found: "not installed" }));
  });

  test("doctor says so where no gateway answers", async () => {
    const { airlock } = await rig.user();
    const { stdout, code } = await airlock(["doctor", "--url", "http://127.0.0.1:9"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/gateway\tmissing\t.*\thttp:\/\/127\.0\.0\.1:9\/graphql does not answer/);
  });
});
