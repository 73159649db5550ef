import { randomInt } from "node:crypto";
import type { Command, Sandbox, Session } from "@vercel/sandbox";
import { LeaseError } from "../port.ts";
import type { CommandHandle } from "./command-log.ts";
import { chooseVcpus, type VercelConfig } from "./config.ts";
import { faultOf, wordsOf } from "./failures.ts";
import { persist } from "./retry.ts";
import { PREPARE, UNFIT_EXIT } from "./scripts.ts";
import type { VercelAccount } from "./account.ts";

/** What is left to a sandbox beyond its program's own time: the way there and back, and its files. */
const MARGIN_MS = 60_000;
/** Ids that no image gives to anyone. */
const UIDS = { from: 200_000, to: 400_000 } as const;

export interface MachineRequest {
  readonly leaseId: string;
  readonly config: VercelConfig;
  readonly limits: {
    readonly memoryBytes: number;
    readonly cpus: number;
    readonly pids: number;
    readonly diskBytes: number;
    readonly files: number;
  };
}

/** One microVM for one lease. */
export class VercelMachine {
  readonly uid: number;
  readonly limits: MachineRequest["limits"];
  readonly memoryBytes: number;
  readonly #account: VercelAccount;
  readonly #sandbox: Sandbox;
  /** By our own clock; a little early, since it was counted before the answer came. */
  #endsAt: number;

  private constructor(account: VercelAccount, sandbox: Sandbox, request: MachineRequest, endsAt: number) {
    this.uid = randomInt(UIDS.from, UIDS.to);
    this.limits = request.limits;
    this.memoryBytes = this.#session(sandbox).memory * 1024 * 1024;
    this.#account = account;
    this.#sandbox = sandbox;
    this.#endsAt = endsAt;
  }

  static async create(account: VercelAccount, request: MachineRequest): Promise<VercelMachine> {
    const { config, limits } = request;
    const vcpus = chooseVcpus(config, limits);
    if (vcpus === null) throw new LeaseError("no machine of Vercel is as large as this environment's limits");
    const endsAt = Date.now() + config.timeoutMs;
    const sandbox = await account.create(request.leaseId, vcpus, config);
    const machine = new VercelMachine(account, sandbox, request, endsAt);
    await machine.#prepare();
    return machine;
  }

  /** Never the `Sandbox` itself: it would start a machine anew where this one has ended, and run on in that. */
  #session(sandbox = this.#sandbox): Session {
    return sandbox.currentSession();
  }

  async #prepare(): Promise<void> {
    if (this.#session().networkPolicy !== "deny-all") throw new LeaseError("the sandbox was made, but with a network");
    const { diskBytes, files } = this.limits;
    const { exitCode, stderr } = await this.runAsRoot(PREPARE, [String(diskBytes), String(files)]);
    if (exitCode === 0) return;
    const why = stderr.trim().split("\n")[0] ?? "";
    throw new LeaseError(
      exitCode === UNFIT_EXIT ? `this image cannot be used: ${why}` : `the sandbox cannot be prepared: ${why}`,
    );
  }

  /** Of a short command; its output is for the worker's own use. */
  async runAsRoot(
    script: string,
    args: readonly string[],
  ): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
    const command = { cmd: "sh", args: ["-c", script, "airlock", ...args], cwd: "/", sudo: true };
    const done = await this.#session().runCommand(command);
    return { exitCode: done.exitCode, stdout: await done.stdout(), stderr: await done.stderr() };
  }

  /** A command that goes on while it is looked at from time to time. */
  async launch(script: string, args: readonly string[]): Promise<CommandHandle> {
    const given = { cmd: "sh", args: ["-c", script, "airlock", ...args], cwd: "/", sudo: true };
    const command: Command = await this.#session().runCommand({ ...given, detached: true });
    return {
      command,
      exitCode: async () => (await this.#session().getCommand(command.cmdId)).exitCode,
      isAlive: async () => this.#account.isRunning(this.#sandbox.name, this.#session().sessionId),
    };
  }

  write(files: readonly { readonly path: string; readonly content: string | Buffer }[]): Promise<void> {
    return this.#session().writeFiles([...files]);
  }

  async read(path: string): Promise<NodeJS.ReadableStream | null> {
    return this.#session().readFile({ path });
  }

  /** Makes sure that it lives as long as the program may run. False: the vendor's plan does not allow it. */
  async lastFor(programMs: number): Promise<boolean> {
    const missing = Date.now() + programMs + MARGIN_MS - this.#endsAt;
    if (missing <= 0) return true;
    try {
      await persist(() => this.#session().extendTimeout(missing));
      this.#endsAt += missing;
      return true;
    } catch (error) {
      if (faultOf(error) === "refused") return false;
      throw error;
    }
  }

  /** Whether its own time limit, and not the vendor, is why it is gone. */
  get isOverdue(): boolean {
    return Date.now() >= this.#endsAt;
  }

  async delete(): Promise<void> {
    try {
      await this.#account.delete(this.#sandbox);
    } catch (error) {
      throw new Error(`the sandbox may still exist: ${wordsOf(error)}`, { cause: error });
    }
  }
}
