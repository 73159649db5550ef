import { type EnvironmentRow, insertEnvironment } from "@airlock/shared/db";
import { environmentDefinition } from "@airlock/shared/domain";
import type { z } from "zod";
import type { TestWorker } from "./worker.ts";

/** An environment of the test's project, on the scripted provider. */
export async function makeEnvironment(
  { context, projectId }: TestWorker,
  name: string,
  definition: Partial<z.input<typeof environmentDefinition>> = {},
): Promise<EnvironmentRow> {
  const parsed = environmentDefinition.parse({ provider: "scripted", languages: ["JAVASCRIPT"], ...definition });
  const made = { projectId, name, source: "API", definition: parsed, createdBy: "test" } as const;
  const row = await insertEnvironment(context.db, made);
  if (row === null) throw new Error("the name is taken");
  return row;
}

/** What a task of this environment has. */
export function inEnvironment(row: EnvironmentRow) {
  return { environment: row.name, environmentId: row.id, provider: row.provider, language: "JAVASCRIPT" } as const;
}
