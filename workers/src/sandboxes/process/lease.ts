import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";
import { CHANNEL_STDIO, childTransport } from "../channel/child-transport.ts";
import { runOnChannel } from "../channel/run-on-channel.ts";
import type { TransportEnd } from "../channel/transport.ts";
import type { Lease, LeaseRequest, OutputBounds, OutputFile, ProviderCapabilities } from "../port.ts";
import { refusedGuest } from "../refused.ts";
import type { Cgroup } from "./cgroups.ts";
import { sandboxCommand, type SandboxPlan } from "./command.ts";
import { collectOutputs } from "./outputs.ts";
import type { WorkArea } from "./work-area.ts";

export interface LeaseParts {
  readonly plan: SandboxPlan;
  readonly area: WorkArea;
  readonly cgroup: Pick<Cgroup, "ranOutOfMemory" | "throttled" | "destroy">;
  readonly request: LeaseRequest;
  readonly capabilities: ProviderCapabilities;
  /** Removes all that is left of it. Throws where something may be. */
  readonly remove: () => Promise<void>;
  /** Leaves what is left of it to whoever sweeps. */
  readonly abandon: () => Promise<void>;
}

export class ProcessLease implements Lease {
  readonly #parts: LeaseParts;
  readonly #stop = new AbortController();
  #child: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();
  #gone: string | null = null;
  #killed = false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  start: Lease["start"] = (program, channel, signal) => {
    const { plan, capabilities, request } = this.#parts;
    if (!capabilities.languages.includes(program.language)) {
      return refusedGuest("the process sandbox", capabilities, program.language);
    }
    const either = AbortSignal.any([signal, this.#stop.signal]);
    const { file, args } = sandboxCommand(plan, program.language);
    const child = spawn(file, args, { env: {}, cwd: "/", stdio: [...CHANNEL_STDIO] });
    this.#child = child;
    const transport = childTransport(child, { kill: () => this.#kill(), judge: (end) => this.#judge(end) });
    this.#ended = transport.ended;
    return runOnChannel(transport, program, channel, either, request.limits);
  };

  async *outputs(bounds: OutputBounds): AsyncGenerator<OutputFile> {
    await this.#empty();
    const { area } = this.#parts;
    yield* collectOutputs(path.join(area.path, "work"), area.inputs, bounds);
  }

  release = async (): Promise<void> => {
    // Given back under a running guest, it takes the guest with it.
    this.#stop.abort();
    await this.#giveBack();
  };

  /** As when a machine is lost. */
  async end(reason: string): Promise<void> {
    this.#gone ??= reason;
    await this.#giveBack();
  }

  throttled = (): Promise<number> => this.#parts.cgroup.throttled();

  async #giveBack(): Promise<void> {
    try {
      await this.#empty();
      await this.#parts.remove();
    } catch (error) {
      await this.#parts.abandon();
      throw error;
    }
  }

  /** Until no process is left in it. */
  async #empty(): Promise<void> {
    this.#kill();
    await this.#ended;
    await this.#parts.cgroup.destroy();
  }

  /** The first process of a namespace takes all others with it, whatever they did to be left alone. */
  #kill(): void {
    this.#killed = true;
    this.#child?.kill("SIGKILL");
  }

  async #judge({ exitCode, signal }: { exitCode: number | null; signal: string | null }): Promise<TransportEnd> {
    if (this.#gone !== null) return { kind: "gone", reason: this.#gone };
    if (await this.#parts.cgroup.ranOutOfMemory()) return { kind: "out of memory" };
    // No guest can reach bubblewrap itself: its own end by a signal is ours, or a stranger's.
    if (signal !== null && !this.#killed) return { kind: "gone", reason: `bubblewrap was ended by ${signal}` };
    const inner = Object.entries(constants.signals).find(([, number]) => number + 128 === exitCode)?.[0];
    return inner === undefined ? { kind: "exited", exitCode, signal } : { kind: "exited", exitCode, signal: inner };
  }
}
