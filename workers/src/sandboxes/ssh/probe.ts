import { randomUUID } from "node:crypto";
import { DEFAULT_GUEST_LIMITS, DEFAULT_SANDBOX_LIMITS, type SandboxLimits } from "@airlock/shared/domain";
import type { GuestOutcome, Lease, LeaseRequest } from "../port.ts";

const PROBE_MS = 20_000;
const LIMITS: SandboxLimits = { ...DEFAULT_SANDBOX_LIMITS, memoryBytes: 128 * 1024 * 1024, pids: 24, cpus: 1 };

/** What was seen to hold on one machine. */
export interface Measured {
  readonly memory: boolean;
  readonly pids: boolean;
}

/** Sees what a guest should not see; an empty list is what is hoped for. */
const LOOK = `
const { readFileSync, readdirSync, writeFileSync } = require("fs");
const { spawnSync } = require("child_process");
const found = [];
const lines = readFileSync("/proc/net/dev", "utf8").trim().split("\\n").slice(2);
for (const line of lines) if (line.trim().split(":")[0] !== "lo") found.push("a network interface");
for (const name of ["/root", "/home", "/etc/shadow", "/var", "/run"]) {
  try { const names = readdirSync(name).filter((each) => each !== "guest"); if (names.length > 0) found.push(name); } catch {}
}
for (const name of ["/usr/airlock-probe", "/airlock-probe", "/agent/airlock-probe"]) {
  try { writeFileSync(name, ""); found.push("a writable " + name); } catch {}
}
if (spawnSync("unshare", ["--user", "true"]).status === 0) found.push("user namespaces");
if (Object.keys(process.env).length > 6) found.push("an environment");
return found;`;

/** No more than half a gigabyte, where nothing stops it: the machine is somebody's. */
const HOLD_MEMORY = "const held = []; while (held.length < 500) held.push(Buffer.alloc(1e6, 1));";

const FORK = `
const { spawn } = require("child_process");
let started = 0;
for (let i = 0; i < 64; i++) {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  child.on("error", () => {});
  if (child.pid !== undefined) started++;
}
process.exit(started === 64 ? 1 : 0);`;

/** Tries each wall by running guests against it. Throws where one does not hold that nothing can make up for. */
export async function measure(acquire: (request: LeaseRequest) => Lease): Promise<Measured> {
  const [look, memory, fork] = await Promise.all([LOOK, HOLD_MEMORY, FORK].map((code) => runProof(acquire, code)));
  if (look?.kind !== "returned" || look.output !== "[]") {
    throw new Error(`the walls do not stand there: ${describe(look)}`);
  }
  return {
    memory: memory?.kind === "failed" && memory.failure.code === "OUT_OF_MEMORY",
    pids: fork?.kind === "returned",
  };
}

function describe(outcome: GuestOutcome | undefined): string {
  if (outcome?.kind === "lost") return outcome.reason;
  return JSON.stringify(outcome);
}

async function runProof(acquire: (request: LeaseRequest) => Lease, code: string): Promise<GuestOutcome> {
  const none = { config: null, files: [], layers: [] };
  const lease = acquire({ leaseId: randomUUID(), taskId: "probe", projectId: "probe", limits: LIMITS, ...none });
  const nobody = { output: () => {}, dropped: () => {}, call: () => {}, idle: () => {} };
  const limits = { ...DEFAULT_GUEST_LIMITS, timeoutMs: PROBE_MS };
  const program = { language: "JAVASCRIPT", code, input: null, seed: "00", clockStart: 0, kept: null } as const;
  try {
    return await lease.start({ ...program, live: true, limits }, nobody, new AbortController().signal).outcome;
  } finally {
    await lease.release();
  }
}
