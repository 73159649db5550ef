import { listProviders, type ProviderRow } from "@airlock/shared/db";
import { answerFault, ApiError, type EnvironmentDefinition, environmentDefinition } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import { Faults } from "../faults.ts";

/** A definition as a caller gives it; what is absent or null gets its default, `languages` all that the provider runs. */
export type GivenDefinition = { readonly provider: string } & Readonly<Record<string, unknown>>;

/** Judged by the manifest that a worker has published of the provider. */
export async function checkDefinition(app: Pick<App, "db">, given: GivenDefinition): Promise<EnvironmentDefinition> {
  const provider = await requireProvider(app, given.provider);
  const parsed = environmentDefinition.safeParse({ languages: provider.capabilities.languages, ...present(given) });
  if (!parsed.success) {
    const faults = new Faults();
    for (const { path, message } of parsed.error.issues) faults.add(path.join("."), message);
    faults.throwIfAny();
    throw new Error("a definition was refused without a fault");
  }
  checkAgainstProvider(provider, parsed.data);
  return parsed.data;
}

/** What its provider has to say about it; `at` stands before the names of fields. */
export function checkAgainstProvider(provider: ProviderRow, definition: EnvironmentDefinition, at = ""): void {
  const faults = new Faults();
  checkConfig(provider, definition, at, faults);
  checkCapabilities(provider, definition, at, faults);
  faults.throwIfAny();
}

async function requireProvider({ db }: Pick<App, "db">, name: string): Promise<ProviderRow> {
  const providers = await listProviders(db);
  const provider = providers.find((known) => known.name === name);
  if (provider) return provider;
  const known = providers.map((one) => one.name).join(", ");
  const advice = known === "" ? "no worker has told of any yet; start one" : `the workers have: ${known}`;
  throw new ApiError("BAD_INPUT", `provider: there is no provider ${JSON.stringify(name.slice(0, 64))}; ${advice}`);
}

function checkConfig(
  { name, configSchema }: ProviderRow,
  { config }: EnvironmentDefinition,
  at: string,
  faults: Faults,
): void {
  const fault = answerFault(JSON.parse(configSchema), config);
  if (fault !== null) faults.add(`${at}config`, `does not fit the provider "${name}": ${fault}`);
}

/** Refused rather than ignored. */
function checkCapabilities(
  { name, capabilities }: ProviderRow,
  definition: EnvironmentDefinition,
  at: string,
  faults: Faults,
): void {
  for (const language of definition.languages) {
    if (capabilities.languages.includes(language)) continue;
    faults.add(
      `${at}languages`,
      `the provider "${name}" cannot run ${language}; it runs: ${capabilities.languages.join(", ")}`,
    );
  }
  if (definition.leasePolicy === "RETAIN_ON_FAILURE" && !capabilities.retains) {
    faults.add(`${at}leasePolicy`, `the provider "${name}" cannot keep a sandbox after its task; use EPHEMERAL`);
  }
  if (definition.leasePolicy === "REUSE_BY_SESSION" && !capabilities.reuses) {
    faults.add(`${at}leasePolicy`, `the provider "${name}" cannot use a sandbox again; use EPHEMERAL`);
  }
  if (capabilities.workArea) return;
  const advice = `needs a work area, which the provider "${name}" does not have; leave it out`;
  for (const limit of Object.keys(definition.limits)) {
    if (limit !== "memoryBytes") faults.add(`${at}limits.${limit}`, advice);
  }
  if (definition.provision !== null) faults.add(`${at}provision`, advice);
  if (definition.repository !== null) faults.add(`${at}repository`, advice);
  if (Object.keys(definition.dependencies).length > 0) faults.add(`${at}dependencies`, advice);
}

/** Null is GraphQL's way of leaving a thing out; a provider's configuration may mean something by it. */
function present(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([key, value]) => [
        key,
        key === "limits" || key === "repository" ? present(value as Record<string, unknown>) : value,
      ]),
  );
}
