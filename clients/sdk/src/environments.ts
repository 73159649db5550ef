import {
  CreateEnvironment,
  type CreateEnvironmentInput,
  DeactivateEnvironment,
  type Environment,
  type EnvironmentProbe,
  GetEnvironment,
  ListEnvironments,
  ListProviders,
  ProbeEnvironment,
  type Provider,
  SetDefaultEnvironment,
  SetSessionEnvironment,
  UpdateEnvironment,
  type UpdateEnvironmentInput,
} from "./generated.ts";
import type { Transport } from "./transport.ts";

export interface Environments {
  /** The built-in ones first, then the project's own by name. */
  list(): Promise<readonly Environment[]>;
  get(name: string): Promise<Environment | null>;
  /** What an environment can stand on, as the workers have it. */
  providers(): Promise<readonly Provider[]>;
  create(input: CreateEnvironmentInput): Promise<Environment>;
  /** What is absent stays as it is. Tasks that have begun keep the revision that they began with. */
  update(name: string, input: UpdateEnvironmentInput): Promise<Environment>;
  /** It takes no more tasks. */
  deactivate(name: string): Promise<Environment>;
  /** Has a live worker make a sandbox of it; waits for the answer, at most a minute. */
  probe(name: string): Promise<EnvironmentProbe>;
  /** For the project's tasks that name none; null: `isolate`. Answers the name. */
  setDefault(name: string | null): Promise<string>;
  /** For a session's tasks that name none; null: the project's default. Answers the name of what they get now. */
  setForSession(session: string, name: string | null): Promise<string>;
}

export function createEnvironments({ patiently, once }: Transport): Environments {
  return {
    list: async () => (await patiently(ListEnvironments, {})).environments,
    get: async (name) => (await patiently(GetEnvironment, { name })).environment,
    providers: async () => (await patiently(ListProviders, {})).providers,
    create: async (input) => (await once(CreateEnvironment, { input })).createEnvironment,
    update: async (name, input) => (await once(UpdateEnvironment, { name, input })).updateEnvironment,
    deactivate: async (name) => (await patiently(DeactivateEnvironment, { name })).deactivateEnvironment,
    probe: async (name) => (await once(ProbeEnvironment, { name })).probeEnvironment,
    setDefault: async (name) =>
      (await patiently(SetDefaultEnvironment, { name })).setDefaultEnvironment.defaultEnvironment,
    setForSession: async (session, name) =>
      (await patiently(SetSessionEnvironment, { session, name })).setSessionEnvironment.name,
  };
}
