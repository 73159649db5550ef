import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { homedir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runProgram } from "../../testing/run-program.ts";
import { failed, returned } from "./conformance/expectations.ts";
import type { SandboxProvider } from "./port.ts";

const MIB = 1024 * 1024;
const SMALL = { memoryBytes: 128 * MIB, pids: 64, cpus: 0.5, diskBytes: 32 * MIB, files: 500 };
const lease = { limits: SMALL };

/** What hostile programs try, against a provider that has a work area; nothing is sent but to listeners of our own. */
export function describeHostile(name: string, makeProvider: () => SandboxProvider): void {
  describe(`hostile programs in ${name}`, () => {
    const provider = makeProvider();
    afterAll(() => provider.close());
    describe("what they use up", () => exhaustion(provider));
    describe("what they reach", () => reach(provider));
  });
}

function exhaustion(provider: SandboxProvider): void {
  const run = (code: string, options = {}) => runProgram(provider, { code, lease, ...options });
  const neighbour = () => runProgram(provider, { code: "await new Promise((r) => setTimeout(r, 50)); return 7" });

  it("a fork bomb is held, and a neighbour runs beside it", async () => {
    const bomb = run('spawn("sh", ["-c", "b() { b | b & }; b; wait"]); for (;;) await wait(50);'.replace(/^/, TOOLS), {
      limits: { timeoutMs: 5000 },
    });
    expect((await neighbour()).outcome).toMatchObject(returned(7));
    expect((await bomb).outcome.kind).toBe("failed");
    expect((await neighbour()).outcome).toMatchObject(returned(7));
  });

  it("a memory bomb is OUT_OF_MEMORY, also in a child, and a neighbour runs beside it", async () => {
    const bomb = run("const held = []; for (;;) held.push(Buffer.alloc(1e6, 1))");
    expect((await neighbour()).outcome).toMatchObject(returned(7));
    expect((await bomb).outcome).toMatchObject(failed("OUT_OF_MEMORY"));
    const child =
      'spawnSync(process.execPath, ["-e", "const h = []; for (;;) h.push(Buffer.alloc(1e6, 1))"]); throw new Error("went")';
    expect((await run(TOOLS + child)).outcome).toMatchObject(failed("OUT_OF_MEMORY"));
  });

  it.each(["/work", "/tmp", "/home/guest", "/dev/shm"])(
    "filling %s ends in ENOSPC, not on the host",
    async (folder) => {
      const fill = (write: string) =>
        `try { for (let i = 0; i < 3000; i++) ${write} } catch (error) { return error.code } return "full"`;
      const bytes = await run(`${TOOLS}${fill(`fs.appendFileSync("${folder}/x", Buffer.alloc(${MIB}))`)}`);
      expect(bytes.outcome).toMatchObject(returned("ENOSPC"));
      const names = await run(`${TOOLS}${fill(`fs.writeFileSync("${folder}/" + i, "")`)}`);
      expect(names.outcome).toMatchObject(returned("ENOSPC"));
    },
  );

  it("output without end, past the agent, is OUTPUT_LIMIT", async () => {
    const { outcome, stdout } = await run(`${TOOLS} spawn("yes", [], { stdio: "inherit" }); await wait(60_000)`);
    expect(outcome).toMatchObject(failed("OUTPUT_LIMIT"));
    expect(stdout.length).toBeLessThanOrEqual(MIB);
  });

  it("lines that the protocol does not know end the guest, not the worker", async () => {
    const junk = [
      "x",
      "[1]",
      '["call",1,"a.b","{not json",5]',
      '["idle",1,true,null,7,1]',
      '["done",{"kind":"parked"}]',
      "é",
    ];
    for (const line of junk) {
      const forge = `for (const fd of [3, 4]) try { fs.writeSync(fd, ${JSON.stringify(`${line}\n`)}) } catch {}`;
      expect((await run(`${TOOLS}${forge}; await wait(60_000)`)).outcome).toMatchObject(
        failed("GUEST_ERROR", /channel/),
      );
    }
    expect((await neighbour()).outcome).toMatchObject(returned(7));
  });
}

const TOOLS = `const fs = require("fs"), net = require("net"), { spawn, spawnSync } = require("child_process");
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms)); `;

