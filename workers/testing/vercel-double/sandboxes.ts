import { randomUUID } from "node:crypto";
import type { CommandRecord } from "./commands.ts";
import { HOME, type Machine, startMachine } from "./machine.ts";

/** What the SDK asks for, as far as the double knows it. */
export interface CreateBody {
  readonly name: string;
  readonly projectId: string;
  readonly timeout?: number;
  readonly resources?: { readonly vcpus: number };
  readonly runtime?: string;
  readonly image?: string;
  readonly persistent?: boolean;
  readonly networkPolicy?: { readonly mode: string };
  readonly env?: Record<string, string>;
  readonly tags?: Record<string, string>;
  readonly region?: string;
}

export class SandboxRecord {
  readonly sessionId = `sbx_${randomUUID()}`;
  readonly createdAt = Date.now();
  readonly commands = new Map<string, CommandRecord>();
  readonly asked: CreateBody;
  readonly machine: Machine;
  status: "running" | "stopped" = "running";
  timeout: number;
  private clock: NodeJS.Timeout | null = null;

  private constructor(asked: CreateBody, machine: Machine) {
    this.asked = asked;
    this.machine = machine;
    this.timeout = asked.timeout ?? 300_000;
    this.wind();
  }

  static async start(asked: CreateBody): Promise<SandboxRecord> {
    return new SandboxRecord(asked, await startMachine(randomUUID()));
  }

  extend(duration: number): void {
    this.timeout += duration;
    this.wind();
  }

  /** Its time limit is reached now, or its machine is lost: the vendor says the same of both. */
  async stop(): Promise<void> {
    if (this.clock !== null) clearTimeout(this.clock);
    if (this.status === "stopped") return;
    this.status = "stopped";
    await this.machine.stop();
    for (const command of this.commands.values()) command.news.emit("more");
  }

  describe(): { sandbox: Record<string, unknown>; session: Record<string, unknown> } {
    const { createdAt, sessionId, status, timeout, asked } = this;
    const { name, tags, persistent = true, region = "iad1", image, runtime } = asked;
    const vcpus = asked.resources?.vcpus ?? 2;
    const size = { vcpus, memory: vcpus * 2048, region, timeout, status, cwd: HOME, createdAt, updatedAt: createdAt };
    const networkPolicy = asked.networkPolicy ?? { mode: "allow-all" };
    return {
      sandbox: { name, tags, persistent, currentSessionId: sessionId, networkPolicy, image, runtime, ...size },
      session: { id: sessionId, requestedAt: createdAt, startedAt: createdAt, networkPolicy, ...size },
    };
  }

  private wind(): void {
    if (this.clock !== null) clearTimeout(this.clock);
    this.clock = setTimeout(() => void this.stop(), this.createdAt + this.timeout - Date.now()).unref();
  }
}
