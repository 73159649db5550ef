import type { TaskErrorCode } from "@airlock/shared/domain";
import { z } from "zod";
import {
  type GuestOutcome,
  type Lease,
  LeaseError,
  type LeaseRequest,
  type ProbeResult,
  type SandboxProvider,
} from "../src/sandboxes/port.ts";

/** A provider whose sandboxes are entries of a map, and whose faults a test sets. */
export interface ScriptedProvider extends SandboxProvider {
  /** What exists, by lease. */
  readonly sandboxes: Map<string, LeaseRequest>;
  /** What was asked for, in order. */
  readonly asked: LeaseRequest[];
  /** What was asked for again, in order. */
  readonly reused: LeaseRequest[];
  readonly faults: {
    acquire: string | null;
    release: string | null;
    destroy: string | null;
    prove: string | null;
    rest: string | null;
    reuse: string | null;
    /** Of `acquire`. */
    code: TaskErrorCode | null;
  };
  outcome: GuestOutcome;
  /** Run by each guest before its end. */
  meanwhile: () => Promise<void>;
}

export function createScriptedProvider(sandboxes = new Map<string, LeaseRequest>()): ScriptedProvider {
  const faults: ScriptedProvider["faults"] = {
    ...{ acquire: null, release: null, destroy: null, prove: null, rest: null, reuse: null, code: null },
  };
  const fail = (message: string | null): void => {
    if (message !== null) throw new Error(message);
  };
  const isolation = { provider: "scripted", level: "none", enforced: {} } as const;
  const provider: ScriptedProvider = {
    name: "scripted",
    capabilities: {
      languages: ["JAVASCRIPT", "PYTHON"],
      keptBy: "replay",
      workArea: true,
      outlivesWorker: true,
      retains: true,
      reuses: true,
    },
    config: z.strictObject({ flavour: z.string().default("plain") }),
    sandboxes,
    asked: [],
    reused: [],
    faults,
    outcome: { kind: "returned", output: "1" },
    meanwhile: async () => {},
    probe: async () => ({ available: true, isolation, image: null }),
    async prove(config, _limits, pin): Promise<ProbeResult> {
      if (faults.prove !== null) return { available: false, reason: faults.prove };
      return { available: true, isolation: { ...isolation, enforced: { config, pin } }, image: null };
    },
    async acquire(request) {
      provider.asked.push(request);
      if (faults.acquire !== null) throw new LeaseError(faults.acquire, { code: faults.code });
      sandboxes.set(request.leaseId, request);
      return leaseOf(request.leaseId);
    },
    leftovers: async () => [...sandboxes.keys()],
    async destroy(id) {
      fail(faults.destroy);
      sandboxes.delete(id);
    },
    close: async () => {},
  };

  function leaseOf(id: string): Lease {
    const ignore = (): void => {};
    return {
      start: () => ({
        outcome: provider.meanwhile().then(() => provider.outcome),
        settle: ignore,
        tick: ignore,
        goLive: ignore,
        park: ignore,
      }),
      outputs: async function* () {},
      async release() {
        fail(faults.release);
        sandboxes.delete(id);
      },
      retain: async () => {},
      rest: async () => fail(faults.rest),
      async reuse(request) {
        fail(faults.reuse);
        provider.reused.push(request);
        sandboxes.delete(id);
        sandboxes.set(request.leaseId, request);
        return leaseOf(request.leaseId);
      },
    };
  }

  return provider;
}
