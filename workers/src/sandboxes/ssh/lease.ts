import { randomInt } from "node:crypto";
import { type AgentOnPath, AGENTS_ON_PATH } from "../../guests/agents-on-path.ts";
import { runOnChannel } from "../channel/run-on-channel.ts";
import type { GuestOutcome, GuestProgram, Lease, LeaseRequest, OutputBounds, OutputFile } from "../port.ts";
import { seccompFilter } from "../process/seccomp.ts";
import { refusedGuest } from "../refused.ts";
import { CAPABILITIES } from "./capabilities.ts";
import type { SshHost } from "./host.ts";
import { packLoad } from "./load.ts";
import { collectOutputs } from "./outputs.ts";
import { type SshStart, SshTransport } from "./ssh-transport.ts";
import { guestWalls } from "./walls.ts";

/** A guest whose worker is cut off ends by itself this long after its own time. */
const MARGIN_S = 60;

/** Users that no account of a machine has. */
const USERS = { from: 0x6a00_0000, to: 0x6b00_0000 } as const;

/** One guest on one machine. */
export class SshLease implements Lease {
  readonly #host: SshHost;
  readonly #request: LeaseRequest;
  readonly #folder: string;
  readonly #onEnd: () => void;
  readonly #stop = new AbortController();
  #transport: SshTransport | null = null;
  #lost: string | null = null;
  /** Another run would not help. */
  #unsupported: string | null = null;
  #releasing: Promise<void> | null = null;

  constructor(host: SshHost, request: LeaseRequest, folder: string, onEnd: () => void) {
    this.#host = host;
    this.#request = request;
    this.#folder = folder;
    this.#onEnd = onEnd;
  }

  start: Lease["start"] = (program, channel, signal) => {
    const agent = AGENTS_ON_PATH[program.language];
    if (agent === undefined) return refusedGuest("ssh", CAPABILITIES, program.language);
    this.#transport = new SshTransport(this.#host, () => this.#prepare(program, agent));
    const either = AbortSignal.any([signal, this.#stop.signal]);
    const { memoryBytes } = this.#request.limits;
    const running = runOnChannel(this.#transport, program, channel, either, { memoryBytes });
    return { ...running, outcome: running.outcome.then((outcome) => this.#judge(outcome)) };
  };

  outputs(bounds: OutputBounds): AsyncIterable<OutputFile> {
    return collectOutputs(this.#host, this.#request.leaseId, bounds);
  }

  async release(): Promise<void> {
    this.#stop.abort();
    this.#releasing ??= this.#remove();
    try {
      await this.#releasing;
      this.#onEnd();
    } catch (error) {
      this.#releasing = null;
      throw error;
    }
  }

  /** As `release`, but the guest did not end by its task's will. */
  async lose(reason: string): Promise<void> {
    this.#lost = reason;
    await this.release();
  }

  async #remove(): Promise<void> {
    // Nothing was ever made over there.
    if (this.#transport === null) return;
    await this.#transport.ended;
    await this.#host.ask("destroy.sh", [this.#request.leaseId]);
  }

  async #prepare({ limits, live, replayMs = limits.timeoutMs }: GuestProgram, agent: AgentOnPath): Promise<SshStart> {
    const { leaseId, files, layers, limits: own } = this.#request;
    const facts = await this.#host.ready();
    if (agent.program === "python3" && !facts.hasPython) {
      this.#unsupported = `${this.#host.name} has no python3 in /usr`;
      throw new Error(this.#unsupported);
    }
    const { copied = [], seen = [] } = Object.groupBy(layers, ({ target }) => (target === "/work" ? "copied" : "seen"));
    const targets = seen.map(({ target }) => target);
    const filter = seccompFilter(facts.arch);
    if (filter === null) throw new Error(`there is no filter of system calls for ${facts.arch}`);
    const load = await packLoad(this.#folder, guestWalls(facts, targets), filter, files, { copied, seen });
    const seconds = Math.ceil((limits.timeoutMs + (live ? 0 : replayMs)) / 1000) + MARGIN_S;
    const bounds = [own.memoryBytes, own.pids, Math.max(1, Math.round(own.cpus * 100)), seconds];
    const sizes = load.archives.map(({ bytes }) => bytes).join();
    const user = facts.isRoot ? randomInt(USERS.from, USERS.to) : 0;
    const args = [leaseId, facts.group, ...bounds, sizes, own.diskBytes, own.files, user, agent.program, agent.file];
    return { leaseId, load, args: args.map(String) };
  }

  #judge(outcome: GuestOutcome): GuestOutcome {
    if (this.#unsupported !== null && outcome.kind === "lost") {
      return { kind: "failed", failure: { code: "UNSUPPORTED_ENVIRONMENT", message: this.#unsupported } };
    }
    return this.#lost !== null && outcome.kind === "cancelled" ? { kind: "lost", reason: this.#lost } : outcome;
  }
}
