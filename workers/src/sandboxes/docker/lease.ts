import { runOnChannel } from "../channel/run-on-channel.ts";
import type { Lease, OutputBounds, OutputFile } from "../port.ts";
import { refusedGuest } from "../refused.ts";
import { agentFor } from "./agents.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { collect } from "./collect.ts";
import type { SandboxContainer } from "./container.ts";
import { GuestTransport } from "./guest-transport.ts";

export class DockerLease implements Lease {
  readonly #container: SandboxContainer;
  readonly #memoryBytes: number;
  readonly #before: ReadonlyMap<string, string>;
  readonly #onRelease: () => void;
  readonly #stop = new AbortController();
  #transport: GuestTransport | null = null;
  #released: Promise<void> | null = null;

  constructor(
    container: SandboxContainer,
    memoryBytes: number,
    before: ReadonlyMap<string, string>,
    onRelease: () => void,
  ) {
    this.#container = container;
    this.#memoryBytes = memoryBytes;
    this.#before = before;
    this.#onRelease = onRelease;
  }

  start: Lease["start"] = (program, channel, signal) => {
    if (!CAPABILITIES.languages.includes(program.language))
      return refusedGuest("docker", CAPABILITIES, program.language);
    this.#transport = new GuestTransport(this.#container, agentFor(program.language));
    const either = AbortSignal.any([signal, this.#stop.signal]);
    return runOnChannel(this.#transport, program, channel, either, { memoryBytes: this.#memoryBytes });
  };

  async *outputs(bounds: OutputBounds): AsyncGenerator<OutputFile> {
    if (this.#transport === null) return;
    await this.#transport.ended;
    // A container that died took its work area with it.
    if (!this.#container.console.ended) yield* collect(this.#container.console, this.#before, bounds);
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

  /** Its guest ends as lost. */
  async lose(reason: string): Promise<void> {
    this.#transport?.abandon(reason);
    // Heard before the release, which would end it as cancelled.
    await this.#transport?.ended;
    await this.release();
  }

  async #remove(): Promise<void> {
    await this.#container.remove();
    this.#onRelease();
  }
}
