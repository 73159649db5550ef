import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { LeaseError, type LeaseRequest, type ProbeResult, type SandboxProvider } from "../port.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { SshHost } from "./host.ts";
import { SshLease } from "./lease.ts";
import { type SshMachines, sshConfig } from "./machines.ts";
import { type Measured, measure } from "./probe.ts";

export interface SshOptions {
  readonly machines: SshMachines;
  /** The program that connects. */
  readonly ssh?: string;
}

const LEASE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Reached {
  readonly host: SshHost;
  /** What holds there; asked again after a failure. */
  proved(): Promise<Measured>;
}

/** Guests on machines that the operator owns, over the system's ssh, behind bubblewrap there. */
export function createSshProvider({ machines, ssh = "ssh" }: SshOptions): SandboxProvider {
  const leases = new Set<SshLease>();
  let closed = false;
  let starting: Promise<{ folder: string; reached: ReadonlyMap<string, Reached> }> | null = null;

  const lend = (host: SshHost, request: LeaseRequest, folder: string): SshLease => {
    const lease = new SshLease(host, request, folder, () => leases.delete(lease));
    leases.add(lease);
    return lease;
  };
  const open = async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "airlock-ssh-"));
    const reached = new Map<string, Reached>();
    for (const [name, machine] of Object.entries(machines)) {
      const host = new SshHost(name, machine, { folder, ssh });
      reached.set(name, { host, proved: once(() => proveHost(host, (request) => lend(host, request, folder))) });
    }
    return { folder, reached };
  };
  const running = () => (starting ??= open());

  return {
    name: "ssh",
    capabilities: CAPABILITIES,
    config: sshConfig,
    probe: async () => probe([...(await running()).reached.values()]),
    acquire: async (request) => {
      if (closed) throw new LeaseError("the provider is closed");
      const config = sshConfig.parse(request.config);
      const { folder, reached } = await running();
      const machine = reached.get(config.machine);
      if (machine === undefined) throw new LeaseError(`this worker knows no machine "${config.machine}"`);
      const held = await machine.proved().catch((error: unknown) => {
        throw new LeaseError(`${config.machine}: ${words(error)}`, { cause: error });
      });
      const missing = (["memory", "pids"] as const).filter((limit) => !held[limit]);
      const refused = missing.filter((limit) => !config.acceptUnenforced.includes(limit));
      if (refused.length > 0) throw new LeaseError(`${config.machine} does not enforce ${refused.join(" and ")}`);
      return lend(machine.host, request, folder);
    },
    leftovers: async () => {
      const { reached } = await running();
      const lists = await Promise.all([...reached.values()].map(({ host }) => host.ask("leases.sh", [])));
      return lists.flatMap((list) => list.split("\n")).filter((id) => LEASE_ID.test(id));
    },
    // A lease does not say on which machine it was: where it is not, there is nothing to do.
    destroy: async (leaseId) => {
      const { reached } = await running();
      await Promise.all([...reached.values()].map(({ host }) => host.ask("destroy.sh", [leaseId])));
    },
    close: async () => {
      closed = true;
      const ends = await Promise.allSettled([...leases].map((lease) => lease.lose("the worker was stopped")));
      if (starting !== null) await rm((await starting).folder, { recursive: true, force: true });
      const failed = ends.find((end) => end.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

async function proveHost(host: SshHost, lend: (request: LeaseRequest) => SshLease): Promise<Measured> {
  await host.ready();
  return measure(lend);
}

/** What it claims holds on every machine that can be used. */
async function probe(reached: readonly Reached[]): Promise<ProbeResult> {
  if (reached.length === 0) return { available: false, reason: "AIRLOCK_SSH_MACHINES names no machine" };
  const proofs = await Promise.allSettled(reached.map((each) => each.proved()));
  const held = proofs.flatMap((proof) => (proof.status === "fulfilled" ? [proof.value] : []));
  const machines = Object.fromEntries(
    proofs.map((proof, i) => [
      reached[i]?.host.name,
      proof.status === "fulfilled" ? proof.value : { unavailable: words(proof.reason) },
    ]),
  );
  if (held.length === 0) return { available: false, reason: JSON.stringify(machines) };
  const [memory, pids] = [held.every((each) => each.memory), held.every((each) => each.pids)];
  const enforced = { memory, pids, network: true, filesystem: true, environment: true, userNamespaces: true, machines };
  return { available: true, isolation: { provider: "ssh", level: "process", enforced }, image: null };
}

/** Asks once, and again only after a failure. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | null = null;
  return () =>
    (asked ??= ask().catch((error: unknown) => {
      asked = null;
      throw error;
    }));
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
