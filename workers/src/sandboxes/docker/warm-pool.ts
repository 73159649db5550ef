import type { Agent } from "./agents.ts";
import type { SandboxContainer } from "./container.ts";
import type { ContainerKind } from "./container-spec.ts";

export interface WarmPoolConfig {
  /** Ready containers of one kind. */
  readonly size: number;
  /** Older ones are thrown away, and so are those of a kind that nobody asked for in that time. */
  readonly maxAgeMs: number;
  /** Answers one whose agent is ready. */
  readonly make: (kind: ContainerKind, agent: Agent) => Promise<SandboxContainer>;
  readonly onError: (error: unknown) => void;
}

/** Different kinds that are kept warm at a time: each container holds a booted Node, about 40 MB. */
const MAX_SHELVES = 4;

interface Shelf {
  readonly kind: ContainerKind;
  readonly agent: Agent;
  readonly ready: { readonly container: SandboxContainer; readonly since: number }[];
  making: number;
  askedAt: number;
}

/** Containers started ahead, each for one guest: what was used never comes back. */
export class WarmPool {
  readonly #config: WarmPoolConfig;
  readonly #shelves = new Map<string, Shelf>();
  readonly #busy = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #closed = false;

  constructor(config: WarmPoolConfig) {
    this.#config = config;
    this.#timer = setInterval(() => this.#tidy(), Math.min(config.maxAgeMs, 30_000)).unref();
  }

  /** A ready one, or null; either way more are made ready for the next. */
  take(kind: ContainerKind, agent: Agent): SandboxContainer | null {
    if (this.#closed || this.#config.size === 0) return null;
    const shelf = this.#shelf(kind, agent);
    const taken = shelf.ready.shift()?.container ?? null;
    this.#fill(shelf);
    return taken !== null && taken.console.ended ? this.#replace(taken, kind, agent) : taken;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const shelf of this.#shelves.values()) this.#empty(shelf);
    while (this.#busy.size > 0) await Promise.allSettled(this.#busy);
  }

  #replace(dead: SandboxContainer, kind: ContainerKind, agent: Agent): SandboxContainer | null {
    this.#track(dead.remove());
    return this.take(kind, agent);
  }

  #shelf(kind: ContainerKind, agent: Agent): Shelf {
    const key = JSON.stringify([kind, agent.command]);
    const shelf = this.#shelves.get(key) ?? { kind, agent, ready: [], making: 0, askedAt: 0 };
    shelf.askedAt = Date.now();
    // The one asked for last is the last: the first is given up where there are too many.
    this.#shelves.delete(key);
    this.#shelves.set(key, shelf);
    for (const [oldest, other] of this.#shelves) {
      if (this.#shelves.size <= MAX_SHELVES) break;
      this.#empty(other);
      this.#shelves.delete(oldest);
    }
    return shelf;
  }

  #fill(shelf: Shelf): void {
    while (!this.#closed && shelf.ready.length + shelf.making < this.#config.size) {
      shelf.making++;
      this.#track(this.#add(shelf));
    }
  }

  async #add(shelf: Shelf): Promise<void> {
    try {
      const container = await this.#config.make(shelf.kind, shelf.agent);
      if (this.#closed || ![...this.#shelves.values()].includes(shelf)) await container.remove();
      else shelf.ready.push({ container, since: Date.now() });
    } finally {
      shelf.making--;
    }
  }

  #tidy(): void {
    const oldest = Date.now() - this.#config.maxAgeMs;
    for (const [key, shelf] of this.#shelves) {
      while (shelf.ready[0] !== undefined && shelf.ready[0].since < oldest) this.#drop(shelf);
      if (shelf.askedAt >= oldest) this.#fill(shelf);
      else {
        this.#empty(shelf);
        this.#shelves.delete(key);
      }
    }
  }

  #empty(shelf: Shelf): void {
    while (shelf.ready.length > 0) this.#drop(shelf);
  }

  #drop(shelf: Shelf): void {
    const dropped = shelf.ready.shift();
    if (dropped !== undefined) this.#track(dropped.container.remove());
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work.catch(this.#config.onError).finally(() => this.#busy.delete(tracked));
    this.#busy.add(tracked);
  }
}
