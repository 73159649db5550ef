import { createHash } from "node:crypto";
import { type Selectable, sql } from "kysely";
import { newId } from "../contracts/index.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

type Row = Selectable<Tables["artifacts"]>;

/** Without the bytes: a list of files must not read them. */
export type ArtifactRow = Omit<Row, "content">;

const COLUMNS = [
  "id",
  "project_id",
  "task_id",
  "session",
  "name",
  "direction",
  "size",
  "content_type",
  "sha256",
  "created_at",
] as const satisfies (keyof ArtifactRow)[];

/** The oldest first, of many tasks at once. */
export async function listArtifactsOf(db: Database, taskIds: readonly string[]): Promise<Map<string, ArtifactRow[]>> {
  const rows = await db
    .selectFrom("artifacts")
    .select(COLUMNS)
    .where("task_id", "=", sql<string>`any(${taskIds}::uuid[])`)
    .orderBy("id")
    .execute();
  return Map.groupBy(rows, (row) => row.task_id);
}

export async function findArtifactContent(
  db: Database,
  projectId: string,
  id: string,
): Promise<Pick<Row, "name" | "content_type" | "content"> | null> {
  const row = await db
    .selectFrom("artifacts")
    .select(["name", "content_type", "content"])
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  return row ?? null;
}

export interface NewArtifact {
  readonly projectId: string;
  readonly taskId: string;
  readonly session: string | null;
  readonly name: string;
  readonly contentType: string;
  readonly content: Buffer;
}

/** What a task tells about a file that it left. */
export interface ArtifactFacts {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  readonly contentType: string;
}

export async function insertArtifact(db: Database, artifact: NewArtifact): Promise<ArtifactFacts> {
  const { name, contentType, content } = artifact;
  const id = newId();
  const sha256 = createHash("sha256").update(content).digest();
  await db
    .insertInto("artifacts")
    .values({
      id,
      project_id: artifact.projectId,
      task_id: artifact.taskId,
      session: artifact.session,
      name,
      direction: "OUTPUT",
      size: content.length,
      content_type: contentType,
      sha256,
      content,
      // The clock, not the transaction's start: the newer of two in one transaction must be the newer one.
      created_at: sql<Date>`clock_timestamp()`,
    })
    .execute();
  return { id, name, size: content.length, sha256: sha256.toString("hex"), contentType };
}
