import type { GuestOutcome, GuestProgram, Lease, LeaseRequest, ProbeResult } from "../port.ts";
import type { Confinement } from "./confinement.ts";
import type { ReadyMessage } from "./messages.ts";

type Acquire = (request: Pick<LeaseRequest, "projectId">) => Promise<Lease>;

/** Globals through which code usually reaches the world around it. */
const FORBIDDEN = ["fetch", "process", "require", "module", "std", "os", "bjson", "Deno", "Bun", "WebSocket", "Worker"];

/** For all that is no proof of the time limit: a machine may be busy while a worker starts. */
const AMPLE_MS = 30_000;
const SHORT_MS = 300;

const PROOFS = {
  memory: {
    code: "const held = []; for (;;) held.push(new Uint8Array(1e6).fill(1))",
    timeoutMs: AMPLE_MS,
    ends: "OUT_OF_MEMORY",
  },
  time: { code: "for (;;) {}", timeoutMs: SHORT_MS, ends: "TIMEOUT" },
  nativeTime: { code: 'Array.prototype.join.call({ length: 4e9 }, "")', timeoutMs: SHORT_MS, ends: "TIMEOUT" },
} as const;

/** Tries each wall by running guests against it; what does not hold makes the provider unavailable. */
export async function probeIsolate(
  acquire: Acquire,
  host: ReadyMessage,
  around: Confinement["kind"],
): Promise<ProbeResult> {
  for (const [wall, { code, timeoutMs, ends }] of Object.entries(PROOFS)) {
    const outcome = await runProof(acquire, code, timeoutMs);
    const held = outcome.kind === "failed" && outcome.failure.code === ends;
    if (!held) return unproved(`the ${wall} limit does not hold: ${JSON.stringify(outcome)}`);
  }
  const names = JSON.stringify(FORBIDDEN);
  const looked = await runProof(
    acquire,
    `return ${names}.filter((name) => typeof globalThis[name] !== "undefined")`,
    AMPLE_MS,
  );
  if (looked.kind !== "returned" || looked.output !== "[]") {
    return unproved(`a guest reaches out of its VM: ${JSON.stringify(looked)}`);
  }
  // bubblewrap always sets PWD, here to "/".
  const environment = host.environment.filter((name) => !(around === "bubblewrap" && name === "PWD"));
  if (environment.length > 0) return unproved(`the host process has an environment: ${environment.join()}`);
  if (host.files.length > 0) return unproved(`the host process sees files: ${host.files.join()}`);
  if (around === "bubblewrap" && host.network.length > 0) {
    return unproved(`the host process has a network: ${host.network.join()}`);
  }
  const enforced = { memory: true, time: true, network: true, filesystem: true, environment: true, process: around };
  return {
    available: true,
    isolation: { provider: "isolate", level: "wasm", enforced },
    image: Buffer.from(host.image, "hex"),
  };
}

function unproved(reason: string): ProbeResult {
  return { available: false, reason };
}

async function runProof(acquire: Acquire, code: string, timeoutMs: number): Promise<GuestOutcome> {
  const lease = await acquire({ projectId: "probe" });
  const program: GuestProgram = {
    language: "JAVASCRIPT",
    code,
    input: null,
    seed: "00",
    clockStart: 0,
    kept: null,
    live: true,
    limits: {
      timeoutMs,
      memoryBytes: 8 * 1024 * 1024,
      keptOutputBytes: 1024,
      outputBytes: 1024,
      resultBytes: 1024,
    },
  };
  try {
    const nobody = { output: () => {}, dropped: () => {}, call: () => {}, idle: () => {} };
    return await lease.start(program, nobody, new AbortController().signal).outcome;
  } finally {
    await lease.release();
  }
}
