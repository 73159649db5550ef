import type { SandboxLimits } from "@airlock/shared/domain";
import type { ContainerCreateOptions } from "dockerode";
import { KEEPER } from "./keeper.ts";

/** What makes one container as good as another: those that differ in it are never taken for each other. */
export interface ContainerKind {
  readonly image: string;
  readonly runtime: "runc" | "runsc";
  /** What the engine calls the runtime; null: its default. */
  readonly engineRuntime: string | null;
  readonly uid: number;
  readonly limits: SandboxLimits;
}

/** Where layers are that the guest may only read. */
export const PACKAGES = "/packages";
const PACKAGE_FILES = 500_000;

export const WORKER_LABEL = "airlock.worker";
/** Seconds since 1970: nobody takes it from its pool after this. */
export const EXPIRY_LABEL = "airlock.pool-until";

const MiB = 1024 * 1024;
/** gVisor's own threads count, several for each process of the guest; without room for them it dies with exit code 2. */
const GVISOR_THREADS = 256;
/** Of each folder beside the work area; all of them are memory of the guest's. */
const SCRATCH_BYTES = 64 * MiB;
const SCRATCH_FILES = 2048;

/** Nothing of the host is in it: no bind mount, no volume, no device, no network. */
export function containerSpec(kind: ContainerKind, labels: Record<string, string>): ContainerCreateOptions {
  const { limits, uid } = kind;
  const own = `uid=${uid},gid=${uid},nosuid,nodev`;
  const scratchBytes = Math.min(SCRATCH_BYTES, Math.floor(limits.memoryBytes / 4));
  const scratch = `rw,${own},size=${scratchBytes},nr_inodes=${SCRATCH_FILES}`;
  return {
    Image: kind.image,
    Cmd: ["/bin/sh", "-c", KEEPER],
    Entrypoint: [],
    User: `${uid}:${uid}`,
    WorkingDir: "/",
    Hostname: "sandbox",
    Labels: labels,
    Tty: false,
    OpenStdin: true,
    // The agent ends itself when nobody is at the other end any more.
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: true,
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...(kind.engineRuntime !== null && { Runtime: kind.engineRuntime }),
      NetworkMode: "none",
      Init: true,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      PidsLimit: limits.pids + (kind.runtime === "runsc" ? GVISOR_THREADS : 0),
      NanoCpus: Math.round(limits.cpus * 1e9),
      IpcMode: "private",
      Ulimits: [
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "nofile", Soft: 4096, Hard: 4096 },
      ],
      Tmpfs: {
        "/work": `rw,exec,${own},mode=0755,size=${limits.diskBytes},nr_inodes=${limits.files}`,
        "/home/guest": `${scratch},exec,mode=0755`,
        "/tmp": `${scratch},exec,mode=1777`,
        "/dev/shm": `${scratch},noexec,mode=1777`,
        // Filled by root before the program starts. Too much of it is to be refused, not to starve the guest of memory.
        [PACKAGES]: `rw,exec,nosuid,nodev,uid=0,gid=0,mode=0755,size=${Math.floor(limits.memoryBytes / 2)},nr_inodes=${PACKAGE_FILES}`,
        "/agent": `rw,noexec,${own},mode=0755,size=${4 * MiB},nr_inodes=16`,
      },
      // Its output is the guest channel: kept nowhere.
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no" },
    },
  };
}
