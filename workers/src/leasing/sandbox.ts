import { newId } from "@airlock/shared/contracts";
import type { NewLease } from "@airlock/shared/db";
import type { TaskFailure } from "@airlock/shared/domain";
import type { Context } from "../context.ts";
import { type Lease, LeaseError, type LeaseRequest, type SandboxProvider } from "../sandboxes/port.ts";

/** No sandbox could be had; the message is for whoever submitted the task. */
export class NoSandbox extends Error {
  override readonly name = "NoSandbox";
  /** How the task has failed; null: it may be tried again. */
  readonly failure: TaskFailure | null;
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
    const code = cause instanceof LeaseError ? cause.code : null;
    this.failure = code === null ? null : { code, message: this.message };
  }
}

export interface Sandbox {
  readonly lease: Lease;
  /** Gives it back, or keeps it where its policy says so. Never throws: what went wrong is the reaper's. */
  finish(end: Ending): Promise<void>;
}

/** How it ended for whom the sandbox was: `failed`, and whether the program did so `byItself`, returning or failing. */
export interface Ending {
  readonly failed: boolean;
  readonly byItself: boolean;
}

/** Nobody keeps a sandbox after that. */
export const JUST_OVER: Ending = { failed: false, byItself: false };

/** For whom, and what. */
export interface SandboxWish extends Pick<
  NewLease,
  "taskId" | "fence" | "environment" | "environmentId" | "revision" | "policy"
> {
  readonly request: Omit<LeaseRequest, "leaseId" | "taskId">;
  readonly retainMs: number;
  /** May use what its session has left, and leaves it what it used; null: all of it is for this once. */
  readonly session: string | null;
}

export type SandboxParts = Pick<Context, "leases" | "rested" | "metrics" | "log">;

/** Throws `NoSandbox`. A sandbox that can outlive this worker is recorded before it exists. */
export async function takeSandbox(
  context: SandboxParts,
  provider: SandboxProvider,
  wish: SandboxWish,
): Promise<Sandbox> {
  const id = newId();
  const { outlivesWorker } = provider.capabilities;
  const { request, retainMs, session, ...owner } = wish;
  const reuseKey =
    session !== null && outlivesWorker && provider.capabilities.reuses ? reuseKeyOf(provider, wish) : null;
  if (outlivesWorker) {
    await context.leases.begin({ ...owner, id, projectId: request.projectId, provider: provider.name });
  }
  const end = async (state: "RELEASED" | "FAILED" | "RETAINED" | "PENDING_CLEANUP", error: string | null) => {
    context.metrics.leases.inc({ provider: provider.name, state });
    if (!outlivesWorker) return;
    await context.leases
      .end({ id, state, error, retainMs: state === "RETAINED" ? retainMs : null })
      .catch((cause: unknown) => context.log.warn({ err: cause, lease: id }, "the reaper has to end a lease"));
  };
  const asked: LeaseRequest = { ...request, leaseId: id, taskId: wish.taskId ?? id };
  const used = reuseKey === null ? null : await context.rested.take(reuseKey, asked);
  const lease = used ?? (await acquire());
  return { lease, finish };

  async function acquire(): Promise<Lease> {
    try {
      return await provider.acquire(asked);
    } catch (error) {
      const reason = messageOf(error);
      context.log.warn({ err: error, provider: provider.name, lease: id }, "no sandbox could be had");
      await end("FAILED", reason);
      throw new NoSandbox(error);
    }
  }

  async function finish({ failed, byItself }: Ending): Promise<void> {
    // What an earlier task has spoiled would fail every later one of the session.
    const sound = byItself && !(failed && used !== null);
    if (sound && reuseKey !== null && (await context.rested.keep(reuseKey, { id, lease, retainMs }))) {
      return context.metrics.leases.inc({ provider: provider.name, state: "RETAINED" });
    }
    if (failed && wish.policy === "RETAIN_ON_FAILURE" && outlivesWorker && (await retained())) return;
    try {
      await lease.release();
    } catch (error) {
      context.log.warn({ err: error, provider: provider.name, lease: id }, "a sandbox could not be given back");
      return end("PENDING_CLEANUP", messageOf(error));
    }
    await end("RELEASED", null);
  }

  async function retained(): Promise<boolean> {
    if (!lease.retain) return false;
    try {
      await lease.retain();
    } catch (error) {
      context.log.warn({ err: error, provider: provider.name, lease: id }, "a sandbox could not be kept");
      return false;
    }
    await end("RETAINED", null);
    return true;
  }
}

/** Who finds it and for whom it is good: all that made it what it is, but for the files of its tasks. */
function reuseKeyOf({ name }: SandboxProvider, { session, environmentId, revision, request }: SandboxWish): string {
  const { projectId, config, pin, limits, layers } = request;
  return JSON.stringify([name, projectId, session, environmentId, revision, config, pin, limits, layers]);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
