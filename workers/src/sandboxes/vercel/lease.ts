import { AGENTS_ON_PATH, agentTexts } from "../../guests/agents-on-path.ts";
import { runOnChannel } from "../channel/run-on-channel.ts";
import type { GuestOutcome, GuestProgram, Lease, LeaseRequest, OutputBounds, OutputFile } from "../port.ts";
import { refusedGuest } from "../refused.ts";
import { CAPABILITIES } from "./capabilities.ts";
import type { VercelMachine } from "./machine.ts";
import { MachineTransport } from "./machine-transport.ts";
import { collectOutputs } from "./outputs.ts";
import { bring } from "./packing.ts";
import { FOLDERS } from "./scripts.ts";

/** The one guest of one machine. */
export class VercelLease implements Lease {
  readonly #machine: VercelMachine;
  readonly #request: LeaseRequest;
  readonly #onEnd: () => void;
  readonly #stop = new AbortController();
  #lost: string | null = null;
  #deleting: Promise<void> | null = null;

  constructor(machine: VercelMachine, request: LeaseRequest, onEnd: () => void) {
    this.#machine = machine;
    this.#request = request;
    this.#onEnd = onEnd;
  }

  start: Lease["start"] = (program, channel, signal) => {
    const agent = AGENTS_ON_PATH[program.language];
    if (agent === undefined) return refusedGuest("vercel", CAPABILITIES, program.language);
    const path = `${FOLDERS.agents}/${agent.file}`;
    const command = [agent.program, path, "--in-dir", FOLDERS.lines, "--out", "3"];
    const { files, layers } = this.#request;
    let fits = true;
    const before = async () => {
      await bring(this.#machine, [{ path, content: agentTexts()[agent.file] }], files, layers);
      fits = await this.#machine.lastFor(programMs(program));
    };
    const targets = layers.map(({ target }) => target);
    const transport = new MachineTransport(this.#machine, { agent: command, targets, before });
    const either = AbortSignal.any([signal, this.#stop.signal]);
    const running = runOnChannel(transport, program, channel, either, { memoryBytes: this.#machine.memoryBytes });
    return { ...running, outcome: running.outcome.then((outcome) => this.#judge(outcome, fits)) };
  };

  outputs(bounds: OutputBounds): AsyncIterable<OutputFile> {
    return collectOutputs(this.#machine, bounds);
  }

  async release(): Promise<void> {
    this.#stop.abort();
    this.#deleting ??= this.#machine.delete();
    try {
      await this.#deleting;
      this.#onEnd();
    } catch (error) {
      this.#deleting = null;
      throw error;
    }
  }

  /** As `release`, but the guest did not end by its task's will. */
  async lose(reason: string): Promise<void> {
    this.#lost = reason;
    await this.release();
  }

  #judge(outcome: GuestOutcome, fits: boolean): GuestOutcome {
    if (this.#lost !== null && outcome.kind === "cancelled") return { kind: "lost", reason: this.#lost };
    // Another sandbox would not live longer: to run it again would not help.
    if (outcome.kind !== "lost" || fits || !this.#machine.isOverdue) return outcome;
    const message = "the program needs more time than a sandbox of this plan may live";
    return { kind: "failed", failure: { code: "TIMEOUT", message } };
  }
}

function programMs({ limits, live, replayMs = limits.timeoutMs }: GuestProgram): number {
  return limits.timeoutMs + (live ? 0 : replayMs);
}
