import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runBinary } from "../../testing/binary.ts";
import { type CliRig, startCliRig } from "../../testing/cli-rig.ts";
import { openTerminal } from "../../testing/terminal.ts";

let rig: CliRig;
let config: string;
beforeAll(async () => {
  rig = await startCliRig();
});
afterAll(() => rig.stop());
beforeEach(async () => {
  config = await mkdtemp(path.join(tmpdir(), "airlock-config-"));
});
afterEach(() => rm(config, { recursive: true, force: true }));

const file = (): string => path.join(config, "airlock", "login.json");
const here = (more = {}) => ({ XDG_CONFIG_HOME: config, ...more });

describe("airlock login", () => {
  test("keeps address and key for the owner alone, and the other commands use them", async () => {
    const { key } = await rig.user();
    const ended = await runBinary(["login", "--url", rig.url], { env: here(), input: `${key}\n` });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).not.toContain(key);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file()))).mode & 0o777).toBe(0o700);
    expect(JSON.parse(await readFile(file(), "utf8"))).toEqual({ url: rig.url, key });
    expect((await runBinary(["tasks", "ls", "--json"], { env: here() })).stdout).toBe("[]\n");
  });

  test("a key that the gateway does not know is not kept", async () => {
    const ended = await runBinary(["login", "--url", rig.url, "--key", "nobody-knows-me"], { env: here() });
    expect(ended.code).toBe(5);
    await expect(stat(file())).rejects.toThrow("ENOENT");
  });

  test("a kept key goes to no other address; flags win over the environment, which wins over the login", async () => {
    const { key } = await rig.user();
    await runBinary(["login", "--url", rig.url, "--key", key], { env: here() });
    const elsewhere = await runBinary(["tasks", "ls", "--url", "http://127.0.0.1:9"], { env: here() });
    expect(elsewhere).toMatchObject({ code: 2 });
    expect(elsewhere.stderr).toContain("no key for http://127.0.0.1:9");
    const byEnv = await runBinary(["tasks", "ls"], { env: here({ AIRLOCK_KEY: "nobody-knows-me" }) });
    expect(byEnv.stderr).toContain("UNAUTHENTICATED");
    const byFlag = await runBinary(["tasks", "ls", "--key", key], { env: here({ AIRLOCK_KEY: "nobody-knows-me" }) });
    expect(byFlag.code).toBe(0);
  });

  test("a broken login file is named, with the remedy", async () => {
    const { key } = await rig.user();
    await runBinary(["login", "--url", rig.url, "--key", key], { env: here() });
    await writeFile(file(), "{");
    const ended = await runBinary(["tasks", "ls"], { env: here() });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(`${file()} is no login`);
  });
});

describeNeeding("pty", "airlock login on a terminal", () => {
  test("asks for both, and does not show the key", async () => {
    const { key } = await rig.user();
    const terminal = openTerminal(["login"], here());
    await terminal.until("Address (http://127.0.0.1:4001):");
    terminal.type(`${rig.url}\r`);
    await terminal.until("Key (not shown):");
    terminal.type(`${key}\r`);
    await terminal.until(`logged in at ${rig.url}`);
    expect(await terminal.exitCode).toBe(0);
    expect(terminal.shown()).not.toContain(key);
    expect(JSON.parse(await readFile(file(), "utf8"))).toEqual({ url: rig.url, key });
  });
});
