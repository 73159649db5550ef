import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import type { GuestOutcome, GuestProgram, Lease, LeaseRequest, ProbeResult } from "../port.ts";

const run = promisify(execFile);
const PROOF_MS = 30_000;
const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 96 * MIB, pids: 48, cpus: 1, diskBytes: 16 * MIB, files: 64 };

/** What must be here at all, told so that an operator can bring it. */
export async function whyNot(bubblewrap: string): Promise<string | null> {
  if (process.platform !== "linux") return "sandboxes of Linux namespaces are made on Linux";
  if (process.getuid?.() !== 0)
    return "work areas and cgroups are made by root: run the worker as root, or in a container as root";
  try {
    await run(bubblewrap, ["--version"]);
  } catch {
    return `bubblewrap is not at ${bubblewrap}: apt-get install bubblewrap`;
  }
  try {
    await run("setpriv", ["--version"]);
    return null;
  } catch {
    return "setpriv is missing: apt-get install util-linux";
  }
}

/** Looks at its walls from the inside, and pushes against them. */
const LOOK = `
  const fs = require("node:fs"), os = require("node:os"), { spawn } = require("node:child_process");
  const status = fs.readFileSync("/proc/self/status", "utf8");
  const field = (name) => new RegExp("^" + name + ":\\\\s*(\\\\S+)", "m").exec(status)?.[1];
  const refused = (work) => { try { work(); return null } catch (error) { return error.code } };
  const disk = refused(() => { for (let i = 0; i < 64; i++) fs.appendFileSync("/work/fill", Buffer.alloc(1e6)) });
  fs.unlinkSync("/work/fill");
  const files = refused(() => { for (let i = 0; i < 200; i++) fs.writeFileSync("/tmp/" + i, "") });
  const root = refused(() => fs.writeFileSync("/usr/bin/mine", ""));
  const children = [];
  let pids = 0;
  for (; pids < 200; pids++) {
    const child = spawn("/usr/bin/sleep", ["60"], { stdio: "ignore" });
    if (!(await new Promise((done) => child.on("spawn", () => done(true)).on("error", () => done(false))))) break;
    children.push(child);
  }
  for (const child of children) child.kill("SIGKILL");
  return { caps: field("CapEff"), nnp: field("NoNewPrivs"), seccomp: field("Seccomp"), disk, files, root, pids,
    network: Object.keys(os.networkInterfaces()).filter((name) => name !== "lo"),
    environment: Object.keys(process.env).sort(), uid: process.getuid() }`;
const BOMB = "const held = []; for (;;) held.push(new Uint8Array(1e6).fill(1))";

type Acquire = (request: LeaseRequest) => Promise<Lease>;

/** Runs guests against each wall; what does not hold makes the provider unavailable. */
export async function probeProcess(acquire: Acquire, cgroups: string): Promise<ProbeResult> {
  const [bomb, look] = await Promise.all([runProof(acquire, BOMB), runProof(acquire, LOOK)]);
  if (bomb.kind !== "failed" || bomb.failure.code !== "OUT_OF_MEMORY") return unproved("the memory limit", bomb);
  if (look.kind !== "returned" || look.output === null) return unproved("a sandbox", look);
  const seen = JSON.parse(look.output) as Record<string, unknown>;
  const holds = {
    capabilities: /^0+$/.test(String(seen["caps"])) && seen["nnp"] === "1",
    seccomp: seen["seccomp"] === "2",
    disk: seen["disk"] === "ENOSPC",
    files: seen["files"] === "ENOSPC",
    filesystem: seen["root"] === "EROFS",
    pids: Number(seen["pids"]) < LIMITS.pids,
    network: (seen["network"] as unknown[]).length === 0,
  };
  const broken = Object.entries(holds).filter(([, held]) => !held);
  if (broken.length > 0) return unproved(broken.map(([wall]) => wall).join(), seen);
  const enforced = { memory: true, time: true, environment: true, ...holds, cgroups };
  return { available: true, isolation: { provider: "process", level: "process", enforced }, image: null };
}

function unproved(wall: string, seen: unknown): ProbeResult {
  return { available: false, reason: `${wall} does not hold: ${JSON.stringify(seen)}` };
}

async function runProof(acquire: Acquire, code: string): Promise<GuestOutcome> {
  const request = { leaseId: randomUUID(), taskId: "probe", projectId: "probe", config: {}, limits: LIMITS };
  const lease = await acquire({ ...request, files: [], layers: [] });
  const bounds = { keptOutputBytes: 4096, outputBytes: 4096, resultBytes: 4096, memoryBytes: LIMITS.memoryBytes };
  const program: GuestProgram = {
    language: "JAVASCRIPT",
    code,
    input: null,
    seed: "00",
    clockStart: 0,
    kept: null,
    live: true,
    limits: { timeoutMs: PROOF_MS, ...bounds },
  };
  try {
    const nobody = { output: () => {}, dropped: () => {}, call: () => {}, idle: () => {} };
    return await lease.start(program, nobody, new AbortController().signal).outcome;
  } finally {
    await lease.release();
  }
}
