import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { LeaseError } from "../port.ts";
import type { TransportEnd } from "../channel/transport.ts";
import type { Agent } from "./agents.ts";
import { Console } from "./console.ts";
import { type ContainerKind, containerSpec } from "./container-spec.ts";
import { reasonOf, removeContainer, statusOf } from "./engine.ts";
import { countLeftRunning } from "./left-running.ts";

/** A keeper that has not answered by then does not work any more. */
const KEEP_MS = 5_000;
/** 128 and SIGKILL. */
const KILLED = 137;

/** One running container with its keeper. */
export class SandboxContainer {
  readonly raw: Docker.Container;
  readonly console: Console;
  readonly #docker: Docker;
  readonly #kind: ContainerKind;
  #agent: Agent | null = null;
  #killed = false;

  private constructor(docker: Docker, kind: ContainerKind, raw: Docker.Container, console: Console) {
    this.#docker = docker;
    this.#kind = kind;
    this.raw = raw;
    this.console = console;
  }

  /** Throws `LeaseError`; what was made by then is removed. */
  static async create(
    docker: Docker,
    kind: ContainerKind,
    name: string,
    labels: Record<string, string>,
  ): Promise<SandboxContainer> {
    try {
      const raw = await docker.createContainer({ name, ...containerSpec(kind, labels) });
      // Attached before it starts: nothing that it says is missed, and a lost worker is noticed from the first moment.
      const stream = await raw.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
      const console = new Console(stream as Duplex);
      await raw.start();
      return new SandboxContainer(docker, kind, raw, console);
    } catch (error) {
      await removeContainer(docker, name).catch(() => {});
      throw new LeaseError(`no container can be had: ${reasonOf(error)}`, { cause: error });
    }
  }

  get agent(): Agent | null {
    return this.#agent;
  }

  /** Orders its keeper to run this agent; only while none runs. */
  boot(agent: Agent): void {
    this.#agent = agent;
    const source = Buffer.from(agent.source());
    this.console.write(`boot ${source.length} ${agent.file} ${agent.command}\n`);
    this.console.write(source);
  }

  async signal(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#killed ||= signal === "SIGKILL";
    try {
      await this.raw.kill({ signal });
    } catch (error) {
      // 404, 409: it has ended by itself.
      if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
    }
  }

  /** What became of a container whose streams have ended. */
  async judge(): Promise<TransportEnd> {
    try {
      const { State } = await this.raw.inspect();
      // Over its memory all of a gVisor sandbox is killed at once, and engines often miss the reason.
      const gone = this.#kind.runtime === "runsc" && State.ExitCode === KILLED && !this.#killed;
      if (State.OOMKilled || gone) return { kind: "out of memory" };
      if (State.Running) return { kind: "gone", reason: "the engine let go of the container" };
      return { kind: "exited", exitCode: State.ExitCode, signal: null };
    } catch (error) {
      return { kind: "gone", reason: statusOf(error) === 404 ? "the container was removed" : reasonOf(error) };
    }
  }

  /** How often it wanted more of the processor than its share. */
  async throttledPeriods(): Promise<number> {
    const { cpu_stats } = await this.raw.stats({ stream: false, "one-shot": true });
    return cpu_stats.throttling_data?.throttled_periods ?? 0;
  }

  /** Leaves it running without its guest and without us. Throws where that is not sure. */
  async keep(): Promise<void> {
    await this.#tell("keep", "kept");
    this.console.close();
  }

  /** Its keeper is ready for another agent, and nobody else is in it. Throws where that is not sure. */
  async rest(): Promise<void> {
    await this.#tell("rest", "rests");
    const left = await countLeftRunning(this.raw);
    if (left > 0) throw new Error(`${left} processes of the guest still run`);
    this.console.forgetErrors();
  }

  async #tell(order: string, answer: string): Promise<void> {
    const word = randomUUID();
    const awaited = `${answer} ${word}\n`;
    // What was not read of its channel or its files may end in the middle of a line.
    this.console.write(`\n${order} ${word}\n`);
    let said = "";
    while (!said.includes(awaited)) {
      const piece = await this.console.read(KEEP_MS);
      if (piece === null) throw new Error("the container does not answer any more");
      said = said.slice(-awaited.length) + piece.toString("latin1");
    }
  }

  async remove(): Promise<void> {
    this.console.close();
    await removeContainer(this.#docker, this.raw.id);
  }
}
