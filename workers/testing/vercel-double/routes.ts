import type { IncomingMessage, ServerResponse } from "node:http";
import { describeCommand, startCommand, waitForEnd } from "./commands.ts";
import type { Faults } from "./faults.ts";
import { sendLogs } from "./log-stream.ts";
import type { MachineCommand } from "./machine.ts";
import { type CreateBody, SandboxRecord } from "./sandboxes.ts";
import { writeFiles } from "./writes.ts";

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
}

export interface DoubleState {
  readonly faults: Faults;
  /** By name; deleted ones are not in it. */
  readonly sandboxes: Map<string, SandboxRecord>;
  /** The longest time that one sandbox may live. */
  maxTimeoutMs: number;
  readonly pageSize: number;
  readonly askedLogs: Set<string>;
}

export async function answer(state: DoubleState, exchange: Exchange): Promise<void> {
  const { method, path } = exchange;
  if (method === "POST" && /^\/v[23]\/sandboxes$/.test(path)) return create(state, exchange);
  if (method === "GET" && path === "/v2/sandboxes") return list(state, exchange);
  const named = /^\/v2\/sandboxes\/([^/]+)$/.exec(path)?.[1];
  if (named !== undefined && method === "DELETE") return remove(state, exchange, named);
  if (named !== undefined && method === "GET") return get(state, exchange, named);
  const [, sessionId = "", rest = ""] = /^\/v2\/sandboxes\/sessions\/([^/]+)\/(.*)$/.exec(path) ?? [];
  const sandbox = [...state.sandboxes.values()].find((one) => one.sessionId === sessionId);
  if (sandbox === undefined) return refuse(exchange, 404, "not_found", "Session not found");
  if (sandbox.status === "stopped" && method === "POST") {
    return refuse(exchange, 410, "sandbox_stopped", "Sandbox has stopped execution and is no longer available");
  }
  return inSession(state, exchange, sandbox, rest);
}

async function create(state: DoubleState, exchange: Exchange): Promise<void> {
  const asked = json<CreateBody>(exchange);
  if (state.sandboxes.has(asked.name)) return refuse(exchange, 409, "conflict", "Sandbox name is taken");
  const sandbox = await SandboxRecord.start(asked);
  state.sandboxes.set(asked.name, sandbox);
  reply(exchange, { ...sandbox.describe(), routes: [] });
}

function list(state: DoubleState, exchange: Exchange): void {
  const prefix = exchange.query.get("namePrefix") ?? "";
  const [key = "", value = ""] = exchange.query.get("tags")?.split(":") ?? [];
  const from = Number(exchange.query.get("cursor") ?? 0);
  const fitting = [...state.sandboxes.values()].filter(
    ({ asked }) => asked.name.startsWith(prefix) && (key === "" || asked.tags?.[key] === value),
  );
  const page = fitting.slice(from, from + state.pageSize);
  const next = from + page.length < fitting.length ? String(from + page.length) : null;
  reply(exchange, {
    sandboxes: page.map((one) => one.describe().sandbox),
    pagination: { count: page.length, next },
  });
}

async function remove(state: DoubleState, exchange: Exchange, name: string): Promise<void> {
  const sandbox = state.sandboxes.get(name);
  if (sandbox === undefined) return refuse(exchange, 404, "not_found", "Sandbox not found");
  await sandbox.stop();
  state.sandboxes.delete(name);
  reply(exchange, sandbox.describe());
}

/** Asked without resuming only: a machine that has stopped stays so. */
function get(state: DoubleState, exchange: Exchange, name: string): void {
  const sandbox = state.sandboxes.get(name);
  if (sandbox === undefined) return refuse(exchange, 404, "not_found", "Sandbox not found");
  if (exchange.query.get("resume") !== "false") return refuse(exchange, 400, "bad_request", "it would be resumed");
  reply(exchange, { ...sandbox.describe(), routes: [] });
}

async function inSession(state: DoubleState, exchange: Exchange, sandbox: SandboxRecord, rest: string): Promise<void> {
  if (rest === "cmd") return runCommand(exchange, sandbox);
  if (rest === "stop") {
    await sandbox.stop();
    return reply(exchange, { session: sandbox.describe().session });
  }
  if (rest === "extend-timeout") return extend(state, exchange, sandbox);
  if (rest === "fs/write") {
    const into = String(exchange.request.headers["x-cwd"]);
    const written = await writeFiles(sandbox.machine, exchange.body, into, state.faults.slowWritesMs);
    return written ? reply(exchange, {}) : refuse(exchange, 400, "bad_request", "cannot write there");
  }
  if (rest === "fs/read") return readFile(exchange, sandbox);
  const [, id = "", what = ""] = /^cmd\/([^/]+)(\/logs)?$/.exec(rest) ?? [];
  const command = sandbox.commands.get(id);
  if (command === undefined) return refuse(exchange, 404, "not_found", "Command not found");
  if (what === "/logs") {
    const isFirst = !state.askedLogs.has(id);
    state.askedLogs.add(id);
    return sendLogs(exchange.response, sandbox, command, state.faults, isFirst);
  }
  if (exchange.query.get("wait") === "true") await waitForEnd(command);
  reply(exchange, describeCommand(command, sandbox.sessionId));
}

async function runCommand(exchange: Exchange, sandbox: SandboxRecord): Promise<void> {
  const asked = json<{ command: string; wait?: boolean } & Omit<MachineCommand, "cmd">>(exchange);
  const command = startCommand(sandbox.machine, { ...asked, cmd: asked.command });
  sandbox.commands.set(command.id, command);
  if (asked.wait !== true) return reply(exchange, describeCommand(command, sandbox.sessionId));
  const { response } = exchange;
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.write(`${JSON.stringify(describeCommand(command, sandbox.sessionId))}\n`);
  await waitForEnd(command);
  for (const entry of command.log) response.write(`${JSON.stringify(entry)}\n`);
  response.end(`${JSON.stringify(describeCommand(command, sandbox.sessionId))}\n`);
}

function extend(state: DoubleState, exchange: Exchange, sandbox: SandboxRecord): void {
  const { duration } = json<{ duration: number }>(exchange);
  if (sandbox.timeout + duration > state.maxTimeoutMs) {
    return refuse(exchange, 400, "bad_request", "Timeout exceeds the maximum of your plan");
  }
  sandbox.extend(duration);
  reply(exchange, { session: sandbox.describe().session });
}

function readFile(exchange: Exchange, sandbox: SandboxRecord): Promise<void> {
  const { path } = json<{ path: string }>(exchange);
  const cat = sandbox.machine.run({ cmd: "cat", args: ["--", path] });
  const { promise, resolve } = Promise.withResolvers<void>();
  exchange.response.setHeader("content-type", "application/octet-stream");
  cat.stdin?.end();
  cat.stderr?.resume();
  cat.stdout?.pipe(exchange.response);
  cat.once("close", () => resolve());
  return promise;
}

function json<T>(exchange: Exchange): T {
  return JSON.parse(exchange.body.toString()) as T;
}

function reply({ response }: Exchange, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

export function refuse({ response }: Exchange, status: number, code: string, message: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: { code, message } }));
}
