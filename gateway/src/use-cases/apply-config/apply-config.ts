import type { LoadedConfig } from "@airlock/shared/config";
import {
  audit,
  beginPolicyChange,
  type Database,
  ensureBootstrapProject,
  findProject,
  rejudge,
  retryDeadlocks,
  type Settled,
} from "@airlock/shared/db";
import { sql } from "kysely";
import type { App } from "../../context.ts";
import { announceRejudged } from "../approvals/rejudge.ts";
import { announceEnvironments } from "../environments/change.ts";
import { applyEnvironments } from "./environments.ts";
import { applyPolicies } from "./policies.ts";
import { applySettings } from "./settings.ts";

/** Spells "CONF". */
const CONFIG_LOCK = 0x434f4e46;
/**
 * Makes a project what the file says: all or nothing, and a second time nothing. What vanished from the file is removed
 * or deactivated; what the API made stays, unless the file names it.
 */
export async function applyConfig(app: App, { file, config }: LoadedConfig): Promise<void> {
  const project =
    config.project === null ? await ensureBootstrapProject(app.db) : await findProject(app.db, config.project);
  if (project === null) throw new Error(`${file}: project: there is no project ${config.project}`);
  const projectId = project.id;
  const { changes, rejudged } = await retryDeadlocks(() =>
    app.db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(${CONFIG_LOCK})`.execute(tx);
      const environments = await applyEnvironments(tx, projectId, config).catch(naming(file));
      const settings = await applySettings(tx, projectId, config).catch(naming(file));
      const policies = await applyPolicies(tx, projectId, config);
      const changes = [...environments, ...settings, ...policies.changes];
      for (const change of changes) await audit(tx, { projectId, actor: "system", ...change });
      return { changes, rejudged: await rejudgeAll(tx, projectId, policies.patterns) };
    }),
  );
  if (changes.length > 0) {
    app.log.info({ file, projectId, changes: changes.map(({ action, subject }) => `${action} ${subject}`) }, "applied");
    await announceEnvironments(app, projectId);
  }
  if (rejudged !== null) announceRejudged(app.announcer, projectId, rejudged);
}

async function rejudgeAll(tx: Database, projectId: string, patterns: readonly string[]): Promise<Settled[] | null> {
  if (patterns.length === 0) return null;
  await beginPolicyChange(tx, projectId);
  return rejudge(tx, projectId, patterns);
}

function naming(file: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof Error ? new Error(`${file}: ${error.message}`, { cause: error }) : error;
  };
}
