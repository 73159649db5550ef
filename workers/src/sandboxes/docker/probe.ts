import { DEFAULT_SANDBOX_LIMITS, type Language, type SandboxLimits } from "@airlock/shared/domain";
import type Docker from "dockerode";
import type { ProbeResult } from "../port.ts";
import { type Agent, ALL_PROGRAMS, languagesWith } from "./agents.ts";
import type { Runtime } from "./config.ts";
import type { ContainerKind } from "./container-spec.ts";
import type { SandboxContainer } from "./container.ts";
import { GuestTransport } from "./guest-transport.ts";
import { LOOK, TAKE_CPU, takeDisk, takeFiles, takeMemory, takeProcesses } from "./probe-programs.ts";

export interface Probing {
  readonly docker: Docker;
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
/** So little that any busy loop is held back, also on a machine with much to do. */
const SLOW_CPUS = 0.1;
const PATIENCE_MS = 60_000;
const MUST: Readonly<Record<Runtime, readonly string[]>> = {
  runc: [
    "memory",
    "pids",
    "cpu",
    "disk",
    "files",
    "network",
    "readOnlyRoot",
    "capabilities",
    "noNewPrivileges",
    "seccomp",
  ],
  // gVisor's kernel answers system calls itself: its /proc says nothing of two of them, it counts no inodes, and user
  // namespaces that a guest makes are none of this machine's. Where it is not the engine's to bound its share of a
  // processor (rootless), the report says so.
  runsc: ["memory", "pids", "disk", "network", "readOnlyRoot", "capabilities"],
};

/** What is known of an image under a runtime. */
export type DockerProof = ProbeResult & { readonly languages?: readonly Language[] };

/** Runs guests against every limit: what was not seen to hold is not claimed. `name` is what people call the image. */
export async function probeDocker(
  { docker, make }: Probing,
  kind: Omit<ContainerKind, "limits">,
  name: string,
): Promise<DockerProof> {
  const { image, runtime, engineRuntime } = kind;
  const none = (reason: string): DockerProof => ({ available: false, reason });
  const [{ Runtimes = {} }, { Version }] = await Promise.all([docker.info(), docker.version()]);
  if (engineRuntime !== null && !(engineRuntime in Runtimes))
    return none(`the engine has no runtime "${engineRuntime}"`);
  const { walls, programs } = await measure(make, kind);
  const broken = MUST[runtime].filter((wall) => walls[wall] !== true);
  if (broken.length > 0) return none(`under ${runtime} these did not hold: ${broken.join(", ")}`);
  const languages = languagesWith(programs);
  if (languages.length === 0) return none(`the image "${name}" has none of: ${ALL_PROGRAMS.join(", ")}`);
  const level = runtime === "runsc" ? "gvisor" : "container";
  const enforced = { ...walls, engine: Version, runtime, image: name, imageId: image, languages };
  return { available: true, isolation: { provider: "docker", level, enforced }, image: null, languages };
}

async function measure(
  make: Probing["make"],
  kind: Omit<ContainerKind, "limits">,
): Promise<{ walls: Walls; programs: readonly string[] }> {
  const { runtime } = kind;
  const within = async <T>(limits: SandboxLimits, use: (container: SandboxContainer) => Promise<T>): Promise<T> => {
    const container = await make({ ...kind, limits });
    try {
      return await use(container);
    } finally {
      await container.remove();
    }
  };
  const ask = (program: string, limits: SandboxLimits) => within(limits, (container) => run(container, program));
  const holds = async (program: string): Promise<boolean> => {
    const said = await ask(program, SMALL);
    if (!said.has("begun")) throw new Error(`a guest under ${runtime} did not run`);
    return !said.has("taken");
  };
  const slowed = within({ ...SMALL, cpus: SLOW_CPUS }, async (container) => {
    await run(container, TAKE_CPU);
    return (await container.throttledPeriods()) > 0;
  });
  // Side by side: each waits more than it works.
  const [seen, memory, pids, disk, files, cpu] = await Promise.all([
    ask(LOOK, DEFAULT_SANDBOX_LIMITS),
    holds(takeMemory(4 * SMALL.memoryBytes)),
    holds(takeProcesses(4 * SMALL.pids)),
    holds(takeDisk(2 * SMALL.diskBytes)),
    holds(takeFiles(2 * SMALL.files)),
    slowed,
  ]);
  if (!seen.has("looked")) throw new Error(`a guest under ${runtime} did not run`);
  // Not every engine tells how often it held a container back; where the guest sees its share, that will do.
  const share = seen.get("cpu")?.every((quota) => /^\d+$/.test(quota)) === true;
  const walls = { ...lookAt(seen), memory, pids, disk, files, cpu: cpu || share };
  return { walls, programs: seen.get("program") ?? [] };
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
    userNamespaces: is("namespace", /^refused$/),
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
