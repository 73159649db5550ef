import { audit, type Caller, findProject, type ProjectRow, setRetention } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { configOwned } from "./config-owned.ts";
import { notFound } from "./not-found.ts";

/** Nobody means centuries. */
const MAX_DAYS = 36_500;

export async function setProjectRetention(app: App, caller: Caller, days: number | null): Promise<ProjectRow> {
  if (days !== null && (days < 1 || days > MAX_DAYS)) {
    throw new ApiError(
      "BAD_INPUT",
      `days: is ${days}; it must be between 1 and ${MAX_DAYS}, or null to keep all tasks`,
    );
  }
  return app.db.transaction().execute(async (tx) => {
    if ((await findProject(tx, caller.projectId))?.configured.includes("retention_days"))
      throw configOwned("the retention");
    await setRetention(tx, caller.projectId, days);
    const entry = { projectId: caller.projectId, actor: `key:${caller.keyId}`, subject: caller.projectId };
    await audit(tx, { ...entry, action: "project.retention", data: { days } });
    const project = await findProject(tx, caller.projectId);
    if (project === null) throw notFound("project");
    return project;
  });
}
