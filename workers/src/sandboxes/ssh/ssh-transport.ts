import { createReadStream } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RelayedOutput } from "../channel/relayed-output.ts";
import type { Transport, TransportEnd, TransportListener } from "../channel/transport.ts";
import { CONNECTION_EXIT, type SshChild } from "./connection.ts";
import type { SshHost } from "./host.ts";
import type { Load } from "./load.ts";
import { EXITS } from "./scripts.ts";

/** The end of its input ends a guest over there; a connection on which even that does not arrive is cut. */
const CUT_MS = 5_000;
const LAST_WORDS_CHARS = 2_000;
/** Whatever a login shell prints first. */
const NOISE_BYTES = 64 * 1024;

export interface SshStart {
  readonly leaseId: string;
  readonly load: Load;
  readonly args: readonly string[];
}

type Opened = SshChild & { readonly loggedIn: () => void };

/** The guest channel over one connection: input and output of the script that runs the guest over there. */
export class SshTransport implements Transport {
  readonly ended: Promise<TransportEnd>;
  readonly #host: SshHost;
  readonly #relayed = new RelayedOutput();
  #listener: TransportListener | null = null;
  #waiting: string[] = [];
  #opened: Opened | null = null;
  #input: Writable | null = null;
  #isUp = false;
  #killed = false;
  #noise = Buffer.alloc(0);
  #lastWords = "";

  constructor(host: SshHost, prepare: () => Promise<SshStart>) {
    this.#host = host;
    this.ended = this.#run(prepare);
  }

  listen(listener: TransportListener): void {
    this.#listener = listener;
  }

  send(line: string): void {
    if (this.#killed) return;
    if (this.#input === null) this.#waiting.push(line);
    else this.#input.write(`${line}\n`);
  }

  kill(): void {
    if (this.#killed) return;
    this.#killed = true;
    const child = this.#opened?.child;
    if (child === undefined) return;
    if (this.#input === null) return void child.kill("SIGKILL");
    this.#input.end();
    const cut = setTimeout(() => child.kill("SIGKILL"), CUT_MS);
    child.once("close", () => clearTimeout(cut));
  }

  async #run(prepare: () => Promise<SshStart>): Promise<TransportEnd> {
    const nothing: TransportEnd = { kind: "exited", exitCode: null, signal: "SIGKILL" };
    let load: Load | null = null;
    try {
      const start = await prepare();
      load = start.load;
      if (this.#killed) return nothing;
      const opened = await this.#host.open("start.sh", start.args);
      this.#opened = opened;
      if (this.#killed) opened.child.kill("SIGKILL");
      return await this.#talk(opened, start);
    } catch (error) {
      if (this.#killed) return nothing;
      return { kind: "gone", reason: `${this.#host.name}: ${error instanceof Error ? error.message : String(error)}` };
    } finally {
      await load?.remove();
    }
  }

  async #talk(opened: Opened, { leaseId, load }: SshStart): Promise<TransportEnd> {
    const { child, loggedIn } = opened;
    const [stdin, stdout, stderr] = child.stdio as unknown as [Writable, Readable, Readable];
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("close", resolve);
      child.once("error", reject);
    });
    void ended.then(loggedIn, loggedIn);
    stdin.on("error", () => {});
    stderr.on("data", (piece: Buffer) => this.#hearErrors(piece));
    const mark = Buffer.from(`\nairlock ${leaseId}\n`);
    stdout.on("data", (piece: Buffer) => this.#hear(piece, mark, loggedIn));
    void this.#sendLoad(stdin, load);
    return this.#judge(await ended, opened);
  }

  /** The archives, whose lengths it was told, then lines. */
  async #sendLoad(stdin: Writable, load: Load): Promise<void> {
    try {
      for (const { file } of load.archives) await pipeline(createReadStream(file), stdin, { end: false });
    } catch {
      // It has ended: said by its end.
      return;
    }
    this.#input = stdin;
    for (const line of this.#waiting) stdin.write(`${line}\n`);
    this.#waiting = [];
    if (this.#killed) stdin.end();
  }

  #hear(piece: Buffer, mark: Buffer, loggedIn: () => void): void {
    if (this.#isUp) return this.#listener?.data(piece);
    this.#noise = Buffer.concat([this.#noise, piece]);
    const at = this.#noise.indexOf(mark);
    if (at < 0) {
      if (this.#noise.length > NOISE_BYTES) this.#opened?.child.kill("SIGKILL");
      return;
    }
    this.#isUp = true;
    loggedIn();
    const rest = this.#noise.subarray(at + mark.length);
    this.#noise = Buffer.alloc(0);
    if (rest.length > 0) this.#listener?.data(rest);
  }

  #hearErrors(piece: Buffer): void {
    const text = piece.toString("latin1");
    if (!this.#isUp) this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS_CHARS);
    for (const [fd, printed] of this.#relayed.take(text)) this.#listener?.raw(fd, printed);
  }

  async #judge(code: number | null, { reason }: SshChild): Promise<TransportEnd> {
    if (code === EXITS.outOfMemory) return { kind: "out of memory" };
    if (this.#killed) return { kind: "exited", exitCode: code, signal: "SIGKILL" };
    const { name } = this.#host;
    if (code === CONNECTION_EXIT || code === null) return { kind: "gone", reason: `${name}: ${await reason()}` };
    if (!this.#isUp) return { kind: "gone", reason: `${name} did not start the sandbox: ${this.#lastWords.trim()}` };
    return { kind: "exited", exitCode: code, signal: null };
  }
}
