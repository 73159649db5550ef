import type { Config } from "@airlock/shared/config";
import {
  type Database,
  findProject,
  readProjectEnvironments,
  setConfigured,
  setDefaultEnvironment,
  setRetention,
} from "@airlock/shared/db";
import { BUILT_IN_ENVIRONMENTS } from "@airlock/shared/domain";
import { type Change, CONFIG_ACTOR } from "./change.ts";

/** A setting that vanished from the file gets its default, and is the API's again. */
export async function applySettings(tx: Database, projectId: string, config: Config): Promise<Change[]> {
  const project = await findProject(tx, projectId);
  if (project === null) throw new Error("the project is gone");
  const { defaultEnvironment, limits } = config;
  const was = new Set(project.configured);
  const changes: Change[] = [];
  const now: string[] = [];

  if (defaultEnvironment !== undefined) {
    await requireEnvironment(tx, projectId, defaultEnvironment);
    now.push("default_environment");
  }
  if (defaultEnvironment !== undefined || was.has("default_environment")) {
    const name = defaultEnvironment ?? null;
    if (project.default_environment !== name) {
      await setDefaultEnvironment(tx, projectId, name);
      changes.push({ action: "project.default_environment_set", subject: projectId, data: { name, by: CONFIG_ACTOR } });
    }
  }

  if (limits.retentionDays !== undefined) now.push("retention_days");
  if (limits.retentionDays !== undefined || was.has("retention_days")) {
    const days = limits.retentionDays ?? null;
    if (project.retention_days !== days) {
      await setRetention(tx, projectId, days);
      changes.push({ action: "project.retention", subject: projectId, data: { days, by: CONFIG_ACTOR } });
    }
  }

  await setConfigured(tx, projectId, now);
  return changes;
}

async function requireEnvironment(tx: Database, projectId: string, name: string): Promise<void> {
  const own = (await readProjectEnvironments(tx, projectId)).byName.get(name);
  if (own?.active || (!own && BUILT_IN_ENVIRONMENTS.some((known) => known.name === name))) return;
  throw new Error(`defaultEnvironment: there is no active environment "${name}"`);
}
