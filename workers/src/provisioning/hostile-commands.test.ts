import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describeNeeding, type GitServer, startGitServer } from "@airlock/shared/testing";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { inEnvironment, makeEnvironment } from "../../testing/environment.ts";
import { openProvisioning, TEST_BOUNDS, type TestProvisioning } from "../../testing/provisioning.ts";
import { createScriptedProvider, type ScriptedProvider } from "../../testing/scripted-provider.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { runSegment } from "../runner/run-segment.ts";
import type { ProvisioningOptions } from "./provisioning.ts";

/** A name that is no UTF-8, as old archives have them. */
const CAFE = Buffer.from([0x63, 0x61, 0x66, 0xe9]);
let worker: TestWorker;
let server: GitServer;
let provider: ScriptedProvider;
const opened: TestProvisioning[] = [];
beforeAll(async () => {
  [worker, server] = await Promise.all([openTestWorker(), startGitServer()]);
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.remove()));
  await server.close();
  await worker.close();
});
beforeEach(() => {
  provider = createScriptedProvider();
});

function open(options: Partial<ProvisioningOptions> = {}): TestProvisioning {
  const one = openProvisioning(worker, { allowPrivate: new Set([server.host]), ...options });
  opened.push(one);
  return one;
}

let count = 0;
/** What became of a task whose environment says this, and what its work area begins with. */
async function run(given: Parameters<typeof makeEnvironment>[2], provisioning = open()) {
  const row = await makeEnvironment(worker, `hostile-${(count += 1)}`, given);
  const id = await worker.submit(inEnvironment(row));
  await runSegment({ ...worker.context, provisioning }, provider, await worker.claim(id));
  const { status, error_code: code, error_message: message } = await worker.task(id);
  const source = provider.asked.at(-1)?.layers[0]?.source;
  return {
    status,
    code,
    message,
    files: source === undefined ? [] : await readdir(source, { recursive: true }),
    source,
  };
}

const command = (provision: string, bounds: Partial<typeof TEST_BOUNDS> = {}) =>
  run({ provision }, open({ bounds: { ...TEST_BOUNDS, timeoutMs: 20_000, ...bounds } }));

async function processesWith(mark: string): Promise<number> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(mark)).length;
}

describeNeeding(["bwrap", "root"], "what is prepared by strangers", () => {
  it("a repository with names that are no UTF-8 is given without them", async () => {
    mkdirSync(path.join(server.tree, "src"), { recursive: true });
    writeFileSync(path.join(server.tree, "src/main.js"), "1");
    const bad = Buffer.concat([Buffer.from(`${server.tree}/src/`), CAFE]);
    mkdirSync(bad);
    writeFileSync(Buffer.concat([bad, Buffer.from("/inside")]), "1");
    writeFileSync(Buffer.concat([Buffer.from(`${server.tree}/`), CAFE]), "1");
    server.push();
    const ran = await run({ repository: { url: server.url, ref: "HEAD", credential: null } });
    expect(ran).toMatchObject({ status: "SUCCEEDED", message: null });
    expect(ran.files.toSorted()).toEqual(["src", "src/main.js"]);
  });

  it("so is what a command leaves", async () => {
    const ran = await command(
      "touch good; touch $(printf 'caf\\351'); mkdir $(printf 'd\\377'); touch $(printf 'd\\377/in')",
    );
    expect(ran).toMatchObject({ status: "SUCCEEDED", message: null, files: ["good"] });
  });

  it("a fault that nobody expected has the code of what was prepared, and is not tried five times", async () => {
    const provisioning = open();
    writeFileSync(path.join(provisioning.folder, "building"), "no folder");
    const ran = await run({ repository: { url: server.url, ref: "HEAD", credential: null } }, provisioning);
    expect(ran).toMatchObject({ status: "FAILED", code: "WORKSPACE_FAILED" });
    expect(ran.message).toMatch(/a fault of the worker \(E[A-Z]+\)$/);
    const other = await run({ provision: "true" }, provisioning);
    expect(other).toMatchObject({ status: "FAILED", code: "PROVISION_FAILED" });
    rmSync(path.join(provisioning.folder, "building"));
  });

  it("files without end are stopped by their number, long before the time is up", async () => {
    const ran = await command("i=0; while :; do seq -f f%.0f $i $((i + 999)) | xargs touch; i=$((i + 1000)); done", {
      entries: 5_000,
      timeoutMs: 60_000,
    });
    expect(ran).toMatchObject({ code: "PROVISION_FAILED", message: expect.stringMatching(/more than 5000 files/) });
  });

  it("a fork bomb gets no more processes than it may have, and none is left", async () => {
    const mark = `bomb${process.pid}${Date.now()}`;
    let most = 0;
    const looking = setInterval(() => void processesWith(mark).then((now) => (most = Math.max(most, now))), 300);
    const bomb = `for i in $(seq 400); do (exec -a ${mark} sleep 600) & done; wait`;
    const ran = await command(bomb, { pids: 60, timeoutMs: 8_000 });
    clearInterval(looking);
    expect(ran).toMatchObject({ status: "FAILED", code: "PROVISION_FAILED" });
    // A look at all processes takes its time, in which some end and others begin.
    expect([most > 5, most < 100]).toEqual([true, true]);
    expect(await processesWith(mark)).toBe(0);
  });

  it("more memory than it may have is the end of it, and said so", async () => {
    const ran = await command("node -e 'const h = []; for (;;) h.push(Buffer.alloc(1e6, 1))'", {
      memoryBytes: 128 * 1024 ** 2,
    });
    expect(ran).toMatchObject({
      code: "PROVISION_FAILED",
      message: expect.stringMatching(/134217728 bytes of memory/),
    });
  });

  it("no namespace of its own is to be had, and nothing to be mounted", async () => {
    const tries = ["unshare --user true", "unshare --map-root-user --mount true", "mount -t tmpfs none /tmp"];
    const ran = await command(
      tries.map((each, i) => `${each} 2>/dev/null && touch did-${i}`).join("; ") + "; touch ran",
    );
    expect(ran.files).toEqual(["ran"]);
  });

  it("of the groups that it was bound by none is left", () => {
    const parents = ["memory", "pids", "cpu", ""].map((name) => path.join("/sys/fs/cgroup", name));
    const mine = parents
      .flatMap((parent) => findSteps(parent, 4))
      .filter((name) => name.split(".")[0] === String(process.pid));
    expect(mine).toEqual([]);
  });
});

/** The groups of steps below a folder. */
function findSteps(folder: string, depth: number): string[] {
  if (depth === 0) return [];
  try {
    const names = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
    return names.flatMap(({ name }) => {
      const at = path.join(folder, name);
      return name.startsWith("airlock-steps-") ? readdirSync(at) : findSteps(at, depth - 1);
    });
  } catch {
    return [];
  }
}
