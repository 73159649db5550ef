import { randomUUID } from "node:crypto";
import type { Language } from "@airlock/shared/domain";
import type Docker from "dockerode";
import { type Lease, LeaseError, type LeaseRequest, type ProbeResult, type SandboxProvider } from "../port.ts";
import { type Agent, agentFor } from "./agents.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { DEFAULT_IMAGE, dockerConfig } from "./config.ts";
import { type ContainerKind, EXPIRY_LABEL, WORKER_LABEL } from "./container-spec.ts";
import { SandboxContainer } from "./container.ts";
import { Images } from "./images.ts";
import { connectToEngine, listContainers, reasonOf, removeContainer } from "./engine.ts";
import { DockerLease } from "./lease.ts";
import { isStale, leaseName, leaseOf, poolName } from "./names.ts";
import { type DockerProof, probeDocker, type Probing } from "./probe.ts";
import { putIn } from "./put-in.ts";
import { WarmPool } from "./warm-pool.ts";

export type { SandboxProvider };

export interface DockerConfig {
  /** The engine's socket, Docker's or Podman's; null: there is none. */
  readonly socket: string | null;
  /** For environments that name none. */
  readonly image?: string;
  /** What the engine calls gVisor's runtime. */
  readonly gvisor?: string;
  /** Written on its containers, for people to read. */
  readonly workerId?: string;
  /** Containers kept ready for each kind that is asked for. */
  readonly warm?: number;
  readonly log?: { warn(fields: object, message: string): void };
}

const NO_ENGINE: ProbeResult = {
  available: false,
  reason: "no container engine was found: AIRLOCK_DOCKER_SOCKET names Docker's or Podman's",
};
const DEFAULT_WARM = 2;
const WARM_MS = 5 * 60_000;
/** After this no pool hands a container out any more: twice its age there. */
const EXPIRY_MS = 2 * WARM_MS;

