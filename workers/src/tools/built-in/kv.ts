import { sql } from "kysely";
import { z } from "zod";
import { defineTool } from "../define-tool.ts";
import type { ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { storableText } from "./storable-text.ts";

const key = storableText(512);
const MAX = Number.MAX_SAFE_INTEGER;

export const get = defineTool({
  path: "kv.get",
  description: "The value that the project keeps under a key, or null.",
  input: z.strictObject({ key }),
  policy: "auto",
  transactional: true,
  run: async (context, { key }) => {
    const text = await read(context, key);
    return text === null ? null : (JSON.parse(text) as unknown);
  },
});

export const put = defineTool({
  path: "kv.put",
  description: "Keeps a value under a key, for every task of the project.",
  input: z.strictObject({ key, value: z.unknown().describe("Any JSON.") }),
  output: z.null(),
  policy: "auto",
  transactional: true,
  run: async ({ db, projectId }, { key, value }) => {
    await sql`
      insert into kv (project_id, key, value, updated_at)
      values (${projectId}, ${key}, ${JSON.stringify(value)}, now())
      on conflict (project_id, key) do update set value = excluded.value, updated_at = excluded.updated_at
    `.execute(db);
    return null;
  },
});

export const increment = defineTool({
  path: "kv.increment",
  description: "Adds to the number under a key, which begins at 0, and answers with the new number. Atomic.",
  input: z.strictObject({ key, by: z.number().min(-MAX).max(MAX).default(1) }),
  output: z.number(),
  policy: "auto",
  transactional: true,
  run: async (context, { key, by }) => {
    const amount = JSON.stringify(by);
    // float8 is JavaScript's number. CASE, because a cast of what is no number would end the whole transaction; of the
    // kinds of JSON only a number begins with a digit or a minus.
    const { rows } = await sql<{ value: string }>`
      insert into kv (project_id, key, value, updated_at)
      values (${context.projectId}, ${key}, ${amount}, now())
      on conflict (project_id, key) do update
      set value = (kv.value::float8 + ${amount}::float8)::text, updated_at = excluded.updated_at
      where case when kv.value ~ '^-?[0-9]' then abs(kv.value::float8 + ${amount}::float8) <= ${MAX} else false end
      returning value
    `.execute(context.db);
    if (rows[0] !== undefined) return Number(rows[0].value);
    throw await refusal(context, key);
  },
});

async function read({ db, projectId }: ToolContext, key: string): Promise<string | null> {
  const { rows } = await sql<{ value: string }>`
    select value from kv where project_id = ${projectId} and key = ${key}
  `.execute(db);
  return rows[0]?.value ?? null;
}

/** The refused update has locked the row, so that this reads what it saw. */
async function refusal(context: ToolContext, key: string): Promise<ToolError> {
  const stored = JSON.parse((await read(context, key)) ?? "null") as unknown;
  const name = JSON.stringify(key);
  if (typeof stored !== "number") return new ToolError(`the value under ${name} is not a number`);
  return new ToolError(`the number under ${name} would pass ${MAX} (2^53 - 1), beyond which integers are not exact`);
}
