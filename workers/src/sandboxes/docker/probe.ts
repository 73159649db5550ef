import { DEFAULT_SANDBOX_LIMITS, type SandboxLimits } from "@airlock/shared/domain";
import type Docker from "dockerode";
import type { ProbeResult } from "../port.ts";
import type { Agent } from "./agents.ts";
import type { Runtime } from "./config.ts";
import type { ContainerKind } from "./container-spec.ts";
import type { SandboxContainer } from "./container.ts";
import { reasonOf, statusOf } from "./engine.ts";
import { GuestTransport } from "./guest-transport.ts";
import { LOOK, takeDisk, takeFiles, takeMemory, takeProcesses } from "./probe-programs.ts";

export interface Probing {
  readonly docker: Docker;
  readonly socket: string | null;
  readonly make: (kind: ContainerKind) => Promise<SandboxContainer>;
}

type Walls = Readonly<Record<string, boolean>>;

const MiB = 1024 * 1024;
const SMALL: SandboxLimits = {
  ...DEFAULT_SANDBOX_LIMITS,
  memoryBytes: 96 * MiB,
  pids: 96,
  diskBytes: 8 * MiB,
  files: 64,
};
const PATIENCE_MS = 60_000;
const MUST: Readonly<Record<Runtime, readonly string[]>> = {
  runc: ["memory", "pids", "disk", "files", "network", "readOnlyRoot", "capabilities", "noNewPrivileges", "seccomp"],
  // gVisor's kernel answers system calls itself: its /proc says nothing of two of them, and it counts no inodes.
  runsc: ["memory", "pids", "disk", "network", "readOnlyRoot", "capabilities"],
};

/** Runs guests against every limit: what was not seen to hold is not claimed. */
export async function probeDocker(
  { docker, socket, make }: Probing,
  { image, runtime, uid }: Omit<ContainerKind, "limits">,
): Promise<ProbeResult> {
  const none = (reason: string): ProbeResult => ({ available: false, reason });
  if (socket === null) return none("no container engine was found: AIRLOCK_DOCKER_SOCKET names Docker's or Podman's");
  try {
    const [{ Runtimes = {} }, { Version }] = await Promise.all([docker.info(), docker.version()]);
    if (runtime !== "runc" && !(runtime in Runtimes)) return none(`the engine has no runtime "${runtime}"`);
    await docker.getImage(image).inspect();
    const walls = await measure(make, { image, runtime, uid });
    const broken = MUST[runtime].filter((wall) => walls[wall] !== true);
    if (broken.length > 0) return none(`under ${runtime} these did not hold: ${broken.join(", ")}`);
    const level = runtime === "runsc" ? "gvisor" : "container";
    const enforced = { ...walls, engine: Version, runtime, image };
    return { available: true, isolation: { provider: "docker", level, enforced }, image: null };
  } catch (error) {
    if (statusOf(error) === 404) return none(`the engine has no image "${image}": npm run sandbox-image makes ours`);
    return none(`the engine at ${socket} cannot be used: ${reasonOf(error)}`);
  }
}

async function measure(make: Probing["make"], kind: Omit<ContainerKind, "limits">): Promise<Walls> {
  const { runtime } = kind;
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
