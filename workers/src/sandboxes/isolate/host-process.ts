import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { GuestChannel, GuestIdle, GuestOutcome, GuestProgram, RunningGuest } from "../port.ts";
import { settlementText } from "../settlement-text.ts";
import { permissionFlags, type Confinement } from "./confinement.ts";
import { createFrameSender, readFrames, type FrameSender } from "./frames.ts";
import type { HostFiles } from "./host-files.ts";
import { HOST_CHANNEL_FD, type HostOptions } from "./host/options.ts";
import type { EndMessage, OutputChunk, OutputMessage, ReadyMessage, ToHost, TurnMessage } from "./messages.ts";
import { readFromHost } from "./read-from-host.ts";

interface Guest {
  readonly channel: GuestChannel;
  readonly resultBytes: number;
  settle(outcome: GuestOutcome): void;
}

const STDERR_CHARS = 2000;
const EXIT_MS = 2000;

/** One isolate-host child process, from the worker's side. It is not started again: its pool makes another. */
export class HostProcess {
  /** Rejects where the process ends before it is ready. */
  readonly ready: Promise<ReadyMessage>;
  /** Resolves with the reason when the process has ended. */
  readonly gone: Promise<string>;
  /** How many hold it, as counted by its pool. */
  leases = 0;
  readonly #child: ChildProcess;
  readonly #channel: Duplex;
  readonly #sender: FrameSender;
  readonly #guests = new Map<number, Guest>();
  #lastId = 0;
  #stderr = "";
  #reason: string | null = null;
  #image: Buffer = Buffer.alloc(0);

  constructor(files: HostFiles, confinement: Confinement, maxThreads: number) {
    const options: HostOptions = { files: files.engine, maxThreads };
    const flags = ["--disable-warning=ExperimentalWarning", ...permissionFlags(files.readable)];
    const { file, args } = confinement.command([...flags, files.entry, JSON.stringify(options)]);
    // A group of its own: Ctrl-C must not end it before the worker has drained.
    this.#child = spawn(file, args, {
      env: {},
      cwd: "/",
      detached: true,
      stdio: ["ignore", "ignore", "pipe", "pipe"],
    });
    this.#channel = this.#child.stdio[HOST_CHANNEL_FD] as unknown as Duplex;
    this.#channel.on("error", () => {});
    this.#child.stderr?.on("data", (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString()).slice(-STDERR_CHARS);
    });
    this.#sender = createFrameSender(this.#channel);
    this.gone = this.#watchEnd();
    this.ready = this.#listen();
    this.ready.catch(() => {});
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get alive(): boolean {
    return this.#reason === null;
  }

  start(project: string, program: GuestProgram, channel: GuestChannel, signal: AbortSignal): RunningGuest {
    const id = ++this.#lastId;
    return {
      outcome: this.#run(id, project, program, channel, signal),
      settle: (settlement) =>
        this.#tell({ type: "settle", id, call: settlement.id, at: settlement.at, told: settlementText(settlement) }),
      tick: ({ turn }) => this.#tell({ type: "tick", id, turn }),
      goLive: () => this.#tell({ type: "live", id }),
      park: ({ turn }) => this.#tell({ type: "park", id, turn }),
    };
  }

  #run(
    id: number,
    project: string,
    program: GuestProgram,
    channel: GuestChannel,
    signal: AbortSignal,
  ): Promise<GuestOutcome> {
    if (this.#reason !== null) return Promise.resolve({ kind: "lost", reason: this.#reason });
    if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
    const { language, code, input, seed, clockStart, kept, live, limits, replayMs = limits.timeoutMs } = program;
    return new Promise((resolve) => {
      const cancel = () => this.#tell({ type: "cancel", id });
      signal.addEventListener("abort", cancel, { once: true });
      this.#guests.set(id, {
        channel,
        resultBytes: limits.resultBytes,
        settle: (outcome) => {
          signal.removeEventListener("abort", cancel);
          resolve(outcome);
        },
      });
      const typescript = language === "TYPESCRIPT";
      const state = kept?.state.toString("base64") ?? null;
      const text = { project, typescript, code, input, seed, clockStart, state };
      this.#tell({ type: "run", id, ...text, live, limits, replayMs });
    });
  }

  /** Closing the channel is the signal to end; a process that does not heed it is killed. */
  async close(): Promise<void> {
    this.#fail("the provider was closed");
    this.#channel.destroy();
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), EXIT_MS);
    await this.gone;
    clearTimeout(kill);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #tell(message: ToHost): void {
    this.#sender.send(message);
  }

  async #watchEnd(): Promise<string> {
    const ended = await Promise.race([
      once(this.#child, "exit").then(([code, signal]) => `exit code ${String(code)}, signal ${String(signal)}`),
      once(this.#child, "error").then(([error]) => String(error)),
    ]);
    const said = this.#stderr.trim();
    this.#fail(`the isolate host ended: ${ended}${said === "" ? "" : `: ${said}`}`);
    this.#channel.destroy();
    return this.#reason as unknown as string;
  }

  #listen(): Promise<ReadyMessage> {
    return new Promise((resolve, reject) => {
      void this.gone.then((reason) => reject(new Error(reason)));
      readFrames(
        this.#channel,
        (value) => {
          const message = readFromHost(value);
          switch (message.type) {
            case "ready":
              this.#image = Buffer.from(message.image, "hex");
              return resolve(message);
            case "output":
              return this.#hear(message);
            case "turn":
              this.#hear(message);
              return this.#guests.get(message.id)?.channel.idle(idleOf(message));
            case "end":
              return this.#end(message);
          }
        },
        (error) => {
          this.#fail(`the isolate host sent junk: ${error.message}`);
          this.kill();
        },
      );
    });
  }

  /** Output and calls, in the order in which the guest made them. */
  #hear({ id, chunks, calls }: Omit<OutputMessage, "type">): void {
    const channel = this.#guests.get(id)?.channel;
    if (channel === undefined) return;
    let printed = 0;
    const print = (until: number) => {
      for (; printed < Math.min(until, chunks.length); printed++) {
        const [stream, text] = chunks[printed] as OutputChunk;
        channel.output(stream === 1 ? "stdout" : "stderr", text);
      }
    };
    for (const [call, path, input, shown, at] of calls) {
      print(shown);
      channel.call({ id: call, path, input, at });
    }
    print(chunks.length);
  }

  #end(said: EndMessage): void {
    const { id, dropped, end } = said;
    const guest = this.#guests.get(id);
    if (guest === undefined) return;
    if (end.kind === "returned" && end.output !== null && Buffer.byteLength(end.output) > guest.resultBytes) {
      throw new Error("a result beyond its limit");
    }
    this.#hear(said);
    if (dropped > 0) guest.channel.dropped(dropped);
    this.#guests.delete(id);
    if (end.kind === "parked") {
      return guest.settle({ kind: "parked", kept: { image: this.#image, state: Buffer.from(end.state, "base64") } });
    }
    if (end.kind !== "failed") return guest.settle(end);
    const { code, message, stack } = end;
    guest.settle({ kind: "failed", failure: stack === undefined ? { code, message } : { code, message, stack } });
  }

  #fail(reason: string): void {
    this.#reason ??= reason;
    for (const guest of this.#guests.values()) guest.settle({ kind: "lost", reason: this.#reason });
    this.#guests.clear();
  }
}

function idleOf({ turn, waits, timerMs, timerAt }: TurnMessage): GuestIdle {
  return { turn, waits, timerMs, timerAt };
}