function reach(provider: SandboxProvider): void {
  const value = async (code: string): Promise<unknown> => {
    const { outcome } = await runProgram(provider, { code: TOOLS + code, lease });
    if (outcome.kind !== "returned") throw new Error(JSON.stringify(outcome));
    return JSON.parse(outcome.output ?? "null");
  };

  it("listeners on the host's loopback are out of reach, and it has no interface but its own", async () => {
    let heard = 0;
    const servers = ["127.0.0.1", "::1"].map((host) => createServer(() => heard++).listen(0, host));
    try {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.once("listening", resolve))));
      const targets = servers.map((server) => server.address() as { address: string; port: number });
      // The positive control: they do listen.
      for (const { address, port } of targets) connect(port, address).end();
      await expect.poll(() => heard, { timeout: 10_000 }).toBe(2);
      const code = `const connect = ({ address, port }) => new Promise((done) => {
          const socket = net.connect(port, address); socket.on("connect", () => done("in")); socket.on("error", () => done("out")) });
        return [await Promise.all(${JSON.stringify(targets)}.map(connect)),
          Object.keys(require("os").networkInterfaces()).filter((name) => name !== "lo")]`;
      expect(await value(code)).toEqual([["out", "out"], []]);
      expect(heard).toBe(2);
    } finally {
      for (const server of servers) server.close();
    }
  });

  it("canaries in the host's environment and files are found nowhere", async () => {
    const canary = `canary-${randomBytes(8).toString("hex")}`;
    const files = ["/etc", "/tmp", homedir(), "/opt", "/var/tmp"].map((folder) => path.join(folder, canary));
    const holder = spawn("sleep", ["600"], { env: { CANARY: canary, PATH: process.env["PATH"] } });
    process.env["AIRLOCK_TEST_CANARY"] = canary;
    try {
      for (const file of files) writeFileSync(file, canary);
      const code = `const seen = [];
        for (const pid of fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
          for (const file of ["environ", "cmdline"]) try { seen.push(fs.readFileSync("/proc/" + pid + "/" + file, "latin1")) } catch {}
        }
        const walk = (folder) => { try { for (const entry of fs.readdirSync(folder || "/", { withFileTypes: true })) {
          const at = folder + "/" + entry.name; seen.push(at);
          if (entry.isDirectory() && !/^\\/(proc|sys)/.test(at)) walk(at) } } catch {} };
        walk(""); return [seen.length > 100, seen.filter((text) => text.includes(${JSON.stringify(canary.slice(0, 7))} + ${JSON.stringify(canary.slice(7))}))
          .filter((text) => !text.includes("--in")), Object.keys(process.env).sort()]`;
      const [looked, found, environment] = (await value(code)) as [boolean, string[], string[]];
      expect([looked, found]).toEqual([true, []]);
      expect(environment.filter((key) => /AIRLOCK|DATABASE|REDIS|SECRET|TOKEN/.test(key))).toEqual([]);
    } finally {
      holder.kill("SIGKILL");
      delete process.env["AIRLOCK_TEST_CANARY"];
      for (const file of files) rmSync(file, { force: true });
    }
  });

  it("no socket of an engine, no way to mount, no namespace of its own, no capability", async () => {
    const code = `const sockets = ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"].filter((at) => fs.existsSync(at));
      const status = fs.readFileSync("/proc/self/status", "utf8");
      const field = (name) => new RegExp("^" + name + ":\\\\s*(\\\\S+)", "m").exec(status)?.[1];
      const refused = (work) => { try { work(); return false } catch { return true } };
      return [sockets, /^0+$/.test(field("CapEff")), field("NoNewPrivs"),
        refused(() => fs.writeFileSync("/usr/bin/mine", "")), refused(() => fs.writeFileSync("/proc/sys/kernel/core_pattern", "x")),
        refused(() => fs.writeFileSync("/proc/sysrq-trigger", "h"))]`;
    expect(await value(code)).toEqual([[], true, "1", true, true, true]);
  });

  it("after all of it no process of a guest is left on the host", () => {
    const alive = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/agent/agent.cjs");
        } catch {
          return false;
        }
      });
    expect(alive.filter((pid) => isOurs(Number(pid)))).toEqual([]);
  });
}

function isOurs(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    return parent === process.pid || (parent > 1 && isOurs(parent));
  } catch {
    return false;
  }
}
