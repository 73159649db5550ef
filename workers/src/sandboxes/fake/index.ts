import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { agentSource } from "../../guests/agent-source.ts";
import { CHANNEL_ARGUMENTS, CHANNEL_STDIO, childTransport } from "../channel/child-transport.ts";
import type { Transport } from "../channel/transport.ts";
import { runOnChannel } from "../channel/run-on-channel.ts";
import { type Lease, LeaseError, type ProviderCapabilities, type SandboxProvider } from "../port.ts";
import { refusedGuest } from "../refused.ts";

/** What goes wrong, for all sandboxes that are made from then on; null: nothing does. */
export type Fault =
  | { readonly kind: "no lease"; readonly reason: string }
  /** The sandbox goes away when the program has made this many calls. */
  | { readonly kind: "gone"; readonly afterCalls: number }
  | { readonly kind: "release fails" };

export interface FakeProvider extends SandboxProvider {
  fault: Fault | null;
}

const CAPABILITIES: ProviderCapabilities = {
  languages: ["JAVASCRIPT", "TYPESCRIPT"],
  keptBy: "replay",
  workArea: false,
  outlivesWorker: false,
};

/**
 * An example of a provider, and a stand-in for tests: programs run beside the worker, behind no wall at all. What can
 * go wrong with a sandbox goes wrong when `fault` says so.
 */
export function createFakeProvider(): FakeProvider {
  const leases = new Map<string, FakeLease>();
  const files = makeFiles();
  let closed = false;

  const provider: FakeProvider = {
    name: "fake",
    capabilities: CAPABILITIES,
    config: z.strictObject({}),
    fault: null,
    // Honest about what it is: nothing is enforced.
    probe: async () => ({
      available: true,
      isolation: { provider: "fake", level: "none", enforced: {} },
      image: null,
    }),
    acquire: async ({ leaseId }) => {
      const { fault } = provider;
      if (closed) throw new LeaseError("the provider is closed");
      if (fault?.kind === "no lease") throw new LeaseError(fault.reason);
      const { agent, folder } = await files.get();
      const child = spawn(process.execPath, [agent, ...CHANNEL_ARGUMENTS], {
        // Built from nothing: the worker's environment has its credentials.
        env: { PATH: process.env["PATH"], HOME: folder, LANG: "C.UTF-8", TZ: "UTC" },
        cwd: folder,
        stdio: [...CHANNEL_STDIO],
        // A group of its own, to be ended with all that it starts.
        detached: true,
      });
      const lease = new FakeLease(child, fault, () => leases.delete(leaseId));
      leases.set(leaseId, lease);
      return lease;
    },
    leftovers: async () => [...leases.keys()],
    destroy: async (leaseId) => leases.get(leaseId)?.end("it was destroyed"),
    close: async () => {
      closed = true;
      await Promise.all([...leases.values()].map((lease) => lease.end("the provider was closed")));
      await files.remove();
    },
  };
  return provider;
}

class FakeLease implements Lease {
  readonly #child: ChildProcess;
  readonly #transport: Transport;
  readonly #fault: Fault | null;
  readonly #ended: Promise<unknown>;
  readonly #stop = new AbortController();
  #gone: string | null = null;

  constructor(child: ChildProcess, fault: Fault | null, onEnd: () => void) {
    this.#child = child;
    this.#fault = fault;
    this.#transport = childTransport(child, {
      kill: () => this.#kill(),
      judge: (end) => (this.#gone === null ? { kind: "exited", ...end } : { kind: "gone", reason: this.#gone }),
    });
    this.#ended = once(child, "exit").then(onEnd, onEnd);
  }

  start: Lease["start"] = (program, channel, signal) => {
    if (!CAPABILITIES.languages.includes(program.language)) return refusedGuest("fake", CAPABILITIES, program.language);
    const fault = this.#fault;
    const heard: typeof channel = {
      ...channel,
      call: (call) => {
        channel.call(call);
        if (fault?.kind === "gone" && call.id === fault.afterCalls) void this.end("the fault that was asked for");
      },
    };
    const either = AbortSignal.any([signal, this.#stop.signal]);
    return runOnChannel(this.#transport, program, heard, either, { memoryBytes: program.limits.memoryBytes });
  };

  outputs = async function* (): AsyncGenerator<never> {};

  release = async (): Promise<void> => {
    if (this.#fault?.kind === "release fails") throw new Error("the sandbox cannot be removed now");
    // Given back under a running guest, it takes the guest with it.
    this.#stop.abort();
    this.#kill();
    await this.#ended;
  };

  /** As when a machine is lost. */
  async end(reason: string): Promise<void> {
    this.#gone ??= reason;
    this.#kill();
    await this.#ended;
  }

  #kill(): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

/** The agent's script and a folder to run in, made once. */
function makeFiles() {
  let made: Promise<{ agent: string; folder: string }> | null = null;
  const make = async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "airlock-fake-"));
    const agent = path.join(folder, "agent.cjs");
    await writeFile(agent, agentSource());
    return { agent, folder };
  };
  return {
    get: () => (made ??= make()),
    remove: async () => {
      if (made !== null) await rm((await made).folder, { recursive: true, force: true });
    },
  };
}
