import { LeaseError } from "../port.ts";
import type { Confinement } from "./confinement.ts";
import type { HostFiles } from "./host-files.ts";
import { HostProcess } from "./host-process.ts";
import type { ReadyMessage } from "./messages.ts";

export interface PoolLog {
  warn(fields: object, message: string): void;
}

const FIRST_BACKOFF_MS = 50;
const LAST_BACKOFF_MS = 5000;
const START_MS = 10_000;

/** Keeps a number of host processes alive, each with backoff of its own. */
export class HostPool {
  readonly #make: () => HostProcess;
  readonly #log: PoolLog | undefined;
  /** Every process that runs; one takes guests once it is ready. */
  readonly #hosts = new Set<HostProcess>();
  readonly #ready = new Set<HostProcess>();
  readonly #waiters = new Set<PromiseWithResolvers<HostProcess>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  constructor(files: HostFiles, confinement: Confinement, hosts: number, maxThreads: number, log?: PoolLog) {
    this.#make = () => new HostProcess(files, confinement, maxThreads);
    this.#log = log;
    for (let i = 0; i < hosts; i++) this.#start(FIRST_BACKOFF_MS);
  }

  /** The ready host with the fewest leases; waits for one to come up. To be given back with `give`. */
  async take(): Promise<HostProcess> {
    const host = this.#best() ?? (await this.#next());
    host.leases++;
    return host;
  }

  give(host: HostProcess): void {
    host.leases--;
  }

  /** What the first host found around itself. */
  async firstReady(): Promise<ReadyMessage> {
    return (this.#best() ?? (await this.#next())).ready;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const waiter of this.#waiters) waiter.reject(closedError());
    await Promise.all([...this.#hosts].map((host) => host.close()));
  }

  get pids(): number[] {
    return [...this.#hosts].flatMap((host) => host.pid ?? []);
  }

  #start(backoff: number): void {
    const host = this.#make();
    let next = Math.min(backoff * 2, LAST_BACKOFF_MS);
    void host.ready.then(
      () => {
        next = FIRST_BACKOFF_MS;
        this.#ready.add(host);
        for (const waiter of this.#waiters) waiter.resolve(host);
      },
      () => {},
    );
    this.#hosts.add(host);
    void host.gone.then((reason) => {
      this.#hosts.delete(host);
      this.#ready.delete(host);
      if (this.#closed) return;
      this.#log?.warn({ reason, backoff }, "an isolate host ended; another is started");
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#start(next);
      }, backoff);
      this.#timers.add(timer);
    });
  }

  #best(): HostProcess | null {
    let best: HostProcess | null = null;
    for (const host of this.#ready) if (host.alive && (best === null || host.leases < best.leases)) best = host;
    return best;
  }

  async #next(): Promise<HostProcess> {
    if (this.#closed) throw closedError();
    const waiter = Promise.withResolvers<HostProcess>();
    const timer = setTimeout(() => waiter.reject(new LeaseError("no isolate host has come up")), START_MS);
    this.#waiters.add(waiter);
    try {
      return await waiter.promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }
}

export function closedError(): LeaseError {
  return new LeaseError("the provider is closed");
}
