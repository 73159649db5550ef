import { randomBytes } from "node:crypto";
import { newId } from "../src/contracts/index.ts";
import { type Database, insertProject, type NewTask, openDatabase } from "../src/db/index.ts";

/** A small task as the gateway would insert it. */
export function newTask(projectId: string, fields: Partial<NewTask> = {}): NewTask {
  return {
    id: newId(),
    projectId,
    batchId: null,
    retryOf: null,
    submittedBy: null,
    language: "TYPESCRIPT",
    environment: "isolate",
    environmentId: null,
    provider: "isolate",
    code: "return 1 + 1",
    input: null,
    session: null,
    priority: 0,
    timeoutMs: null,
    queueTtlMs: null,
    maxToolCalls: null,
    replayable: true,
    runAt: null,
    idempotencyKey: null,
    fingerprint: null,
    seed: randomBytes(32),
    dependencies: null,
    labels: [],
    files: [],
    ...fields,
  };
}

export async function openTestDatabase(url: string): Promise<{ db: Database; projectId: string }> {
  const db = openDatabase({ url, poolSize: 4, program: "airlock-test", onError: () => undefined });
  const project = await insertProject(db, "test");
  return { db, projectId: project.id };
}
