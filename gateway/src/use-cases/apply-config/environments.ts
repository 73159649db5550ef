import type { Config } from "@airlock/shared/config";
import {
  type Database,
  type EnvironmentRow,
  findProject,
  insertEnvironment,
  listEnvironments,
  listProviders,
  lockEnvironment,
  reviseEnvironment,
  setEnvironmentActive,
} from "@airlock/shared/db";
import { BUILT_IN_ENVIRONMENTS, canonicalJson, type EnvironmentDefinition } from "@airlock/shared/domain";
import { checkAgainstProvider } from "../environments/check-definition.ts";
import { type Change, CONFIG_ACTOR } from "./change.ts";

type Given = Config["environments"][string];

export async function applyEnvironments(tx: Database, projectId: string, config: Config): Promise<Change[]> {
  const changes: (Change | null)[] = [];
  for (const [name, given] of Object.entries(config.environments)) {
    const definition = await completed(tx, name, given);
    changes.push(await applyOne(tx, projectId, name, definition));
  }
  changes.push(...(await retireVanished(tx, projectId, config)));
  return changes.filter((change) => change !== null);
}

/** Where no worker has told of the provider yet, its own judgement comes with the first task: PROBE_FAILED. */
async function completed(tx: Database, name: string, given: Given): Promise<EnvironmentDefinition> {
  const provider = (await listProviders(tx)).find((known) => known.name === given.provider);
  const builtIn = BUILT_IN_ENVIRONMENTS.find((known) => known.provider === given.provider);
  const languages = given.languages ?? provider?.capabilities.languages ?? builtIn?.languages;
  if (!languages) {
    throw new Error(
      `environments.${name}.languages: name them; no worker has told of the provider "${given.provider}" yet`,
    );
  }
  const definition = { ...given, languages: [...languages] };
  if (provider) checkAgainstProvider(provider, definition, `environments.${name}.`);
  return definition;
}

async function applyOne(
  tx: Database,
  projectId: string,
  name: string,
  definition: EnvironmentDefinition,
): Promise<Change | null> {
  const made = { projectId, name, source: "CONFIG", definition, createdBy: CONFIG_ACTOR } as const;
  const row = await lockEnvironment(tx, projectId, name);
  if (row === null) {
    const inserted = await insertEnvironment(tx, made);
    return inserted && told("environment.created", inserted);
  }
  if (row.provider !== definition.provider) {
    throw new Error(
      `environments.${name}.provider: is "${row.provider}" and cannot change; give the new environment another name`,
    );
  }
  if (canonicalJson(row.definition) !== canonicalJson(definition)) {
    return told("environment.updated", await reviseEnvironment(tx, row, { ...made, active: true }));
  }
  if (row.active && row.source === "CONFIG") return null;
  return told("environment.updated", await setEnvironmentActive(tx, row, { active: true, source: "CONFIG" }));
}

/** Its tasks that have begun run on. The API may take it up again. */
async function retireVanished(tx: Database, projectId: string, config: Config): Promise<Change[]> {
  const project = await findProject(tx, projectId);
  const standard =
    config.defaultEnvironment ??
    (project?.configured.includes("default_environment") ? null : project?.default_environment);
  const changes: Change[] = [];
  for (const row of await listEnvironments(tx, projectId)) {
    if (row.source !== "CONFIG" || Object.hasOwn(config.environments, row.name)) continue;
    if (row.name === standard) {
      throw new Error(`environments: "${row.name}" is missing, and it is the project's default; set another first`);
    }
    changes.push(
      told("environment.deactivated", await setEnvironmentActive(tx, row, { active: false, source: "API" })),
    );
  }
  return changes;
}

function told(action: string, { id, name, revision, active, definition }: EnvironmentRow): Change {
  return { action, subject: id, data: { name, revision, active, definition, by: CONFIG_ACTOR } };
}
