import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { LeaseError, type LeaseRequest, type ProbeResult, type SandboxProvider } from "../port.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { SshHost } from "./host.ts";
import { SshLease } from "./lease.ts";
import { type SshConfig, type SshMachines, sshConfig } from "./machines.ts";
import { type Measured, measure } from "./probe.ts";

export interface SshOptions {
  readonly machines: SshMachines;
  /** The program that connects. */
  readonly ssh?: string;
}

const LIMITS = ["memory", "pids"] as const;
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
    prove: async (given) => {
      const config = sshConfig.parse(given);
      return proveMachine((await running()).reached.get(config.machine), config);
    },
    acquire: async (request) => {
      if (closed) throw new LeaseError("the provider is closed");
      const config = sshConfig.parse(request.config);
      const { folder, reached } = await running();
      const machine = reached.get(config.machine);
      const proof = await proveMachine(machine, config);
      if (!proof.available) throw new LeaseError(proof.reason);
      return lend((machine as Reached).host, request, folder);
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
      // An ssh that has not ended yet may put its log there meanwhile.
      if (starting !== null) await rm((await starting).folder, { recursive: true, force: true, maxRetries: 10 });
      const failed = ends.find((end) => end.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

async function proveHost(host: SshHost, lend: (request: LeaseRequest) => SshLease): Promise<Measured> {
  await host.ready();
  return measure(lend);
}

/** What holds on every machine that can be used; what holds on one of them is its environments' (`prove`). */
async function probe(reached: readonly Reached[]): Promise<ProbeResult> {
  if (reached.length === 0) return { available: false, reason: "AIRLOCK_SSH_MACHINES names no machine" };
  const proofs = await Promise.allSettled(reached.map((each) => each.proved()));
  const held = proofs.flatMap((proof) => (proof.status === "fulfilled" ? [proof.value] : []));
  if (held.length === 0) {
    const reasons = proofs.map(
      (proof, i) => `${reached[i]?.host.name}: ${proof.status === "rejected" ? words(proof.reason) : ""}`,
    );
    return { available: false, reason: reasons.join("; ") };
  }
  return report({ memory: held.every((each) => each.memory), pids: held.every((each) => each.pids) });
}

/** Whether one machine holds what an environment does not give up. */
async function proveMachine(machine: Reached | undefined, config: SshConfig): Promise<ProbeResult> {
  const { machine: name, acceptUnenforced } = config;
  if (machine === undefined) return { available: false, reason: `this worker knows no machine "${name}"` };
  try {
    const held = await machine.proved();
    const refused = LIMITS.filter((limit) => !held[limit] && !acceptUnenforced.includes(limit));
    if (refused.length === 0) return report(held);
    return { available: false, reason: `${name} does not enforce ${refused.join(" and ")}` };
  } catch (error) {
    return { available: false, reason: `${name}: ${words(error)}` };
  }
}

function report(held: Measured): ProbeResult {
  const enforced = { ...held, network: true, filesystem: true, environment: true, disk: true, userNamespaces: true };
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
