import { finished } from "node:stream/promises";
import type { Duplex, Readable } from "node:stream";
import type { TaskErrorCode } from "@airlock/shared/domain";
import Docker from "dockerode";
import { LeaseError } from "../port.ts";
import { WORKER_LABEL } from "./container-spec.ts";
import { Demultiplexer } from "./demultiplex.ts";

/** A container as the engine lists it. */
export interface Listed {
  readonly id: string;
  readonly name: string;
  /** `created`, `running`, `exited`, …: the engine's words. */
  readonly state: string;
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
}

export function connectToEngine(socketPath: string): Docker {
  return new Docker({ socketPath });
}

/** All containers of all workers on this engine. */
export async function listContainers(docker: Docker): Promise<Listed[]> {
  const listed = await docker.listContainers({ all: true, filters: { label: [WORKER_LABEL] } });
  return listed.map((one) => ({
    id: one.Id,
    name: (one.Names[0] ?? "").replace(/^\//, ""),
    state: one.State,
    createdAt: one.Created * 1000,
    labels: one.Labels,
  }));
}

/** With all that is in it; resolves when it is gone, and where it was gone before. */
export async function removeContainer(docker: Docker, idOrName: string): Promise<void> {
  const container = docker.getContainer(idOrName);
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return;
    if (status !== 409) throw error;
    // Somebody else is at it.
    await container.wait({ condition: "removed" }).catch((late: unknown) => {
      if (statusOf(late) !== 404) throw late;
    });
  }
}

/** Runs a command beside the guest and feeds it; answers what it printed. Throws where it failed, with the code given. */
export async function runInside(
  container: Docker.Container,
  command: readonly string[],
  input: Readable | null,
  { user, code = null }: { readonly user?: string; readonly code?: TaskErrorCode | null } = {},
): Promise<Buffer> {
  const exec = await container.exec({
    Cmd: [...command],
    ...(user !== undefined && { User: user }),
    AttachStdin: input !== null,
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream: Duplex = await exec.start({ hijack: true, stdin: input !== null });
  const printed: Record<number, Buffer[]> = { 1: [], 2: [] };
  const demultiplexer = new Demultiplexer(8);
  stream.on("data", (piece: Buffer) => {
    for (const { stream: to, payload } of demultiplexer.read(piece)) printed[to]?.push(payload);
  });
  const heard = finished(stream, { writable: false });
  input?.pipe(stream);
  await heard;
  const { ExitCode } = await exec.inspect();
  if (ExitCode !== 0) {
    const why =
      Buffer.concat(printed[2] ?? [])
        .toString()
        .trim()
        .split("\n")[0] ?? "";
    throw new LeaseError(`${command[0]} ended with exit code ${ExitCode} in the sandbox: ${why}`, { code });
  }
  return Buffer.concat(printed[1] ?? []);
}

export function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number }).statusCode;
}

/** The engine's own words, or what became of it. */
export function reasonOf(error: unknown): string {
  const { json, message } = error as { json?: { message?: string }; message?: string };
  return json?.message ?? message ?? String(error);
}
