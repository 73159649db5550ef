import { sql } from "kysely";
import type { Database } from "./database.ts";

/** A file of an earlier task of the session, in the work area of a later one. */
export interface SessionFile {
  readonly path: string;
  readonly sha256: Buffer;
  readonly size: number;
}

export interface SessionTask {
  readonly id: string;
  readonly project_id: string;
  readonly session: string | null;
  /** The fence. */
  readonly segments: number;
}

/**
 * What the session's other tasks have left so far, as the first segment found it: every re-run gets the same. `choose`
 * is given the newest file of each path, newest first. Null where the fence does not hold.
 */
export async function pinSessionFiles(
  db: Database,
  task: SessionTask,
  choose: (found: readonly SessionFile[]) => readonly SessionFile[],
): Promise<SessionFile[] | null> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ pinned: boolean }>`
      select session_pinned as pinned from tasks
      where id = ${task.id} and segments = ${task.segments} and status || '' = 'RUNNING' for update
    `.execute(tx);
    const [found] = rows;
    if (found === undefined) return null;
    if (!found.pinned) await pin(tx, task, choose(await newestOutputs(tx, task)));
    const files = tx.selectFrom("session_files").select(["path", "sha256", "size"]);
    return files.where("task_id", "=", task.id).orderBy("path").execute();
  });
}

/** More than anybody may get; the rest of a larger session is too old. */
const MOST = 10_000;

async function newestOutputs(tx: Database, { id, project_id, session }: SessionTask): Promise<SessionFile[]> {
  const { rows } = await sql<SessionFile>`
    select name as path, sha256, size from (
      select distinct on (name) name, sha256, size, created_at, id from artifacts
      where project_id = ${project_id} and session = ${session} and direction = 'OUTPUT' and task_id <> ${id}
      order by name, created_at desc, id desc
    ) newest order by created_at desc, id desc limit ${MOST}
  `.execute(tx);
  return rows;
}

async function pin(tx: Database, { id, project_id }: SessionTask, files: readonly SessionFile[]): Promise<void> {
  await sql`
    with pinned as (
      insert into session_files (task_id, path, project_id, sha256, size)
      select ${id}, f.path, ${project_id}, f.sha256, f.size from unnest(
        ${files.map((file) => file.path)}::text[], ${files.map((file) => file.sha256)}::bytea[],
        ${files.map((file) => file.size)}::bigint[]
      ) as f (path, sha256, size)
    )
    update tasks set session_pinned = true where id = ${id}
  `.execute(tx);
}
