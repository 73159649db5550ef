import { type Selectable, sql } from "kysely";
import { newId } from "../contracts/index.ts";
import { inlineContent, inlineWrites, type KeptContent } from "./contents.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

export type ArtifactRow = Selectable<Tables["artifacts"]>;

/** The oldest first, of many tasks at once. */
export async function listArtifactsOf(db: Database, taskIds: readonly string[]): Promise<Map<string, ArtifactRow[]>> {
  const rows = await db
    .selectFrom("artifacts")
    .selectAll()
    .where("task_id", "=", sql<string>`any(${taskIds}::uuid[])`)
    .orderBy("id")
    .execute();
  return Map.groupBy(rows, (row) => row.task_id);
}

export async function findArtifact(db: Database, projectId: string, id: string): Promise<ArtifactRow | null> {
  const row = await db
    .selectFrom("artifacts")
    .selectAll()
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  return row ?? null;
}

/** The newest output of each name that a session's tasks have left, newest first. */
export async function listSessionArtifacts(
  db: Database,
  projectId: string,
  session: string,
  limit: number,
): Promise<ArtifactRow[]> {
  const { rows } = await sql<ArtifactRow>`
    select * from (
      select distinct on (name) * from artifacts
      where project_id = ${projectId} and session = ${session} and direction = 'OUTPUT'
      order by name, created_at desc, id desc
    ) newest order by created_at desc, id desc limit ${limit}
  `.execute(db);
  return rows;
}

export interface NewArtifact {
  readonly projectId: string;
  readonly taskId: string;
  readonly session: string | null;
  readonly name: string;
  readonly direction: "INPUT" | "OUTPUT";
  /** Has been taken in, or is another artifact's of the same project. */
  readonly content: KeptContent;
}

/** Small contents are written with the rows; large ones must be in the store. Answers the ids, in order. */
export async function insertArtifacts(db: Database, artifacts: readonly NewArtifact[]): Promise<string[]> {
  if (artifacts.length === 0) return [];
  const inline = artifacts.flatMap(({ projectId, content: { inline, ...content } }) =>
    inline === null ? [] : [{ projectId, ...content, inline }],
  );
  const ids = artifacts.map(() => newId());
  const contents = artifacts.map((artifact) => artifact.content);
  // The clock, not the transaction's start: the newer of two in one transaction must be the newer one.
  await sql`
    with kept as (${inlineWrites(inline)})
    insert into artifacts (id, project_id, task_id, session, name, direction, size, content_type, sha256, created_at)
    select a.*, clock_timestamp() from unnest(
      ${ids}::uuid[], ${artifacts.map((one) => one.projectId)}::uuid[], ${artifacts.map((one) => one.taskId)}::uuid[],
      ${artifacts.map((one) => one.session)}::text[], ${artifacts.map((one) => one.name)}::text[],
      ${artifacts.map((one) => one.direction)}::text[], ${contents.map((one) => one.size)}::bigint[],
      ${contents.map((one) => one.contentType)}::text[], ${contents.map((one) => one.sha256)}::bytea[]
    ) as a (id, project_id, task_id, session, name, direction, size, content_type, sha256)
  `.execute(db);
  return ids;
}

/** What a task tells about a file that it left. */
export interface ArtifactFacts {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  readonly contentType: string;
}

/** A file whose bytes travel with it, whatever their number: its effect is the transaction's alone. */
export async function insertOutput(
  db: Database,
  file: Pick<NewArtifact, "projectId" | "taskId" | "session" | "name"> & { contentType: string; bytes: Buffer },
): Promise<ArtifactFacts> {
  const { bytes, contentType, ...artifact } = file;
  const content = inlineContent(bytes, contentType);
  const [id = ""] = await insertArtifacts(db, [{ ...artifact, direction: "OUTPUT", content }]);
  return { id, name: file.name, size: bytes.length, sha256: content.sha256.toString("hex"), contentType };
}

/** The files that tasks were submitted with: path and content, which is there already. */
export async function listInputFiles(
  db: Database,
  taskId: string,
): Promise<(KeptContent & { readonly path: string })[]> {
  const rows = await db
    .selectFrom("artifacts")
    .select(["name as path", "size", "sha256", "content_type as contentType"])
    .where("task_id", "=", taskId)
    .where("direction", "=", "INPUT")
    .orderBy("id")
    .execute();
  return rows.map((row) => ({ ...row, inline: null }));
}

/** The same files as another task has, at the same times: what is newest in a session stays so. */
export async function copyArtifacts(db: Database, from: string, to: string): Promise<void> {
  const rows = await db.selectFrom("artifacts").select("id").where("task_id", "=", from).orderBy("id").execute();
  await sql`
    insert into artifacts (id, project_id, task_id, session, name, direction, size, content_type, sha256, created_at)
    select t.now, project_id, ${to}, session, name, direction, size, content_type, sha256, created_at
    from unnest(${rows.map((row) => row.id)}::uuid[], ${rows.map(() => newId())}::uuid[]) as t (was, now)
    join artifacts a on a.id = t.was
  `.execute(db);
}
