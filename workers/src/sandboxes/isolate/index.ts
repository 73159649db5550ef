import { z } from "zod";
import type { Lease, LeaseRequest, ProviderCapabilities, SandboxProvider } from "../port.ts";
import { refusedGuest } from "../refused.ts";
import { chooseConfinement, type Confinement } from "./confinement.ts";
import { findHostFiles } from "./host-files.ts";
import { closedError, HostPool, type PoolLog } from "./host-pool.ts";
import { probeIsolate } from "./probe.ts";

export interface IsolateConfig {
  /** Host processes; one is enough, as guests run on threads of their own. */
  readonly hosts?: number;
  /** Guests at a time in one host: the worker's concurrency. */
  readonly maxThreads?: number;
  /** The bubblewrap binary. */
  readonly bubblewrap?: string;
  readonly log?: PoolLog;
}

const DEFAULT_THREADS = 64;

export interface IsolateProvider extends SandboxProvider {
  /** The process ids of the hosts that run now, for tests and diagnostics. */
  hostPids(): Promise<number[]>;
}

interface Started {
  readonly pool: HostPool;
  readonly confinement: Confinement;
}

const CAPABILITIES: ProviderCapabilities = {
  languages: ["JAVASCRIPT", "TYPESCRIPT"],
  keptBy: "snapshot",
  workArea: false,
  outlivesWorker: false,
};

export function createIsolateProvider(config: IsolateConfig = {}): IsolateProvider {
  const { hosts = 1, maxThreads = DEFAULT_THREADS, bubblewrap = "/usr/bin/bwrap", log } = config;
  let starting: Promise<Started> | null = null;
  let started: Started | null = null;
  /** Rejects when the provider is closed. */
  const closed = Promise.withResolvers<never>();
  closed.promise.catch(() => {});
  let isClosed = false;

  const start = async (): Promise<Started> => {
    const files = findHostFiles();
    const confinement = await chooseConfinement(files.readable, bubblewrap);
    return (started = { confinement, pool: new HostPool(files, confinement, hosts, maxThreads, log) });
  };
  const running = async (): Promise<Started> => {
    if (isClosed) throw closedError();
    // Raced only until there is a pool, which by itself turns away who waits: each race leaves a trace in `closed`.
    return started ?? Promise.race([(starting ??= start()), closed.promise]);
  };

  const acquire = async ({ projectId }: Pick<LeaseRequest, "projectId">): Promise<Lease> => {
    const { pool } = await running();
    const host = await pool.take();
    const own = new AbortController();
    let held = true;
    const lease: Lease = {
      start: (program, channel, signal) => {
        if (!CAPABILITIES.languages.includes(program.language))
          return refusedGuest("the isolate", CAPABILITIES, program.language);
        // A lease given back while its guest runs takes the guest with it.
        signal.addEventListener("abort", () => own.abort(), { once: true, signal: own.signal });
        if (signal.aborted) own.abort();
        return host.start(projectId, program, channel, own.signal);
      },
      outputs: noFiles,
      release: async () => {
        own.abort();
        if (held) pool.give(host);
        held = false;
      },
    };
    return lease;
  };

  const provider: IsolateProvider = {
    name: "isolate",
    capabilities: CAPABILITIES,
    config: z.strictObject({}),
    probe: async () => {
      try {
        const { pool, confinement } = await running();
        return await probeIsolate(acquire, await pool.firstReady(), confinement.kind);
      } catch (error) {
        return { available: false, reason: error instanceof Error ? error.message : String(error) };
      }
    },
    acquire,
    // Guests live in hosts that end with their worker.
    leftovers: async () => [],
    destroy: async () => {},
    hostPids: async () => (await running()).pool.pids,
    close: async () => {
      isClosed = true;
      closed.reject(closedError());
      await starting?.then(
        ({ pool }) => pool.close(),
        () => {},
      );
    },
  };
  return provider;
}

async function* noFiles(): AsyncGenerator<never> {}
