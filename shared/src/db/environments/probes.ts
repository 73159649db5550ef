import { sql } from "kysely";
import { newId } from "../../contracts/index.ts";
import type { EnvironmentDefinition } from "../../domain/index.ts";
import type { Database } from "../database.ts";

/** What a worker found out about an environment. `isolation` is the provider's report, where it is available. */
export interface ProbeAnswer {
  readonly available: boolean;
  readonly reason: string | null;
  readonly isolation: unknown;
}

export interface AskedProbe {
  readonly id: string;
  readonly projectId: string;
  readonly definition: EnvironmentDefinition;
}

/** A question to the workers that have the provider. */
export async function askProbe(db: Database, projectId: string, definition: EnvironmentDefinition): Promise<string> {
  const id = newId();
  await sql`delete from environment_probes where asked_at < now() - interval '1 day'`.execute(db);
  await db
    .insertInto("environment_probes")
    .values({ id, project_id: projectId, provider: definition.provider, definition: JSON.stringify(definition) })
    .execute();
  return id;
}

/** Takes the questions that nobody has taken, while somebody still waits for the answer. */
export async function takeProbes(
  db: Database,
  { workerId, providers, withinMs }: { workerId: string; providers: readonly string[]; withinMs: number },
): Promise<AskedProbe[]> {
  const { rows } = await sql<{ id: string; project_id: string; definition: string }>`
    update environment_probes p set worker_id = ${workerId}, taken_at = now()
    from (
      select id from environment_probes
      where worker_id is null and provider = any(${providers}::text[])
        and asked_at > now() - ${withinMs} * interval '1 millisecond'
      for update skip locked
    ) free
    where p.id = free.id
    returning p.id, p.project_id, p.definition
  `.execute(db);
  return rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    definition: JSON.parse(row.definition) as EnvironmentDefinition,
  }));
}

export async function answerProbe(db: Database, id: string, answer: ProbeAnswer): Promise<void> {
  await db
    .updateTable("environment_probes")
    .set({ result: JSON.stringify(answer) })
    .where("id", "=", id)
    .execute();
}

export async function readProbe(
  db: Database,
  id: string,
): Promise<{ workerId: string | null; answer: ProbeAnswer | null }> {
  const row = await db
    .selectFrom("environment_probes")
    .select(["worker_id", "result"])
    .where("id", "=", id)
    .executeTakeFirst();
  return {
    workerId: row?.worker_id ?? null,
    answer: row?.result ? (JSON.parse(row.result) as ProbeAnswer) : null,
  };
}
