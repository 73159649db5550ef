import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { homedir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { outputsOf } from "../../testing/outputs.ts";
import { runProgram } from "../../testing/run-program.ts";
import { failed, returned } from "./conformance/expectations.ts";
import type { IsolationReport, SandboxProvider } from "./port.ts";

const MIB = 1024 * 1024;
const SMALL = { memoryBytes: 128 * MIB, pids: 64, cpus: 0.5, diskBytes: 32 * MIB, files: 500 };
const lease = { limits: SMALL };
/** As many times may a neighbour take longer: it shares the machine, and with what else runs there. */
const SLOWER = 6;
/** What else runs there may fall into one comparison, and hardly into each of three. */
const COMPARISONS = 3;

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
  const work = "let sum = 0; for (let i = 0; i < 3e7; i++) sum += i % 7; return 7";
  const neighbour = () => runProgram(provider, { code: work });
  /** How long a program of always the same work takes, its sandbox's start and end included: the middle of some runs. */
  const pace = async (): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const from = performance.now();
      expect((await neighbour()).outcome).toMatchObject(returned(7));
      times.push(performance.now() - from);
    }
    return times.toSorted((a, b) => a - b)[2] as number;
  };
  /** Beside what `explode` does until it is told to stop. Where processor time is not bounded, a pace is nobody's word. */
  const keepsPace = async (explode: (stop: AbortSignal, onLit: () => void) => Promise<void>): Promise<void> => {
    const { cpu } = await enforcedBy(provider);
    let slower = Number.POSITIVE_INFINITY;
    for (let i = 0; i < COMPARISONS && slower >= SLOWER; i++) {
      const alone = await pace();
      const stop = new AbortController();
      const lit = Promise.withResolvers<void>();
      const exploding = explode(stop.signal, lit.resolve);
      await Promise.race([lit.promise, exploding]);
      const beside = await pace().finally(() => stop.abort());
      await exploding;
      slower = cpu === true ? beside / alone : 1;
    }
    expect(slower).toBeLessThan(SLOWER);
  };

  it("a fork bomb is held, and a neighbour keeps its pace beside it", async () => {
    const code = `${TOOLS} console.log("lit");
      for (;;) { spawn("sh", ["-c", "b() { b | b & }; b; wait"]).on("error", () => {}); await wait(50) }`;
    await keepsPace(async (signal, onOutput) => {
      // Where it takes its own last process from itself it is lit again.
      do expect((await run(code, { signal, onOutput })).outcome.kind).toMatch(/^(failed|cancelled)$/);
      while (!signal.aborted);
    });
    expect((await neighbour()).outcome).toMatchObject(returned(7));
  });

  it("memory bombs are OUT_OF_MEMORY, also in a child, and a neighbour keeps its pace beside them", async () => {
    const bombs = [
      "const held = []; for (;;) held.push(Buffer.alloc(1e6, 1))",
      'spawnSync(process.execPath, ["-e", "const h = []; for (;;) h.push(Buffer.alloc(1e6, 1))"]); throw new Error("went")',
    ];
    await keepsPace(async (signal, onLit) => {
      onLit();
      const exploding = bombs.map(async (bomb) => {
        do expect((await run(TOOLS + bomb)).outcome).toMatchObject(failed("OUT_OF_MEMORY"));
        while (!signal.aborted);
      });
      await Promise.all(exploding);
    });
  });

  it.each(["/work", "/tmp", "/home/guest", "/dev/shm"])(
    "filling %s ends in ENOSPC, not on the host",
    async (folder) => {
      const fill = (write: string) =>
        `try { for (let i = 0; i < 3000; i++) ${write} } catch (error) { return error.code } return "full"`;
      const bytes = await run(`${TOOLS}${fill(`fs.appendFileSync("${folder}/x", Buffer.alloc(${MIB}))`)}`);
      expect(bytes.outcome).toMatchObject(returned("ENOSPC"));
      const names = await run(`${TOOLS}${fill(`fs.writeFileSync("${folder}/" + i, "")`)}`);
      // Where names are not counted, and the report says so, their memory is.
      const { files } = await enforcedBy(provider);
      expect(names.outcome).toMatchObject(returned(files === false ? "full" : "ENOSPC"));
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

async function isolationOf(provider: SandboxProvider): Promise<IsolationReport> {
  const probed = await provider.probe();
  if (!probed.available) throw new Error(probed.reason);
  return probed.isolation;
}

const enforcedBy = async (provider: SandboxProvider) => (await isolationOf(provider)).enforced;

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

  it("canaries in the host's environment and files are found nowhere, by the guest or in what it leaves", async () => {
    const canary = `canary-${randomBytes(8).toString("hex")}`;
    const files = ["/etc", "/tmp", homedir(), "/opt", "/var/tmp"].map((folder) => path.join(folder, canary));
    const holder = spawn("sleep", ["600"], { env: { CANARY: canary, PATH: process.env["PATH"] } });
    process.env["AIRLOCK_TEST_CANARY"] = canary;
    try {
      for (const file of files) writeFileSync(file, canary);
      const halves = `${JSON.stringify(canary.slice(0, 7))} + ${JSON.stringify(canary.slice(7))}`;
      const code = `const canary = ${halves}, seen = [];
        for (const pid of fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
          for (const file of ["environ", "cmdline"]) try { seen.push(fs.readFileSync("/proc/" + pid + "/" + file, "latin1")) } catch {}
        }
        const walk = (folder) => { try { for (const entry of fs.readdirSync(folder || "/", { withFileTypes: true })) {
          const at = folder + "/" + entry.name; seen.push(at);
          if (entry.isDirectory() && !/^\\/(proc|sys)/.test(at)) walk(at) } } catch {} };
        walk("");
        fs.writeFileSync("seen.txt", seen.filter((text) => !text.includes("--in")).join("\\n"));
        fs.writeFileSync("environment.txt", Object.keys(process.env).join("\\n"));
        ["/etc", "/tmp", ${JSON.stringify(homedir())}, "/opt", "/var/tmp"].forEach((folder, i) => {
          try { fs.symlinkSync(folder + "/" + canary, "soft" + i) } catch {}
          try { fs.linkSync(folder + "/" + canary, "hard" + i) } catch {}
          try { fs.copyFileSync(folder + "/" + canary, "copy" + i) } catch {}
        })`;
      const left = await outputsOf(provider, TOOLS + code, {}, { fileBytes: 64 * MIB, totalBytes: 64 * MIB });
      expect(String(left.files.get("seen.txt")).split("\n").length).toBeGreaterThan(100);
      for (const [name, content] of left.files) expect([name, content.includes(canary)]).toEqual([name, false]);
      const environment = String(left.files.get("environment.txt")).split("\n");
      expect(environment.filter((key) => /AIRLOCK|DATABASE|REDIS|SECRET|TOKEN/.test(key))).toEqual([]);
    } finally {
      holder.kill("SIGKILL");
      delete process.env["AIRLOCK_TEST_CANARY"];
      for (const file of files) rmSync(file, { force: true });
    }
  });

  it("no socket of an engine, no capability, and nothing of the system to write to", async () => {
    const code = `const sockets = ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"].filter((at) => fs.existsSync(at));
      const status = fs.readFileSync("/proc/self/status", "utf8");
      const field = (name) => new RegExp("^" + name + ":\\\\s*(\\\\S+)", "m").exec(status)?.[1];
      const refused = (work) => { try { work(); return false } catch { return true } };
      return [sockets, /^0+$/.test(field("CapEff")), field("NoNewPrivs"),
        refused(() => fs.writeFileSync("/usr/bin/mine", "")), refused(() => fs.writeFileSync("/proc/sys/kernel/core_pattern", "x")),
        refused(() => fs.writeFileSync("/proc/sysrq-trigger", "h"))]`;
    // Not every kernel tells of it.
    const { noNewPrivileges } = await enforcedBy(provider);
    expect(await value(code)).toEqual([[], true, noNewPrivileges === false ? null : "1", true, true, true]);
  });

  it("no way to mount, and no namespace of its own", async () => {
    const calls = `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
tries = {
    "unshare user": lambda: libc.unshare(0x10000000),
    "unshare mounts": lambda: libc.unshare(0x20000),
    "unshare network": lambda: libc.unshare(0x40000000),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "mount again": lambda: libc.mount(b"/work", b"/tmp", None, 4096, None),
    "clone user": lambda: libc.syscall(number, 0x10000011, 0, 0, 0, 0) or os._exit(0),
}
for name, work in tries.items():
    print(name if work() != -1 else "refused", flush=True)`;
    const programs = [
      ["unshare", "--user", "true"],
      ["unshare", "--mount", "true"],
      ["unshare", "--user", "--map-root-user", "--mount", "true"],
      ["mount", "-t", "tmpfs", "none", "/tmp"],
    ];
    const code = `const found = [];
      for (const [program, ...args] of ${JSON.stringify(programs)}) {
        const { status, error } = spawnSync(program, args);
        if (error?.code !== "ENOENT") found.push(status === 0 ? [program, ...args].join(" ") : "refused");
      }
      const { stdout } = spawnSync("python3", ["-c", ${JSON.stringify(calls)}]);
      return [...found, ...String(stdout ?? "").trim().split("\\n").filter(Boolean)]`;
    const tried = (await value(code)) as string[];
    expect(tried.length).toBeGreaterThan(0);
    const { level, enforced } = await isolationOf(provider);
    // Where the wall is a kernel of its own, what is mounted in it is nobody else's, and nothing is claimed.
    if (enforced["userNamespaces"] !== true) return expect(["gvisor", "microvm"]).toContain(level);
    expect(tried.filter((each) => each !== "refused")).toEqual([]);
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
