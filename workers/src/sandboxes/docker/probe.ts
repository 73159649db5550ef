import { DEFAULT_SANDBOX_LIMITS, type SandboxLimits } from "@airlock/shared/domain";
import type Docker from "dockerode";
import type { ProbeResult } from "../port.ts";
import type { Agent } from "./agents.ts";
import { dockerConfig, type Runtime, RUNTIMES } from "./config.ts";
import type { ContainerKind } from "./container-spec.ts";
import type { SandboxContainer } from "./container.ts";
import { reasonOf, statusOf } from "./engine.ts";
import { GuestTransport } from "./guest-transport.ts";
import { LOOK, takeDisk, takeFiles, takeMemory, takeProcesses } from "./probe-programs.ts";

interface Probing {
  readonly docker: Docker;
  readonly socket: string | null;
  readonly image: string;
  make(kind: ContainerKind): Promise<SandboxContainer>;
}

export interface Measured {
  readonly result: ProbeResult;
  /** Each runtime of the engine: null, or why it is refused. */
  readonly runtimes: ReadonlyMap<Runtime, string | null>;
}

type Walls = Readonly<Record<string, boolean>>;

const MiB = 1024 * 1024;
/** gVisor itself has some 30 threads, which count. */
const SMALL: SandboxLimits = { ...DEFAULT_SANDBOX_LIMITS, memoryBytes: 96 * MiB, pids: 96, diskBytes: 8 * MiB, files: 64 };
const PATIENCE_MS = 60_000;
const MUST: Readonly<Record<Runtime, readonly string[]>> = {
  runc: ["memory", "pids", "disk", "files", "network", "readOnlyRoot", "capabilities", "noNewPrivileges", "seccomp"],
  // gVisor's kernel answers system calls itself, and its /proc says nothing of two of them.
  runsc: ["memory", "pids", "disk", "network", "readOnlyRoot", "capabilities"],
};

/** Runs guests against every limit, in each runtime that the engine has: what was not seen to hold is not claimed. */
export async function probeDocker(probing: Probing): Promise<Measured> {
  const { docker, socket, image } = probing;
  const none = (reason: string): Measured => ({ result: { available: false, reason }, runtimes: new Map() });
  if (socket === null) return none("no engine's socket is known: AIRLOCK_DOCKER_SOCKET names Docker's or Podman's");
  try {
    const [{ Runtimes = {} }, { Version }] = await Promise.all([docker.info(), docker.version()]);
    await docker.getImage(image).inspect();
    const runtimes = new Map<Runtime, string | null>();
    const enforced: Record<string, unknown> = { engine: Version };
    for (const runtime of RUNTIMES) {
      if (runtime === "runsc" && !("runsc" in Runtimes)) {
        runtimes.set(runtime, "the engine has no runtime of this name");
        continue;
      }
      const walls = await measure(probing, runtime).catch((error: unknown) => reasonOf(error));
      runtimes.set(runtime, judge(runtime, walls));
      if (runtime === "runc" && typeof walls !== "string") Object.assign(enforced, walls);
      else enforced[runtime] = typeof walls === "string" ? walls : { level: "gvisor", ...walls };
    }
    const refused = runtimes.get("runc") ?? null;
    if (refused !== null) return none(refused);
    return { result: { available: true, isolation: { provider: "docker", level: "container", enforced }, image: null }, runtimes };
  } catch (error) {
    if (statusOf(error) === 404) return none(`the engine has no image "${image}": npm run sandbox-image makes it`);
    return none(`the engine at ${socket} does not answer: ${reasonOf(error)}`);
  }
}

function judge(runtime: Runtime, walls: Walls | string): string | null {
  if (typeof walls === "string") return walls;
  const broken = MUST[runtime].filter((wall) => walls[wall] !== true);
  return broken.length === 0 ? null : `these did not hold: ${broken.join(", ")}`;
}

async function measure({ image, make }: Probing, runtime: Runtime): Promise<Walls> {
  const kind = { image, runtime, uid: dockerConfig.parse({}).uid };
  const ask = async (program: string, limits: SandboxLimits) => {
    const container = await make({ ...kind, limits });
    try {
      return await run(container, program);
    } finally {
      await container.remove();
    }
  };
  const holds = async (program: string): Promise<boolean> => {
    const said = await ask(program, SMALL);
    if (!said.has("begun")) throw new Error(`a guest under ${runtime} did not run`);
    return !said.has("taken");
  };
  const seen = await ask(LOOK, DEFAULT_SANDBOX_LIMITS);
  if (!seen.has("looked")) throw new Error(`a guest under ${runtime} did not run`);
  return {
    ...lookAt(seen),
    memory: await holds(takeMemory(4 * SMALL.memoryBytes)),
    pids: await holds(takeProcesses(4 * SMALL.pids)),
    disk: await holds(takeDisk(2 * SMALL.diskBytes)),
    files: await holds(takeFiles(2 * SMALL.files)),
  };
}

function lookAt(seen: ReadonlyMap<string, readonly string[]>): Walls {
  const is = (what: string, value: RegExp) => seen.get(what)?.every((text) => value.test(text)) === true;
  return {
    capabilities: is("CapEff", /^0+$/) && is("CapBnd", /^0+$/),
    noNewPrivileges: is("NoNewPrivs", /^1$/),
    seccomp: is("Seccomp", /^2$/),
    unprivileged: is("uid", /^[1-9]/),
    network: is("interface", /^lo:$/) && !seen.has("route"),
    readOnlyRoot: !seen.has("writable"),
    noEngineSocket: !seen.has("socket"),
    cpu: is("cpu", /^\d+$/),
  };
}

/** What a program said on its channel: the first word of each line, and what followed it. */
async function run(container: SandboxContainer, program: string): Promise<Map<string, string[]>> {
  const agent: Agent = { command: "sh", file: "probe.sh", source: () => program };
  const transport = new GuestTransport(container, agent);
  let text = "";
  transport.listen({ data: (piece) => void (text += piece.toString()), raw: () => {} });
  const timer = setTimeout(() => transport.kill(), PATIENCE_MS);
  await transport.ended;
  clearTimeout(timer);
  const said = new Map<string, string[]>();
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [what = "", ...rest] = line.split(" ");
    said.set(what, [...(said.get(what) ?? []), rest.join(" ")]);
  }
  return said;
}
