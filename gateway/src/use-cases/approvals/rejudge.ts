import { beginPolicyChange, rejudge, retryDeadlocks, type Settled } from "@airlock/shared/db";
import type { Announcer } from "../../announcer.ts";
import type { App } from "../../context.ts";

/** After the commit. */
export function announceRejudged(announcer: Announcer, projectId: string, rejudged: readonly Settled[]): void {
  announcer.announce({ policiesOf: projectId });
  for (const woken of rejudged) announcer.announce({ woken, settled: [...woken.ids].map((id) => [projectId, id]) });
}

/** For policies that were committed a moment ago. */
export async function rejudgeProject(app: App, projectId: string, patterns: readonly string[]): Promise<void> {
  const rejudged = await retryDeadlocks(() =>
    app.db.transaction().execute(async (tx) => {
      await beginPolicyChange(tx, projectId);
      return rejudge(tx, projectId, patterns);
    }),
  );
  announceRejudged(app.announcer, projectId, rejudged);
}
