import { topics } from "@airlock/shared/contracts";
import { askProbe, audit, type Caller, listProviders, type ProbeAnswer, readProbe } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import { notFound } from "../not-found.ts";
import { findEnvironmentView } from "./view.ts";

/** Proving may start a container or a remote machine. */
export const PROBE_TIMEOUT_MS = 60_000;
/** How long a lost message can delay the answer. */
const LOOK_MS = 500;

export interface Probed extends ProbeAnswer {
  readonly workerId: string | null;
}

/** Has a live worker make a sandbox of this environment and run a program in it. */
export async function probeEnvironment(app: App, caller: Caller, name: string): Promise<Probed> {
  const view = await findEnvironmentView(app, caller, name);
  if (view === null) throw notFound("environment");
  const { definition } = view;
  const provider = (await listProviders(app.db)).find((known) => known.name === definition.provider);
  if (!provider || provider.workers.length === 0) {
    const why = provider?.reasons.join("; ") ?? "";
    const reason = `no live worker has the provider "${definition.provider}"${why === "" ? "" : `: ${why}`}`;
    return { available: false, reason, isolation: null, workerId: null };
  }
  const id = await askProbe(app.db, caller.projectId, definition);
  const answer = await untilAnswered(app, id);
  const { projectId, keyId } = caller;
  const data = { name, revision: view.revision, available: answer.available, reason: answer.reason };
  await audit(app.db, { projectId, actor: `key:${keyId}`, action: "environment.probed", subject: id, data });
  return answer;
}

async function untilAnswered(app: App, id: string): Promise<Probed> {
  let answered: () => void = () => {};
  const unsubscribe = await app.bus.subscribe(topics.probed, (ids) => {
    if (ids.includes(id)) answered();
  });
  try {
    await app.bus.publish(topics.probes, [id]).catch((error: unknown) => {
      app.log.warn({ err: error }, "could not tell the workers of a probe; they look by themselves");
    });
    const until = Date.now() + PROBE_TIMEOUT_MS;
    while (Date.now() < until) {
      const { workerId, answer } = await readProbe(app.db, id);
      if (answer !== null) return { ...answer, workerId };
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LOOK_MS);
        answered = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    await unsubscribe();
  }
  throw new ApiError("UNAVAILABLE", `no worker answered within ${PROBE_TIMEOUT_MS / 1000} s; try again`);
}
