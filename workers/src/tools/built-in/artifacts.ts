import { isUtf8 } from "node:buffer";
import { insertOutput } from "@airlock/shared/db";
import { contentTypeOf, FILE_PATH_LIMITS, filePathFault } from "@airlock/shared/domain";
import type { Store } from "@airlock/shared/files";
import { buffer } from "node:stream/consumers";
import { sql } from "kysely";
import { z } from "zod";
import { defineTool } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

const MAX_BYTES = 1024 * 1024;
/** Base64 takes four characters for three bytes. */
const MAX_BASE64_CHARS = Math.ceil(MAX_BYTES / 3) * 4;

const name = z
  .string()
  .min(1)
  .max(FILE_PATH_LIMITS.chars)
  .superRefine((text, check) => {
    const fault = filePathFault(text);
    if (fault !== null) check.addIssue(fault);
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
    const contentType = contentTypeOf(name, bytes, isUtf8(bytes) && !bytes.includes(0));
    return insertOutput(db, { projectId, taskId, session, name, contentType, bytes });
  },
});

interface Found {
  readonly contentType: string;
  readonly size: number;
  readonly sha256: Buffer;
  readonly inline: Buffer | null;
}

/** `store` has the bytes of files that are no rows. */
export const createGet = (store: Pick<Store, "read">): Tool =>
  defineTool({
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
      const { rows } = await sql<Found>`
        select content_type as "contentType", a.size::float8 as size, sha256,
          case when a.size <= ${MAX_BYTES} then inline end as inline
        from artifacts a join contents c using (project_id, sha256)
        where a.id = coalesce(
          (select id from artifacts where project_id = ${projectId} and task_id = ${taskId} and name = ${name} ${newest}),
          (select id from artifacts where project_id = ${projectId} and session = ${session} and name = ${name} ${newest})
        )
      `.execute(db);
      const found = rows[0];
      if (found === undefined) throw new ToolError(`there is no artifact called ${JSON.stringify(name)} here`);
      const { inline, sha256, size, contentType } = found;
      if (size > MAX_BYTES) throw new ToolError(`${name} has ${size} bytes; at most ${MAX_BYTES} can be read here`);
      const bytes = inline ?? (await buffer(await store.read({ projectId, sha256: sha256.toString("hex") })));
      const text = isUtf8(bytes) ? { content: String(bytes) } : { base64: bytes.toString("base64") };
      return { name, contentType, size, ...text };
    },
  });

/** Node ignores what it cannot decode; only the one right spelling comes back as it was. */
function isBase64(text: string): boolean {
  return Buffer.from(text, "base64").toString("base64") === text;
}
