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
  finish(failed: boolean): Promise<void>;
}

/** For whom, and what. */
export interface SandboxWish extends Pick<
  NewLease,
  "taskId" | "fence" | "environment" | "environmentId" | "revision" | "policy"
> {
  readonly request: Omit<LeaseRequest, "leaseId" | "taskId">;
  readonly retainMs: number;
}

export type SandboxParts = Pick<Context, "leases" | "metrics" | "log">;

/** Throws `NoSandbox`. A sandbox that can outlive this worker is recorded before it exists. */
export async function takeSandbox(
  context: SandboxParts,
  provider: SandboxProvider,
  wish: SandboxWish,
): Promise<Sandbox> {
  const id = newId();
  const { outlivesWorker } = provider.capabilities;
  const { request, retainMs, ...owner } = wish;
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
  const lease = await acquire();
  return { lease, finish };

  async function acquire(): Promise<Lease> {
    try {
      return await provider.acquire({ ...request, leaseId: id, taskId: wish.taskId ?? id });
    } catch (error) {
      const reason = messageOf(error);
      context.log.warn({ err: error, provider: provider.name, lease: id }, "no sandbox could be had");
      await end("FAILED", reason);
      throw new NoSandbox(error);
    }
  }

  async function finish(failed: boolean): Promise<void> {
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
