import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Duplex } from "node:stream";
import type { AgentEnd, FromAgent, StartOrder } from "../src/sandboxes/channel/protocol.ts";

const AGENT = path.join(import.meta.dirname, "../src/guests/python/agent.py");
export const CLOCK = 1_700_000_000_000;

type Call = Extract<FromAgent, readonly ["call", ...unknown[]]>;
type Idle = Extract<FromAgent, readonly ["idle", ...unknown[]]>;

export interface PythonOptions extends Partial<Omit<StartOrder, "code">> {
  /** Answers each call at once, one second of guest time after the last; a call with undefined stays open. */
  readonly answer?: (call: Call) => unknown;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface PythonRun {
  readonly end: AgentEnd | null;
  readonly said: readonly FromAgent[];
  readonly stdout: string;
  readonly stderr: string;
  /** What came past the agent, on descriptors 1 and 2. */
  readonly raw: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** The real agent as a plain child process, with the test in the place of the worker. */
export class PythonAgent {
  readonly said: FromAgent[] = [];
  readonly child: ChildProcess;
  readonly #channel: Duplex;
  readonly #closed: Promise<unknown>;
  readonly #answer: PythonOptions["answer"];
  #news = Promise.withResolvers<void>();
  #raw = "";
  #rest = "";
  #read = 0;
  #answered = 0;
  #ended = false;

  constructor(code: string, options: PythonOptions = {}) {
    const { answer, cwd = "/", env = { PYTHONHASHSEED: "0" }, ...order } = options;
    const args = [AGENT, "--in", "3", "--out", "3"];
    const given = { PATH: process.env["PATH"], ...env };
    this.child = spawn("python3", args, { cwd, env: given, stdio: ["ignore", "pipe", "pipe", "pipe"] });
    this.#channel = this.child.stdio[3] as Duplex;
    this.#answer = answer;
    // It may end with lines unread.
    this.#channel.on("error", () => {});
    this.#channel.setEncoding("latin1").on("data", (piece: string) => this.#hear(piece));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => (this.#raw += text));
    }
    this.#closed = once(this.child, "close").finally(() => {
      this.#ended = true;
      this.#news.resolve();
    });
    const start = { language: "PYTHON", input: null, seed: "00", clockStart: CLOCK, live: true, ...order } as const;
    this.send(["start", { code, ...start }]);
  }

  send(message: readonly unknown[]): void {
    this.#channel.write(`${JSON.stringify(message).replaceAll(/[\u007f-\uffff]/g, escape)}\n`);
  }

  settle(id: number, value: unknown, at = CLOCK, meta: unknown = {}): void {
    this.send(["settle", id, at, JSON.stringify({ id, ok: true, value, meta })]);
  }

  refuse(id: number, code: string, message: string, meta: unknown = {}): void {
    this.send(["settle", id, CLOCK, JSON.stringify({ id, ok: false, code, message, meta })]);
  }

  /** The next message of this kind; those before it are passed over. */
  async next<K extends FromAgent[0]>(kind: K): Promise<Extract<FromAgent, readonly [K, ...unknown[]]>> {
    for (;;) {
      const message = this.said[this.#read];
      if (message !== undefined) {
        this.#read++;
        if (message[0] === kind) return message as never;
      } else if (this.#ended) throw new Error(`it ended without: ${kind}; it said ${JSON.stringify(this.said)}`);
      else await this.#news.promise;
    }
  }

  nextCall = (): Promise<Call> => this.next("call");
  nextIdle = (): Promise<Idle> => this.next("idle");

  kill(): void {
    this.child.kill("SIGKILL");
  }

  async ended(): Promise<PythonRun> {
    await this.#closed;
    const last = this.said.at(-1);
    const on = (stream: 1 | 2) => this.said.map((m) => (m[0] === "out" && m[1] === stream ? m[2] : "")).join("");
    const { exitCode, signalCode: signal } = this.child;
    const end = last?.[0] === "done" ? last[1] : null;
    return { end, said: this.said, stdout: on(1), stderr: on(2), raw: this.#raw, exitCode, signal };
  }

  #hear(piece: string): void {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(JSON.parse(line) as FromAgent);
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }

  #take(message: FromAgent): void {
    this.said.push(message);
    if (this.#answer === undefined) return;
    // Live, a guest that waits for calls has its timers fired for it.
    if (message[0] === "idle" && message[2] && message[3] !== null) this.send(["tick", message[1]]);
    if (message[0] !== "call") return;
    const value = this.#answer(message);
    if (value !== undefined) this.settle(message[1], value, CLOCK + ++this.#answered * 1000);
  }
}

export async function runPython(code: string, options: PythonOptions = {}): Promise<PythonRun> {
  return new PythonAgent(code, options).ended();
}

/** What the program returns; throws where it fails. */
export async function pythonValue(code: string, options: PythonOptions = {}): Promise<unknown> {
  const { end } = await runPython(code, options);
  if (end?.kind !== "returned") throw new Error(JSON.stringify(end));
  return end.output === null ? undefined : (JSON.parse(end.output) as unknown);
}

export const echo = (call: Call): unknown => JSON.parse(call[3]) as unknown;

const escape = (unit: string): string => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
