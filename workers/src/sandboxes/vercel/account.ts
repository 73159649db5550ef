import { Sandbox } from "@vercel/sandbox";
import { LeaseError } from "../port.ts";
import type { VercelConfig } from "./config.ts";
import type { VercelCredentials } from "./credentials.ts";
import { faultOf, wordsOf } from "./failures.ts";
import { startCommandsOnce } from "./fetch-once.ts";
import { persist } from "./retry.ts";

const PREFIX = "airlock-";
const TAGS = { airlock: "lease" } as const;
const LEASE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The project at Vercel in which all sandboxes are made. */
export class VercelAccount {
  readonly #access: VercelCredentials & { readonly fetch: typeof fetch };

  constructor(credentials: VercelCredentials, inner: typeof fetch) {
    this.#access = { ...credentials, fetch: startCommandsOnce(inner) };
  }

  /** One-shot: by default a sandbox would be kept when it stops, and run on later. */
  async create(leaseId: string, vcpus: number, config: VercelConfig): Promise<Sandbox> {
    const { image, runtime, timeoutMs, region, networkPolicy } = config;
    const base = { ...this.#access, name: PREFIX + leaseId, tags: TAGS, persistent: false, networkPolicy };
    const size = { resources: { vcpus }, timeout: timeoutMs, ...(region !== undefined && { region }) };
    const source = runtime !== undefined ? { runtime } : image !== undefined ? { image } : {};
    try {
      return await Sandbox.create({ ...base, ...size, ...source });
    } catch (error) {
      throw new LeaseError(`Vercel gives no sandbox: ${wordsOf(error)}`, { cause: error });
    }
  }

  async isRunning(name: string, sessionId: string): Promise<boolean> {
    const found = await Sandbox.get({ ...this.#access, name, resume: false });
    const session = found.currentSession();
    return session.sessionId === sessionId && session.status === "running";
  }

  async check(): Promise<void> {
    await Sandbox.list({ ...this.#access, limit: 1 });
  }

  async leases(): Promise<string[]> {
    const ids: string[] = [];
    const found = await persist(() => Sandbox.list({ ...this.#access, tags: TAGS }));
    for await (const { name } of found) {
      const id = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : "";
      if (LEASE_ID.test(id)) ids.push(id);
    }
    return ids;
  }

  async destroy(leaseId: string): Promise<void> {
    try {
      const name = PREFIX + leaseId;
      const sandbox = await persist(() => Sandbox.get({ ...this.#access, name, resume: false }));
      await this.delete(sandbox);
    } catch (error) {
      if (faultOf(error) !== "gone")
        throw new Error(`Vercel does not delete a sandbox: ${wordsOf(error)}`, { cause: error });
    }
  }

  /** Stopped first: what is billed is a machine that runs. */
  async delete(sandbox: Sandbox): Promise<void> {
    await persist(() => sandbox.currentSession().stop()).catch((error: unknown) => {
      if (faultOf(error) === "passing") throw error;
    });
    await persist(() => sandbox.delete()).catch((error: unknown) => {
      if (faultOf(error) !== "gone") throw error;
    });
  }
}
