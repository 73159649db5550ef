import { LeaseError, type LeaseRequest, type ProbeResult, type SandboxProvider } from "../port.ts";
import { VercelAccount } from "./account.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { vercelConfig } from "./config.ts";
import type { FoundCredentials } from "./credentials.ts";
import { wordsOf } from "./failures.ts";
import { VercelLease } from "./lease.ts";
import { VercelMachine } from "./machine.ts";

export interface VercelOptions {
  readonly credentials: FoundCredentials;
  /** For tests: the SDK has no other way to be sent elsewhere. */
  readonly fetch?: typeof fetch;
}

/**
 * A machine costs money and is there only for a lease: the worker has seen none of these walls hold at its start. Each
 * says whose word it is.
 */
const ENFORCED = {
  memory: true,
  network: true,
  pids: true,
  disk: true,
  basis: {
    memory: "declared by the vendor: 2048 MiB for each processor",
    network: "declared by the vendor: deny-all; each sandbox is asked whether it has it",
    pids: "set for the program's user in each sandbox, or there is no sandbox",
    disk: "a file system of its own for the work area, mounted in each sandbox, or there is no sandbox",
    machine: "declared by the vendor: Firecracker",
  },
};

/** One-shot microVMs at Vercel, one for each lease. */
export function createVercelProvider({ credentials, fetch: inner = fetch }: VercelOptions): SandboxProvider {
  const account = "absent" in credentials ? null : new VercelAccount(credentials, inner);
  const leases = new Set<VercelLease>();
  let closed = false;

  const acquire = async (request: LeaseRequest): Promise<VercelLease> => {
    if (closed) throw new LeaseError("the provider is closed");
    if (account === null) throw new LeaseError("there are no credentials for Vercel");
    const config = vercelConfig.parse(request.config);
    try {
      const machine = await VercelMachine.create(account, { ...request, config });
      const lease = new VercelLease(machine, request, () => leases.delete(lease));
      leases.add(lease);
      return lease;
    } catch (error) {
      // It may exist, half made; where this fails, too, it is found by its lease.
      await account.destroy(request.leaseId).catch(() => {});
      throw error instanceof LeaseError ? error : new LeaseError(wordsOf(error), { cause: error });
    }
  };

  return {
    name: "vercel",
    capabilities: CAPABILITIES,
    config: vercelConfig,
    probe: async (): Promise<ProbeResult> => {
      if ("absent" in credentials) return { available: false, reason: credentials.absent };
      try {
        await account?.check();
      } catch (error) {
        return { available: false, reason: `Vercel does not let this worker in: ${wordsOf(error)}` };
      }
      const isolation = { provider: "vercel", level: "microvm", enforced: ENFORCED } as const;
      return { available: true, isolation, image: null };
    },
    acquire,
    leftovers: async () => (account === null ? [] : account.leases()),
    destroy: async (leaseId) => account?.destroy(leaseId),
    close: async () => {
      closed = true;
      const ends = await Promise.allSettled([...leases].map((lease) => lease.lose("the worker was stopped")));
      const failed = ends.find((end) => end.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}
