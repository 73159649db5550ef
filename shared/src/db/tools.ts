import { type Selectable, sql } from "kysely";
import type { Database } from "./database.ts";
import type { Tables, ToolMode } from "./tables.ts";

export type ToolRow = Selectable<Tables["tools"]>;

/** What a worker tells about a tool. Schemas are JSON text. */
export interface PublishedTool {
  readonly path: string;
  readonly version: string;
  readonly description: string;
  readonly inputSchema: string;
  readonly outputSchema: string | null;
  readonly mode: ToolMode;
  readonly source: string;
}

export async function publishTools(db: Database, tools: readonly PublishedTool[]): Promise<void> {
  if (tools.length === 0) return;
  await db
    .insertInto("tools")
    .values(
      tools.map((tool) => ({
        path: tool.path,
        version: tool.version,
        description: tool.description,
        input_schema: tool.inputSchema,
        output_schema: tool.outputSchema,
        mode: tool.mode,
        source: tool.source,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["path", "version"]).doUpdateSet((eb) => ({
        description: eb.ref("excluded.description"),
        mode: eb.ref("excluded.mode"),
        source: eb.ref("excluded.source"),
        published_at: sql<Date>`now()`,
      })),
    )
    .execute();
}

/** A worker of the last day has it. */
const PUBLISHED = sql`exists (
  select from workers w where w.tools @> array[t.path || '@' || t.version] and w.last_seen_at > now() - interval '1 day'
)`;

/** The newest version of each tool that a worker of the last day has, by path. */
export async function listTools(db: Database): Promise<ToolRow[]> {
  const { rows } = await sql<ToolRow>`
    select distinct on (t.path) t.* from tools t where ${PUBLISHED} order by t.path, t.published_at desc
  `.execute(db);
  return rows;
}

export async function isPublished(db: Database, path: string): Promise<boolean> {
  const { rows } = await sql`select from tools t where t.path = ${path} and ${PUBLISHED} limit 1`.execute(db);
  return rows.length > 0;
}

/** Whether a live worker has this version of the tool, and the task's provider. */
export async function isOffered(
  db: Database,
  { path, version }: { readonly path: string; readonly version: string | null },
  taskId: string,
  lapseMs: number,
): Promise<boolean> {
  const has =
    version === null
      ? sql`exists (select from unnest(w.tools) o where split_part(o, '@', 1) = ${path})`
      : sql`w.tools @> array[${`${path}@${version}`}::text]`;
  const { rows } = await sql<{ offered: boolean }>`
    select exists (
      select from tasks t join workers w on t.provider = any(w.providers)
      where t.id = ${taskId} and w.state = 'RUNNING' and ${has}
        and w.last_seen_at > now() - ${lapseMs} * interval '1 millisecond'
    ) as offered
  `.execute(db);
  return rows[0]?.offered ?? false;
}
