import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { type GuestOutcome, type GuestProgram, LeaseError, type LeaseRequest } from "../port.ts";
import { GUEST_ENVIRONMENT } from "./command.ts";
import type { ProcessLease } from "./lease.ts";

const run = promisify(execFile);
const PROOF_MS = 30_000;
const MIB = 1024 * 1024;
const LOOP_MS = 1_000;
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
    for (const program of ["setpriv", "unshare"]) await run(program, ["--version"]);
    return null;
  } catch {
    return "setpriv or unshare is missing: apt-get install util-linux";
  }
}

/** Looks at its walls from the inside, and pushes against them. */
const LOOK = `
  const fs = require("node:fs"), os = require("node:os"), { spawn, spawnSync } = require("node:child_process");
  const status = fs.readFileSync("/proc/self/status", "utf8");
  const field = (name) => new RegExp("^" + name + ":\\\\s*(\\\\S+)", "m").exec(status)?.[1];
  const refused = (work) => { try { work(); return null } catch (error) { return error.code } };
  const disk = refused(() => { for (let i = 0; i < 64; i++) fs.appendFileSync("/work/fill", Buffer.alloc(1e6)) });
  fs.unlinkSync("/work/fill");
  const files = refused(() => { for (let i = 0; i < 200; i++) fs.writeFileSync("/tmp/" + i, "") });
  const root = refused(() => fs.writeFileSync("/usr/bin/mine", ""));
  const unshare = [["--version"], ["--user", "true"], ["--mount", "true"]].map((args) => spawnSync("unshare", args).status);
  const children = [];
  let pids = 0;
  for (; pids < 200; pids++) {
    const child = spawn("/usr/bin/sleep", ["60"], { stdio: "ignore" });
    if (!(await new Promise((done) => child.on("spawn", () => done(true)).on("error", () => done(false))))) break;
    children.push(child);
  }
  for (const child of children) child.kill("SIGKILL");
  return { caps: field("CapEff"), nnp: field("NoNewPrivs"), seccomp: field("Seccomp"), disk, files, root, pids, unshare,
    network: Object.keys(os.networkInterfaces()).filter((name) => name !== "lo"),
    environment: Object.keys(process.env).sort(), uid: process.getuid() }`;
/** No more than half a gigabyte, where nothing stops it. */
const BOMB = "const held = []; while (held.length < 500) held.push(new Uint8Array(1e6).fill(1))";
const LOOP = "for (;;) {}";
/** bubblewrap says where it has gone to. */
const VARIABLES = [...Object.keys(GUEST_ENVIRONMENT), "PWD"].toSorted();

/** What was seen to hold on this machine; what is not among the first three holds wherever anything is run. */
export interface Measured extends Readonly<Record<string, unknown>> {
  readonly memory: boolean;
  readonly pids: boolean;
  readonly cpu: boolean;
}

type Make = (request: LeaseRequest) => Promise<ProcessLease>;

/** Runs guests against each wall. Throws where one does not hold that nothing can make up for. */
export async function measureProcess(make: Make, cgroups: string): Promise<Measured> {
  const [bomb, look, loop] = await Promise.all([
    runProof(make, BOMB),
    runProof(make, LOOK),
    runProof(make, LOOP, { timeoutMs: LOOP_MS, cpus: 0.5 }),
  ]);
  if (look.outcome.kind !== "returned" || look.outcome.output === null) throw unproved("a sandbox", look.outcome);
  const seen = JSON.parse(look.outcome.output) as Record<string, unknown>;
  const [isThere, ...taken] = seen["unshare"] as [number | null, ...(number | null)[]];
  const walls = {
    time: isFailure(loop.outcome, "TIMEOUT"),
    environment: String(seen["environment"]) === String(VARIABLES),
    user: seen["uid"] === 65_534,
    userNamespaces: isThere === 0 && taken.every((status) => status !== 0),
    capabilities: /^0+$/.test(String(seen["caps"])) && seen["nnp"] === "1",
    seccomp: seen["seccomp"] === "2",
    disk: seen["disk"] === "ENOSPC",
    files: seen["files"] === "ENOSPC",
    filesystem: seen["root"] === "EROFS",
    network: (seen["network"] as unknown[]).length === 0,
  };
  const broken = Object.entries(walls).filter(([, held]) => !held);
  if (broken.length > 0) throw unproved(broken.map(([wall]) => wall).join(), { ...seen, loop: loop.outcome });
  return {
    memory: isFailure(bomb.outcome, "OUT_OF_MEMORY"),
    pids: Number(seen["pids"]) < LIMITS.pids,
    cpu: loop.throttled > 0,
    ...walls,
    cgroups,
  };
}

function isFailure(outcome: GuestOutcome, code: string): boolean {
  return outcome.kind === "failed" && outcome.failure.code === code;
}

function unproved(wall: string, seen: unknown): LeaseError {
  return new LeaseError(`${wall} does not hold: ${JSON.stringify(seen)}`);
}

interface Proof {
  readonly outcome: GuestOutcome;
  /** How often the kernel held it up. */
  readonly throttled: number;
}

async function runProof(make: Make, code: string, { timeoutMs = PROOF_MS, cpus = LIMITS.cpus } = {}): Promise<Proof> {
  const limits = { ...LIMITS, cpus };
  const request = { leaseId: randomUUID(), taskId: "probe", projectId: "probe", config: {}, limits };
  const lease = await make({ ...request, files: [], layers: [] });
  const bounds = { keptOutputBytes: 4096, outputBytes: 4096, resultBytes: 4096, memoryBytes: LIMITS.memoryBytes };
  const program: GuestProgram = {
    language: "JAVASCRIPT",
    code,
    input: null,
    seed: "00",
    clockStart: 0,
    kept: null,
    live: true,
    limits: { timeoutMs, ...bounds },
  };
  try {
    const nobody = { output: () => {}, dropped: () => {}, call: () => {}, idle: () => {} };
    const outcome = await lease.start(program, nobody, new AbortController().signal).outcome;
    return { outcome, throttled: await lease.throttled() };
  } finally {
    await lease.release();
  }
}
