import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS } from "../javascript/call-limits.ts";
import type { Connection } from "./connection.ts";
import { failure } from "./failure.ts";
import type { Message, Order } from "./order.ts";
import { isQuiet } from "./quiet-processes.ts";

/** What is read from a script's output at most; the worker's own limit is far below. */
const OUTPUT_BYTES = 8 * 1024 * 1024;
const FIRST_LOOK_MS = 2;
const LAST_LOOK_MS = 250;

/**
 * `tool <path> [json | -]`, made of nothing but the shell and files: its request lies in files, so that the line on the
 * shared FIFO is short enough to be written whole whoever else writes; its own FIFO is open before it asks, so that no
 * answer is lost.
 */
const TOOL = `#!/bin/sh
if [ $# -lt 1 ] || [ $# -gt 2 ]; then echo "usage: tool <path> [<json> | -]" >&2; exit 2; fi
own=\${0%/*}/$$
mkfifo "$own.reply" || exit 125
trap 'rm -f "$own".*' EXIT
exec 9<>"$own.reply"
printf %s "$1" >"$own.path"
if [ "\${2-}" = - ]; then cat >"$own.input"; else printf %s "\${2:-{\\}}" >"$own.input"; fi
echo $$ >"\${0%/*}/calls"
read -r code <&9
if [ "$code" = 0 ]; then cat "$own.result"; else cat "$own.result" >&2; fi
exit "$code"
`;

interface ToldOutcome {
  readonly ok: boolean;
  readonly value?: unknown;
  readonly code?: string;
  readonly message?: string;
}

/** One Bash script from its first line to its end. */
export class BashSession {
  readonly #order: Order;
  readonly #connection: Connection;
  readonly #folder = mkdtempSync(`${tmpdir()}/airlock-`);
  /** The processes that wait, by the numbers of their calls. */
  readonly #waiting = new Map<number, string>();
  #elapsed = 0;
  #lastCall = 0;
  #turn = 0;
  /** Lines of the worker that it has followed; the first was the order. */
  #taken = 1;
  #look: NodeJS.Timeout | undefined;

  constructor(order: Order, connection: Connection) {
    this.#order = order;
    this.#connection = connection;
  }

  run(): void {
    const at = (name: string) => `${this.#folder}/${name}`;
    writeFileSync(at("tool"), TOOL);
    chmodSync(at("tool"), 0o755);
    writeFileSync(at("task.sh"), this.#order.code);
    writeFileSync(at("input.json"), this.#order.input ?? "");
    const { spawn } = childProcess();
    spawn("mkfifo", [at("calls")], { stdio: "inherit" }).once("exit", () => this.#start(at));
  }

  #start(at: (name: string) => string): void {
    // Also open for writing, so that it does not end with the first one who writes.
    const calls = new Socket({ fd: openSync(at("calls"), "r+"), readable: true, writable: false });
    calls.unref();
    let rest = "";
    calls.setEncoding("latin1").on("data", (piece: string) => {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) this.#call(line);
    });
    const child = childProcess().spawn("bash", [at("task.sh")], {
      stdio: ["ignore", "inherit", "inherit"],
      env: {
        ...process.env,
        PATH: `${this.#folder}:${process.env["PATH"]}`,
        AIRLOCK_INPUT: at("input.json"),
        AIRLOCK_OUTPUT: at("output.json"),
      },
    });
    child.once("error", (error) => this.#end(failure(`the script cannot be started: ${error.message}`)));
    child.once("exit", (code, signal) => this.#ended(code, signal));
  }

  take(message: Message): void {
    this.#taken++;
    if (message[0] === "settle") this.#settle(message[1] as number, message[2] as number, message[3] as string);
    this.#lookSoon();
  }

  /** By the process that asks, which names its files. */
  #call(asker: string): void {
    if (!/^\d+$/.test(asker)) return;
    let path: string;
    let input: string;
    try {
      path = readFileSync(`${this.#folder}/${asker}.path`, "utf8");
      input = readFileSync(`${this.#folder}/${asker}.input`, "utf8");
    } catch {
      return;
    }
    const fault = faultOf(path, input);
    if (fault !== null) return this.#answer(asker, fault);
    const id = ++this.#lastCall;
    this.#waiting.set(id, asker);
    this.#connection.send(["call", id, path, input, this.#order.clockStart + this.#elapsed]);
    this.#lookSoon();
  }

  #settle(id: number, at: number, told: string): void {
    this.#elapsed = Math.max(this.#elapsed, at - this.#order.clockStart);
    const asker = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (asker !== undefined) this.#answer(asker, JSON.parse(told) as ToldOutcome);
  }

  #answer(asker: string, { ok, value, code, message }: ToldOutcome): void {
    const own = `${this.#folder}/${asker}`;
    try {
      writeFileSync(
        `${own}.result`,
        ok ? (value === undefined ? "" : `${JSON.stringify(value)}\n`) : `${code}: ${message}\n`,
      );
      const reply = openSync(`${own}.reply`, "r+");
      writeSync(reply, ok ? "0\n" : "1\n");
      closeSync(reply);
    } catch {
      // Whoever asked is gone.
    }
  }

  // Being idle.

  #lookSoon(wait = FIRST_LOOK_MS): void {
    clearTimeout(this.#look);
    this.#look = undefined;
    if (this.#waiting.size === 0) return;
    this.#look = setTimeout(() => {
      if (!isQuiet(process.pid)) return this.#lookSoon(Math.min(2 * wait, LAST_LOOK_MS));
      this.#connection.send(["idle", ++this.#turn, true, null, null, this.#taken]);
    }, wait);
  }

  // Its end.

  #ended(code: number | null, signal: string | null): void {
    if (signal !== null) return this.#end(failure(`the script was ended by ${signal}`));
    if (code !== 0) return this.#end(failure(`the script exited with code ${code}`, code));
    const file = `${this.#folder}/output.json`;
    let output: string | null = null;
    try {
      const { size } = statSync(file);
      if (size > OUTPUT_BYTES) return this.#end({ ...failure(`the output has ${size} bytes`), code: "OUTPUT_LIMIT" });
      output = readFileSync(file, "utf8").trim() || null;
    } catch {
      // It left none.
    }
    try {
      if (output !== null) JSON.parse(output);
    } catch {
      return this.#end(failure("what the script wrote to $AIRLOCK_OUTPUT is no JSON", code));
    }
    this.#end({ kind: "returned", output, exitCode: code });
  }

  #end(how: object): void {
    clearTimeout(this.#look);
    this.#connection.send(["done", how]);
    rmSync(this.#folder, { recursive: true, force: true });
    process.exit(0);
  }
}

/** Loaded for scripts alone. */
function childProcess() {
  return process.getBuiltinModule("node:child_process");
}

function faultOf(path: string, input: string): ToldOutcome | null {
  const fault = (code: string, message: string) => ({ ok: false, code, message });
  if (path === "" || path.length > CALL_PATH_CHARS) {
    return fault("UNKNOWN_TOOL", `a tool has a path, like util.echo, of at most ${CALL_PATH_CHARS} characters`);
  }
  if (input.length > CALL_INPUT_CHARS) {
    return fault(
      "BAD_TOOL_INPUT",
      `the input has ${input.length} characters of JSON; at most ${CALL_INPUT_CHARS} are sent`,
    );
  }
  try {
    JSON.parse(input);
    return null;
  } catch {
    return fault("BAD_TOOL_INPUT", `${path}: the input is no JSON`);
  }
}
