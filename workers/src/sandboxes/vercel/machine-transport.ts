import { RelayedOutput } from "../channel/relayed-output.ts";
import type { Transport, TransportEnd, TransportListener } from "../channel/transport.ts";
import { type CommandEnd, followCommand } from "./command-log.ts";
import { faultOf, wordsOf } from "./failures.ts";
import { LineWriter } from "./line-writer.ts";
import type { VercelMachine } from "./machine.ts";
import { persist } from "./retry.ts";
import { END, FOLDERS, LAUNCH, OUT_OF_MEMORY_EXIT } from "./scripts.ts";

export interface Launch {
  /** The agent's command in the machine. */
  readonly agent: readonly string[];
  /** Where what was brought is unpacked, in the order of the archives. */
  readonly targets: readonly string[];
  /** Runs before the agent does; what it throws is why there is none. */
  readonly before: () => Promise<void>;
}

/**
 * The guest channel without any port or address of the machine: what the agent says is the log of its command, what it
 * is told are files in a folder that it watches.
 */
export class MachineTransport implements Transport {
  readonly ended: Promise<TransportEnd>;
  readonly #machine: VercelMachine;
  readonly #lines: LineWriter;
  readonly #lost = Promise.withResolvers<TransportEnd>();
  readonly #launched = Promise.withResolvers<boolean>();
  readonly #relayed = new RelayedOutput();
  #listener: TransportListener | null = null;
  #killed = false;

  constructor(machine: VercelMachine, launch: Launch) {
    this.#machine = machine;
    this.#lines = new LineWriter(
      FOLDERS.lines,
      (files) => machine.write(files),
      (reason) => this.#lost.resolve({ kind: "gone", reason }),
    );
    this.ended = Promise.race([this.#run(launch), this.#lost.promise]).finally(() => this.#lines.close());
  }

  send(line: string): void {
    this.#lines.send(line);
  }

  listen(listener: TransportListener): void {
    this.#listener = listener;
  }

  kill(): void {
    if (this.#killed) return;
    this.#killed = true;
    this.#lines.close();
    void this.#end();
  }

  async #run(launch: Launch): Promise<TransportEnd> {
    try {
      await launch.before();
      if (this.#killed) return { kind: "exited", exitCode: null, signal: "SIGKILL" };
      const { uid, limits } = this.#machine;
      const bounds = [uid, limits.pids, limits.diskBytes, limits.files].map(String);
      const args = [...bounds, ...launch.targets, "--", ...launch.agent];
      const handle = await this.#machine.launch(LAUNCH, args);
      this.#launched.resolve(true);
      return this.#judge(await followCommand(handle, { hear: (stream, text) => this.#hear(stream, text) }));
    } catch (error) {
      return { kind: "gone", reason: `the program was not started: ${wordsOf(error)}` };
    } finally {
      this.#launched.resolve(false);
    }
  }

  #hear(stream: "stdout" | "stderr", text: string): void {
    if (stream === "stdout") return this.#listener?.data(text);
    for (const [fd, piece] of this.#relayed.take(text)) this.#listener?.raw(fd, piece);
  }

  #judge(end: CommandEnd): TransportEnd {
    if (end.kind === "gone") return end;
    if (end.exitCode === OUT_OF_MEMORY_EXIT) return { kind: "out of memory" };
    return { kind: "exited", exitCode: end.exitCode, signal: null };
  }

  /** The log ends with the last process that writes to it. What cannot be ended so ends with the machine. */
  async #end(): Promise<void> {
    if (!(await this.#launched.promise)) return;
    try {
      await persist(() => this.#machine.runAsRoot(END, [String(this.#machine.uid)]));
    } catch (error) {
      if (faultOf(error) === "gone") return;
      await this.#machine.delete().catch(() => {});
      this.#lost.resolve({ kind: "gone", reason: "the program could not be ended, so its sandbox was" });
    }
  }
}