export function createDockerProvider(config: DockerConfig): SandboxProvider {
  const { socket, image = DEFAULT_IMAGE, warm = DEFAULT_WARM, workerId = randomUUID(), gvisor = "runsc", log } = config;
  const docker = connectToEngine(socket ?? "/nowhere");
  const leases = new Map<string, DockerLease>();
  const images = new Images(docker);
  /** What was measured of images, runtimes and users; figures of limits change nothing about it. */
  const proofs = new Map<string, DockerProof>();
  let closed = false;

  const makeWaiting = async (kind: ContainerKind): Promise<SandboxContainer> => {
    const until = Math.ceil((Date.now() + EXPIRY_MS) / 1000);
    const labels = { [WORKER_LABEL]: workerId, [EXPIRY_LABEL]: String(until) };
    return SandboxContainer.create(docker, kind, poolName(randomUUID()), labels);
  };
  const pool = new WarmPool({
    size: socket === null ? 0 : warm,
    maxAgeMs: WARM_MS,
    make: async (kind, agent) => bootWaiting(await makeWaiting(kind), agent),
    onError: (error) => log?.warn({ reason: reasonOf(error) }, "no container can be kept ready"),
  });

  const probing: Probing = { docker, make: makeWaiting };

  /** Under the lease's name, by which it is found whatever becomes of this worker. */
  const take = async (
    { leaseId }: LeaseRequest,
    kind: ContainerKind,
    agent: Agent | null,
  ): Promise<SandboxContainer> => {
    const name = leaseName(leaseId);
    const ready = agent === null ? null : pool.take(kind, agent);
    if (ready !== null) {
      try {
        await ready.raw.rename({ name });
        return ready;
      } catch (error) {
        log?.warn({ reason: reasonOf(error) }, "a container that was kept ready is lost");
        await ready.remove();
      }
    }
    const container = await SandboxContainer.create(docker, kind, name, { [WORKER_LABEL]: workerId });
    if (agent !== null) container.boot(agent);
    return container;
  };

  /** Throws `LeaseError`. */
  const findImage = async (asked: unknown, pin: string | null) => {
    const { image: name = image, ...rest } = dockerConfig.parse(asked);
    const why = pin === null ? "" : " any more with the content that the task began with";
    const found = await images.find(name, pin).catch((error: unknown) => {
      throw new LeaseError(`the engine at ${socket} cannot be used: ${reasonOf(error)}`, { cause: error });
    });
    if (found === null) {
      const message = `the engine has no image "${name}"${why}: npm run sandbox-image makes ours`;
      throw new LeaseError(message, { code: "PROBE_FAILED" });
    }
    const engineRuntime = rest.runtime === "runsc" ? gvisor : null;
    return { name, pin: found.pin, environment: { image: found.id, engineRuntime, ...rest } };
  };

  const prove = async (asked: unknown, pin: string | null): Promise<ProbeResult> => {
    if (socket === null) return NO_ENGINE;
    const { name, environment } = await findImage(asked, pin);
    const key = JSON.stringify(environment);
    const proof = proofs.get(key) ?? (await probeDocker(probing, environment, name));
    if (proof.available) proofs.set(key, proof);
    return proof;
  };

  const acquire = async (request: LeaseRequest): Promise<Lease> => {
    if (closed) throw new LeaseError("the provider is closed");
    const { environment } = await findImage(request.config, request.pin ?? null);
    const kind: ContainerKind = { ...environment, limits: request.limits };
    const languages = proofs.get(JSON.stringify(environment))?.languages ?? CAPABILITIES.languages;
    const { language = "JAVASCRIPT" } = request;
    const container = await take(request, kind, languages.includes(language) ? agentFor(language) : null);
    return furnish(container, request, languages, false);
  };

  /** One that cannot be furnished is removed. Throws `LeaseError`. */
  const furnish = async (
    container: SandboxContainer,
    request: LeaseRequest,
    languages: readonly Language[],
    used: boolean,
  ): Promise<Lease> => {
    try {
      const before = await putIn(container.raw, request.files, used ? [] : request.layers, used);
      if (closed) throw new LeaseError("the provider is closed");
      const lease = new DockerLease(container, {
        memoryBytes: request.limits.memoryBytes,
        languages,
        before,
        done: () => leases.delete(request.leaseId),
        again: (next) => useAgain(container, next, languages),
      });
      leases.set(request.leaseId, lease);
      return lease;
    } catch (error) {
      await container.remove();
      if (error instanceof LeaseError) throw error;
      throw new LeaseError(reasonOf(error), { cause: error });
    }
  };

  /** By its new lease's name before anything of the new task is in it. */
  const useAgain = async (
    container: SandboxContainer,
    request: LeaseRequest,
    languages: readonly Language[],
  ): Promise<Lease> => {
    await container.raw.rename({ name: leaseName(request.leaseId) });
    const { language = "JAVASCRIPT" } = request;
    if (languages.includes(language)) container.boot(agentFor(language));
    return furnish(container, request, languages, true);
  };

  return {
    name: "docker",
    capabilities: CAPABILITIES,
    config: dockerConfig,
    probe: () => prove({}, null).catch((error: unknown) => ({ available: false, reason: reasonOf(error) })),
    pin: async (asked) => (await findImage(asked, null)).pin,
    prove: (asked, _limits, pin) => prove(asked, pin),
    acquire,
    leftovers: () => findLeftovers(docker),
    destroy: (leaseId) => removeContainer(docker, leaseName(leaseId)),
    close: async () => {
      closed = true;
      const ends = [...leases.values()].map((lease) => lease.lose("the provider was closed"));
      await Promise.allSettled([pool.close(), ...ends]);
    },
  };
}

async function bootWaiting(container: SandboxContainer, agent: Agent): Promise<SandboxContainer> {
  container.boot(agent);
  // Whatever comes first says that it is up; it is heard by its guest's transport, too.
  const first = await container.console.read();
  if (first !== null) container.console.unread(first);
  return container;
}

/** Removes, by the way, what waited in the pool of a worker that is no more. */
async function findLeftovers(docker: Docker): Promise<string[]> {
  const listed = await listContainers(docker);
  const stale = listed.filter((one) => leaseOf(one) === null && isStale(one, Date.now()));
  await Promise.all(stale.map(({ id }) => removeContainer(docker, id)));
  return listed.map(leaseOf).filter((leaseId) => leaseId !== null);
}
