import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Transport, TransportEnd, TransportListener } from "../channel/transport.ts";
import type { Agent } from "./agents.ts";
import type { SandboxContainer } from "./container.ts";
import { Demultiplexer } from "./demultiplex.ts";
import { reasonOf } from "./engine.ts";
import { BURIED, KEEPER_SAYS } from "./keeper.ts";

/** An agent that has said its last word ends by itself: cheaper than any order to the engine. */
const OWN_END_MS = 30;
/** A keeper that does not end its guest by then does not work any more, and all is ended from outside. */
const KEEPER_MS = 3_000;
const LAST_LINE_CHARS = 64;

/** The guest channel over the container's standard input and output; the agent's own end is the keeper's word. */
export class GuestTransport implements Transport {
  readonly ended: Promise<TransportEnd>;
  readonly #container: SandboxContainer;
  readonly #end = Promise.withResolvers<TransportEnd>();
  readonly #agent: Agent;
  /** Who waits for the end of what was printed. */
  readonly #buried: (() => void)[] = [];
  #unsent: string[] | null = [];
  #listener: TransportListener | null = null;
  #reading = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(container: SandboxContainer, agent: Agent) {
    this.#container = container;
    this.#agent = agent;
    this.ended = this.#end.promise;
  }

  send(line: string): void {
    if (this.#unsent === null) this.#container.console.write(`${line}\n`);
    else this.#unsent.push(line);
  }

  listen(heard: TransportListener): void {
    this.#listener = heard;
    const printed = new Demultiplexer(5);
    this.#container.console.hearErrors((piece) => {
      for (const { stream, payload } of printed.read(piece)) {
        if (stream === BURIED) this.#buried.shift()?.();
        else heard.raw(stream === 1 ? 1 : 2, payload);
      }
    });
    this.#start();
  }

  kill(): void {
    this.#start();
    this.#timer ??= setTimeout(() => {
      this.#timer = setTimeout(() => this.#signal("SIGKILL"), KEEPER_MS);
      this.#signal("SIGTERM");
    }, OWN_END_MS);
  }

  /** The sandbox is no more the guest's. */
  abandon(reason: string): void {
    this.#finish({ kind: "gone", reason });
  }

  #start(): void {
    if (this.#reading) return;
    this.#reading = true;
    this.#run().then(
      (end) => this.#finish(end),
      (error: unknown) => this.#finish({ kind: "gone", reason: reasonOf(error) }),
    );
  }

  async #run(): Promise<TransportEnd> {
    if (this.#container.agent !== this.#agent) {
      if (this.#container.agent !== null) {
        await this.#container.signal("SIGTERM");
        const end = await this.#readAgent(() => {});
        if (end.kind !== "exited") return end;
      }
      this.#container.boot(this.#agent);
    }
    for (const line of this.#unsent ?? []) this.#container.console.write(`${line}\n`);
    this.#unsent = null;
    return this.#readAgent((piece) => this.#listener?.data(piece));
  }

  async #readAgent(data: (piece: Buffer) => void): Promise<TransportEnd> {
    const buried = new Promise<void>((resolve) => this.#buried.push(resolve));
    const end = await this.#readChannel(data);
    // A guest may have seen to it that it never comes.
    if (this.#listener !== null && !this.#container.console.ended) {
      await Promise.race([buried, sleep(KEEPER_MS, undefined, { ref: false })]);
    }
    return end;
  }

  async #readChannel(data: (piece: Buffer) => void): Promise<TransportEnd> {
    const { console } = this.#container;
    for (let piece = await console.read(); piece !== null; piece = await console.read()) {
      const at = piece.indexOf(KEEPER_SAYS);
      if (at !== 0) data(at < 0 ? piece : piece.subarray(0, at));
      if (at >= 0) return this.#readLastLine(piece.subarray(at + 1));
    }
    return this.#container.judge();
  }

  async #readLastLine(begun: Buffer): Promise<TransportEnd> {
    const { console } = this.#container;
    let line = begun;
    while (!line.includes("\n") && line.length < LAST_LINE_CHARS) {
      const piece = await console.read();
      if (piece === null) return this.#container.judge();
      line = Buffer.concat([line, piece]);
    }
    const end = line.indexOf("\n");
    console.unread(line.subarray(end < 0 ? line.length : end + 1));
    const [code = NaN, kills = NaN] = line.toString("latin1", 0, Math.max(end, 0)).split(" ").map(Number);
    return kills > 0 ? { kind: "out of memory" } : exited(code);
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    this.#container.signal(signal).catch((error: unknown) => this.abandon(reasonOf(error)));
  }

  #finish(end: TransportEnd): void {
    clearTimeout(this.#timer);
    this.#end.resolve(end);
  }
}

/** As shells say it: beyond 128 it was a signal. */
function exited(code: number): TransportEnd {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0] ?? null;
  return { kind: "exited", exitCode: signal === null && Number.isInteger(code) ? code : null, signal };
}
