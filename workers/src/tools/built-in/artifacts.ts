import { isUtf8 } from "node:buffer";
import { insertArtifact } from "@airlock/shared/db";
import { sql } from "kysely";
import { z } from "zod";
import { defineTool } from "../define-tool.ts";
import { ToolError } from "../tool-error.ts";
import { contentTypeOf } from "./content-type.ts";
import { storableText } from "./storable-text.ts";

const MAX_BYTES = 1024 * 1024;
/** Base64 takes four characters for three bytes. */
const MAX_BASE64_CHARS = Math.ceil(MAX_BYTES / 3) * 4;

const name = storableText(512)
  .refine((text) => !text.includes("\\") && !text.startsWith("/"), "is not a relative path with / between its parts")
  .refine((text) => text.split("/").every((part) => part !== "" && part !== "." && part !== ".."), {
    message: "has an empty part, or one that is `.` or `..`",
  });

const size = z.number().int();

export const put = defineTool({
  path: "artifacts.put",
  description: "Keeps a file of at most 1 MiB, for this task, its session and whoever reads the task.",
  input: z
    .strictObject({
      name: name.describe("A relative path, like `reports/today.csv`."),
      content: z
        .string()
        .max(MAX_BYTES)
        .refine((text) => text.isWellFormed(), "contains half of a surrogate pair; send bytes as base64")
        .optional()
        .describe("Text. Either this or base64."),
      base64: z.string().max(MAX_BASE64_CHARS).refine(isBase64, "is not base64").optional(),
    })
    .refine(({ content, base64 }) => (content === undefined) !== (base64 === undefined), {
      message: "needs either content or base64",
    })
    .refine(({ content }) => content === undefined || Buffer.byteLength(content) <= MAX_BYTES, {
      message: `content has more than ${MAX_BYTES} bytes`,
    }),
  output: z.object({ id: z.string(), name: z.string(), size, sha256: z.string(), contentType: z.string() }),
  policy: "auto",
  transactional: true,
  run: async ({ db, projectId, taskId, session }, { name, content, base64 }) => {
    const bytes = content === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(content);
    if (bytes.length > MAX_BYTES) throw new ToolError(`${name} has ${bytes.length} bytes; at most ${MAX_BYTES}`);
    const contentType = contentTypeOf(name, bytes);
    return insertArtifact(db, { projectId, taskId, session, name, contentType, content: bytes });
  },
});

export const get = defineTool({
  path: "artifacts.get",
  description:
    "The newest file of this name of this task, else of its session. Text as content, other bytes as base64.",
  input: z.strictObject({ name }),
  output: z.object({
    name: z.string(),
    contentType: z.string(),
    size,
    content: z.string().optional(),
    base64: z.string().optional(),
  }),
  policy: "auto",
  transactional: true,
  run: async ({ db, projectId, taskId, session }, { name }) => {
    const newest = sql`order by created_at desc, id desc limit 1`;
    const { rows } = await sql<{ content_type: string; size: number; content: Buffer | null }>`
      select content_type, size::float8 as size, case when size <= ${MAX_BYTES} then content end as content
      from artifacts
      where id = coalesce(
        (select id from artifacts where project_id = ${projectId} and task_id = ${taskId} and name = ${name} ${newest}),
        (select id from artifacts where project_id = ${projectId} and session = ${session} and name = ${name} ${newest})
      )
    `.execute(db);
    const found = rows[0];
    if (found === undefined) throw new ToolError(`there is no artifact called ${JSON.stringify(name)} here`);
    const { content, size, content_type: contentType } = found;
    if (content === null) throw new ToolError(`${name} has ${size} bytes; at most ${MAX_BYTES} can be read here`);
    return {
      name,
      contentType,
      size,
      ...(isUtf8(content) ? { content: String(content) } : { base64: content.toString("base64") }),
    };
  },
});

/** Node ignores what it cannot decode; only the one right spelling comes back as it was. */
function isBase64(text: string): boolean {
  return Buffer.from(text, "base64").toString("base64") === text;
}
