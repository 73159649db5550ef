import { createHash } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { Database } from "./database.ts";

/** Bytes that have been taken in: here, or in the artifact store where `inline` is null. */
export interface KeptContent {
  readonly size: number;
  readonly sha256: Buffer;
  readonly contentType: string;
  readonly inline: Buffer | null;
}

/** Bytes that become a row, whatever their number. */
export function inlineContent(bytes: Buffer, contentType: string): KeptContent {
  return { size: bytes.length, sha256: createHash("sha256").update(bytes).digest(), contentType, inline: bytes };
}

/**
 * A part of the statement that refers to the contents. Rows are locked in one order, so that two transactions with the
 * same contents cannot wait for each other.
 */
export function inlineWrites(
  contents: readonly { projectId: string; sha256: Buffer; size: number; inline: Buffer }[],
): RawBuilder<unknown> {
  return sql`
    insert into contents (project_id, sha256, size, inline)
    select distinct on (project_id, sha256) * from unnest(
      ${contents.map((one) => one.projectId)}::uuid[], ${contents.map((one) => one.sha256)}::bytea[],
      ${contents.map((one) => one.size)}::bigint[], ${contents.map((one) => one.inline)}::bytea[]
    ) as c (project_id, sha256, size, inline)
    order by project_id, sha256
    on conflict (project_id, sha256) do update set inline = coalesce(contents.inline, excluded.inline)
  `;
}

/** Before the store gets the bytes. They must be referred to within the hour. */
export async function reserveContent(
  db: Database,
  content: { projectId: string; sha256: Buffer; size: number },
): Promise<void> {
  await sql`
    insert into contents (project_id, sha256, size, stored, check_at)
    values (${content.projectId}, ${content.sha256}, ${content.size}, true, now() + interval '1 hour')
    on conflict (project_id, sha256) do update set stored = true, check_at = excluded.check_at
  `.execute(db);
}

/** Null: the bytes are in the store. */
export async function findInline(db: Database, projectId: string, sha256: Buffer): Promise<Buffer | null> {
  const row = await db
    .selectFrom("contents")
    .select("inline")
    .where("project_id", "=", projectId)
    .where("sha256", "=", sha256)
    .executeTakeFirst();
  return row?.inline ?? null;
}

export interface UnusedContent {
  readonly project_id: string;
  readonly sha256: Buffer;
  readonly stored: boolean;
}

const UNUSED = sql`
  not exists (select from artifacts a where a.project_id = c.project_id and a.sha256 = c.sha256)
  and not exists (select from session_files f where f.project_id = c.project_id and f.sha256 = c.sha256)
`;

/**
 * Locks contents that are due and that nothing refers to: until the transaction ends, nobody can begin to. They are
 * looked for again once they are locked, because the first look may be older than the lock.
 */
export async function lockUnused(
  tx: Database,
  limit: number,
): Promise<{ readonly looked: number; readonly unused: readonly UnusedContent[] }> {
  const { rows } = await sql<UnusedContent>`
    select c.project_id, c.sha256, c.stored from contents c where c.check_at <= now()
    order by c.check_at limit ${limit} for update skip locked
  `.execute(tx);
  if (rows.length === 0) return { looked: 0, unused: [] };
  const due = [rows.map((row) => row.project_id), rows.map((row) => row.sha256)] as const;
  const unused = await sql<UnusedContent>`
    select c.project_id, c.sha256, c.stored from contents c
    where (c.project_id, c.sha256) in (select * from unnest(${due[0]}::uuid[], ${due[1]}::bytea[])) and ${UNUSED}
  `.execute(tx);
  await sql`
    update contents c set check_at = null
    where (c.project_id, c.sha256) in (select * from unnest(${due[0]}::uuid[], ${due[1]}::bytea[])) and not (${UNUSED})
  `.execute(tx);
  return { looked: rows.length, unused: unused.rows };
}

export async function deleteUnused(tx: Database, unused: readonly UnusedContent[]): Promise<void> {
  await sql`
    delete from contents c where (c.project_id, c.sha256) in (
      select * from unnest(${unused.map((one) => one.project_id)}::uuid[], ${unused.map((one) => one.sha256)}::bytea[])
    )
  `.execute(tx);
}
