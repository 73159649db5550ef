import type { Language } from "@airlock/shared/domain";
import { runOnChannel } from "../channel/run-on-channel.ts";
import type { Lease, LeaseRequest, OutputBounds, OutputFile } from "../port.ts";
import { refusedGuest } from "../refused.ts";
import { agentFor } from "./agents.ts";
import { collect } from "./collect.ts";
import type { SandboxContainer } from "./container.ts";
import { GuestTransport } from "./guest-transport.ts";

export interface LeaseParts {
  readonly memoryBytes: number;
  /** Those that its image has. */
  readonly languages: readonly Language[];
  /** The work area as the program finds it. */
  readonly before: ReadonlyMap<string, string>;
  readonly done: () => void;
  /** Its container, as this lease's. */
  readonly again: (request: LeaseRequest) => Promise<Lease>;
}

export class DockerLease implements Lease {
  readonly #container: SandboxContainer;
  readonly #parts: LeaseParts;
  readonly #stop = new AbortController();
  #transport: GuestTransport | null = null;
  #released: Promise<void> | null = null;

  constructor(container: SandboxContainer, parts: LeaseParts) {
    this.#container = container;
    this.#parts = parts;
  }

  start: Lease["start"] = (program, channel, signal) => {
    const { languages, memoryBytes } = this.#parts;
    if (!languages.includes(program.language)) return refusedGuest("the image", { languages }, program.language);
    this.#transport = new GuestTransport(this.#container, agentFor(program.language));
    const either = AbortSignal.any([signal, this.#stop.signal]);
    return runOnChannel(this.#transport, program, channel, either, { memoryBytes });
  };

  async *outputs(bounds: OutputBounds): AsyncGenerator<OutputFile> {
    if (this.#transport === null) return;
    await this.#transport.ended;
    // A container that died took its work area with it.
    if (!this.#container.console.ended) yield* collect(this.#container.console, this.#parts.before, bounds);
  }

  /** Tried again by the next one where it fails. */
  release(): Promise<void> {
    this.#stop.abort();
    this.#released ??= this.#remove().catch((error: unknown) => {
      this.#released = null;
      throw error;
    });
    return this.#released;
  }

  /** Its work area is memory: the container has to run on. A dead one has nothing to look at. */
  async retain(): Promise<void> {
    await this.#transport?.ended;
    await this.#container.keep();
    this.#released = Promise.resolve();
    this.#parts.done();
  }

  async rest(): Promise<void> {
    const end = await this.#transport?.ended;
    // Kills by the kernel are counted over all of a container's life: the next guest would seem to have been killed.
    if (end?.kind !== "exited") throw new Error("its guest has not ended as a guest should");
    await this.#container.rest();
  }

  async reuse(request: LeaseRequest): Promise<Lease> {
    const next = await this.#parts.again(request);
    this.#released = Promise.resolve();
    this.#parts.done();
    return next;
  }

  /** Its guest ends as lost. */
  async lose(reason: string): Promise<void> {
    this.#transport?.abandon(reason);
    // Heard before the release, which would end it as cancelled.
    await this.#transport?.ended;
    await this.release();
  }

  async #remove(): Promise<void> {
    await this.#container.remove();
    this.#parts.done();
  }
}
