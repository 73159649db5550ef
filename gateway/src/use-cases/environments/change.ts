import { topics } from "@airlock/shared/contracts";
import {
  audit,
  type Caller,
  type Database,
  type EnvironmentRow,
  insertEnvironment,
  listEnvironments,
  lockEnvironment,
  reviseEnvironment,
  setEnvironmentActive,
} from "@airlock/shared/db";
import { ApiError, canonicalJson, ENVIRONMENT_BOUNDS, environmentNameFault } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import { configOwned } from "../config-owned.ts";
import { unstorable } from "../texts.ts";
import { checkDefinition, type GivenDefinition } from "./check-definition.ts";

export async function createEnvironment(
  app: App,
  caller: Caller,
  { name, ...given }: GivenDefinition & { readonly name: string },
): Promise<EnvironmentRow> {
  const fault = environmentNameFault(name);
  if (fault !== null) throw new ApiError("BAD_INPUT", `name: ${fault}`);
  const definition = await checkDefinition(app, given);
  const { projectId, keyName: createdBy } = caller;
  return change(app, caller, "environment.created", async (tx) => {
    const { aProject } = ENVIRONMENT_BOUNDS;
    if ((await listEnvironments(tx, projectId)).length >= aProject) {
      throw new ApiError("QUOTA_EXCEEDED", `the project has ${aProject} environments; update one of them instead`);
    }
    const row = await insertEnvironment(tx, { projectId, name, source: "API", definition, createdBy });
    if (row === null) throw new ApiError("CONFLICT", `name: there is an environment "${name}" already; update it`);
    return row;
  });
}

/** What is absent stays as it is. A change of the definition is a new revision; tasks that began keep theirs. */
export async function updateEnvironment(
  app: App,
  caller: Caller,
  name: string,
  { active, ...given }: { readonly active?: boolean | null | undefined } & Readonly<Record<string, unknown>>,
): Promise<EnvironmentRow> {
  return change(app, caller, "environment.updated", async (tx) => {
    const row = await requireOwn(tx, caller.projectId, name);
    const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const definition =
      Object.keys(changes).length === 0
        ? row.definition
        : await checkDefinition({ db: tx }, { ...row.definition, ...changes, provider: row.provider });
    const isActive = active ?? row.active;
    if (!isActive) await refuseDefault(tx, caller.projectId, name);
    if (canonicalJson(definition) === canonicalJson(row.definition)) {
      return isActive === row.active ? row : setEnvironmentActive(tx, row, { active: isActive });
    }
    return reviseEnvironment(tx, row, { definition, active: isActive, createdBy: caller.keyName });
  });
}

/** Refuses tasks from now on, and ends those that wait and have never run; others run on. Twice is no change. */
export async function deactivateEnvironment(app: App, caller: Caller, name: string): Promise<EnvironmentRow> {
  return change(app, caller, "environment.deactivated", async (tx) => {
    const row = await requireOwn(tx, caller.projectId, name);
    await refuseDefault(tx, caller.projectId, name);
    return row.active ? setEnvironmentActive(tx, row, { active: false }) : row;
  });
}

async function requireOwn(tx: Database, projectId: string, name: string): Promise<EnvironmentRow> {
  const row = unstorable(name) === null ? await lockEnvironment(tx, projectId, name) : null;
  if (row === null) {
    const builtIn = environmentNameFault(name)?.includes("built-in");
    if (builtIn) throw new ApiError("CONFLICT", `the environment "${name}" is built in; create one of your own`);
    throw new ApiError("NOT_FOUND", "there is no such environment in this project; check the name");
  }
  if (row.source === "CONFIG") {
    throw configOwned(`the environment "${name}"`);
  }
  return row;
}

async function refuseDefault(tx: Database, projectId: string, name: string): Promise<void> {
  const project = await tx
    .selectFrom("projects")
    .select("default_environment")
    .where("id", "=", projectId)
    .forShare()
    .executeTakeFirst();
  if (project?.default_environment === name) {
    throw new ApiError("CONFLICT", `the environment "${name}" is the project's default; set another default first`);
  }
}

/** The change and its trace are one; then every gateway hears of it. */
async function change(
  app: App,
  caller: Caller,
  action: string,
  act: (tx: Database) => Promise<EnvironmentRow>,
): Promise<EnvironmentRow> {
  const { projectId, keyId } = caller;
  const row = await app.db.transaction().execute(async (tx) => {
    const changed = await act(tx);
    const { name, revision, active, definition } = changed;
    const data = { name, revision, active, definition };
    await audit(tx, { projectId, actor: `key:${keyId}`, action, subject: changed.id, data });
    return changed;
  });
  await announceEnvironments(app, projectId);
  return row;
}

/** This gateway knows at once, others when they hear of it or when their cache lapses. */
export async function announceEnvironments(app: App, projectId: string): Promise<void> {
  app.environments.forget([projectId]);
  try {
    await app.bus.publish(topics.environments, [projectId]);
  } catch (error) {
    app.log.warn({ err: error, projectId }, "could not tell the other gateways of an environment; their caches lapse");
  }
}
