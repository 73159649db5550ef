import {
  audit,
  type Caller,
  type Database,
  findProject,
  type ProjectRow,
  readProjectEnvironments,
  setDefaultEnvironment as setDefault,
  setSessionEnvironment as setOfSession,
} from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import { configOwned } from "../config-owned.ts";
import { requireName } from "../texts.ts";
import { announceEnvironments } from "./change.ts";
import { chooseEnvironments } from "./choose.ts";
import { type EnvironmentView, findEnvironmentView } from "./view.ts";

/** For tasks that name none, in sessions that have none. Null: `isolate`. */
export async function setDefaultEnvironment(app: App, caller: Caller, name: string | null): Promise<ProjectRow> {
  const { projectId } = caller;
  await write(app, caller, "project.default_environment_set", { name }, async (tx) => {
    await requireActive(tx, projectId, name);
    const project = await findProject(tx, projectId);
    if (project?.configured.includes("default_environment")) throw configOwned("the default environment");
    await setDefault(tx, projectId, name);
  });
  return (await findProject(app.db, projectId)) as ProjectRow;
}

/** For a session's tasks that name none. Null: the project's default. Answers what such a task gets now. */
export async function setSessionEnvironment(
  app: App,
  caller: Caller,
  given: { session: string; name: string | null },
): Promise<EnvironmentView> {
  const { projectId } = caller;
  const session = requireName("session", given.session);
  await write(app, caller, "session.environment_set", { session, name: given.name }, async (tx) => {
    await requireActive(tx, projectId, given.name);
    await setOfSession(tx, { projectId, session, environment: given.name });
  });
  const choice = await chooseEnvironments(app, projectId, [{ session }]);
  const view = await findEnvironmentView(app, caller, choice.nameFor({ session }));
  if (view === null) throw new Error("a chosen environment is gone");
  return view;
}

/** Held until the transaction ends, so that it cannot be deactivated beside it. */
async function requireActive(tx: Database, projectId: string, name: string | null): Promise<void> {
  if (name === null) return;
  await tx.selectFrom("projects").select("id").where("id", "=", projectId).forUpdate().execute();
  const read = (id: string) => readProjectEnvironments(tx, id);
  const source = { db: tx, environments: { of: read, fresh: read } };
  const known = (await chooseEnvironments(source, projectId, [])).find(name);
  if (known === null) {
    throw new ApiError("BAD_INPUT", `name: there is no environment ${JSON.stringify(name.slice(0, 64))}`);
  }
  if (!known.active)
    throw new ApiError("CONFLICT", `name: the environment "${name}" is deactivated; activate it first`);
}

async function write(
  app: App,
  { projectId, keyId }: Caller,
  action: string,
  data: Readonly<Record<string, unknown>>,
  act: (tx: Database) => Promise<void>,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await act(tx);
    await audit(tx, { projectId, actor: `key:${keyId}`, action, subject: projectId, data });
  });
  await announceEnvironments(app, projectId);
}
