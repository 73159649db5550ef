import { type Approvals, createApprovals } from "./approvals/index.ts";
import { type Artifacts, createArtifacts } from "./artifacts.ts";
import { type Batches, createBatches } from "./batches/index.ts";
import { DEFAULT_PATIENCE, type Patience } from "./http/backoff.ts";
import { createEnvironments, type Environments } from "./environments.ts";
import { graphqlUrl } from "./http/endpoint.ts";
import { createLeases, type Leases } from "./leases.ts";
import { createTasks, type Tasks } from "./tasks/index.ts";
import { createTools, type Tools } from "./tools.ts";
import { createTransport } from "./transport.ts";
import { createWorkers, type Workers } from "./workers.ts";

export interface ClientOptions {
  /** Of the gateway, like `http://127.0.0.1:4001`. */
  readonly url: string;
  readonly key: string;
  readonly patience?: Partial<Patience>;
  /** In place of the platform's own. */
  readonly fetch?: typeof fetch;
}

export interface Client {
  readonly tasks: Tasks;
  readonly batches: Batches;
  readonly approvals: Approvals;
  readonly artifacts: Artifacts;
  readonly tools: Tools;
  readonly workers: Workers;
  readonly environments: Environments;
  readonly leases: Leases;
}

export function createClient(options: ClientOptions): Client {
  const endpoint = {
    url: graphqlUrl(options.url),
    key: options.key,
    // Browsers refuse a fetch that was taken off its window.
    fetch: options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request)),
  };
  const transport = createTransport(endpoint, { ...DEFAULT_PATIENCE, ...options.patience });
  return {
    tasks: createTasks(transport),
    batches: createBatches(transport),
    approvals: createApprovals(transport),
    artifacts: createArtifacts(transport),
    tools: createTools(transport),
    workers: createWorkers(transport),
    environments: createEnvironments(transport),
    leases: createLeases(transport),
  };
}
