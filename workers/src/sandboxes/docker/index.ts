import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import { type Lease, LeaseError, type LeaseRequest, type ProbeResult, type SandboxProvider } from "../port.ts";
import { type Agent, agentFor } from "./agents.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { DEFAULT_IMAGE, dockerConfig } from "./config.ts";
import { type ContainerKind, EXPIRY_LABEL, WORKER_LABEL } from "./container-spec.ts";
import { SandboxContainer } from "./container.ts";
import { connectToEngine, listContainers, reasonOf, removeContainer } from "./engine.ts";
import { DockerLease } from "./lease.ts";
import { isStale, leaseName, leaseOf, poolName } from "./names.ts";
import { probeDocker, type Probing } from "./probe.ts";
import { putIn } from "./put-in.ts";
import { WarmPool } from "./warm-pool.ts";

export type { SandboxProvider };

export interface DockerConfig {
  /** The engine's socket, Docker's or Podman's; null: there is none. */
  readonly socket: string | null;
  /** For environments that name none. */
  readonly image?: string;
  /** Written on its containers, for people to read. */
  readonly workerId?: string;
  /** Containers kept ready for each kind that is asked for. */
  readonly warm?: number;
  readonly log?: { warn(fields: object, message: string): void };
}

const DEFAULT_WARM = 2;
const WARM_MS = 5 * 60_000;
/** After this no pool hands a container out any more: twice its age there. */
const EXPIRY_MS = 2 * WARM_MS;

export function createDockerProvider(config: DockerConfig): SandboxProvider {
  const { socket, image = DEFAULT_IMAGE, warm = DEFAULT_WARM, workerId = randomUUID(), log } = config;
  const docker = connectToEngine(socket ?? "/nowhere");
  const leases = new Map<string, DockerLease>();
  /** What was measured of images, runtimes and users; figures of limits change nothing about it. */
  const proofs = new Map<string, ProbeResult>();
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

  const probing: Probing = { docker, socket, make: makeWaiting };

  /** Under the lease's name, by which it is found whatever becomes of this worker. */
  const take = async ({ leaseId }: LeaseRequest, kind: ContainerKind, agent: Agent): Promise<SandboxContainer> => {
    const name = leaseName(leaseId);
    const ready = pool.take(kind, agent);
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
    container.boot(agent);
    return container;
  };

  const environmentOf = (asked: unknown) => {
    const { image: own = image, ...rest } = dockerConfig.parse(asked);
    return { image: own, ...rest };
  };

  const prove = async (asked: unknown): Promise<ProbeResult> => {
    const environment = environmentOf(asked);
    const key = JSON.stringify(environment);
    const result = proofs.get(key) ?? (await probeDocker(probing, environment));
    if (result.available) proofs.set(key, result);
    return result;
  };

  const acquire = async (request: LeaseRequest): Promise<Lease> => {
    if (closed) throw new LeaseError("the provider is closed");
    const kind: ContainerKind = { ...environmentOf(request.config), limits: request.limits };
    const container = await take(request, kind, agentFor(request.language ?? "JAVASCRIPT"));
    try {
      const before = await putIn(container.raw, request.files, request.layers);
      if (closed) throw new LeaseError("the provider is closed");
      const done = () => leases.delete(request.leaseId);
      const lease = new DockerLease(container, request.limits.memoryBytes, before, done);
      leases.set(request.leaseId, lease);
      return lease;
    } catch (error) {
      await container.remove();
      if (error instanceof LeaseError) throw error;
      throw new LeaseError(reasonOf(error), { cause: error });
    }
  };

  return {
    name: "docker",
    capabilities: CAPABILITIES,
    config: dockerConfig,
    probe: () => prove({}),
    prove,
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
