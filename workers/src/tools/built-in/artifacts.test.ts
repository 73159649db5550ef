import { createHash } from "node:crypto";
import { newId } from "@airlock/shared/contracts";
import type { Database } from "@airlock/shared/db";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call } from "../../../testing/tool-context.ts";
import { openToolDatabase, type ToolDatabase } from "../../../testing/tool-database.ts";
import { parseInput } from "../parse-input.ts";
import type { Tool } from "../tool.ts";
import { get, put } from "./artifacts.ts";
import { contentTypeOf } from "./content-type.ts";

let database: ToolDatabase;
beforeAll(async () => {
  database = await openToolDatabase();
});
afterAll(() => database.drop());

const somewhere = (session: string | null = null) => ({ projectId: database.projectId, taskId: newId(), session });

function run(tool: Tool, input: unknown, where: ReturnType<typeof somewhere>): Promise<unknown> {
  return database.db.transaction().execute((db: Database) => call(tool, input, { db, ...where }));
}

const MIB = 1024 * 1024;

describe("artifacts", () => {
  it("gives back what was put, text as text", async () => {
    const where = somewhere();
    const content = "\ufeffnaïve\0\n";
    const kept = await run(put, { name: "notes/a.md", content }, where);
    expect(kept).toEqual({
      id: expect.any(String),
      name: "notes/a.md",
      size: Buffer.byteLength(content),
      sha256: createHash("sha256").update(content).digest("hex"),
      contentType: "application/octet-stream",
    });
    expect(await run(get, { name: "notes/a.md" }, where)).toMatchObject({ content, size: Buffer.byteLength(content) });
  });

  it("gives bytes that are no text as base64", async () => {
    const where = somewhere();
    const base64 = Buffer.from([0xff, 0xfe, 0x00, 0x80]).toString("base64");
    await run(put, { name: "x.bin", base64 }, where);
    expect(await run(get, { name: "x.bin" }, where)).toEqual({
      name: "x.bin",
      contentType: "application/octet-stream",
      size: 4,
      base64,
    });
  });

  it("takes nothing as content, and a whole MiB", async () => {
    const where = somewhere();
    expect(await run(put, { name: "empty.txt", content: "" }, where)).toMatchObject({ size: 0 });
    expect(await run(get, { name: "empty.txt" }, where)).toMatchObject({ content: "" });
    const full = Buffer.alloc(MIB, 0xff).toString("base64");
    expect(await run(put, { name: "full", base64: full }, where)).toMatchObject({ size: MIB });
    expect(await run(get, { name: "full" }, where)).toMatchObject({ base64: full });
  });

  it("finds the newest of the task, and only then the session's", async () => {
    const first = somewhere("blue");
    const second = { ...somewhere("blue"), projectId: first.projectId };
    await run(put, { name: "f", content: "1" }, first);
    await run(put, { name: "f", content: "2" }, first);
    expect(await run(get, { name: "f" }, second)).toMatchObject({ content: "2" });
    await run(put, { name: "f", content: "3" }, second);
    await run(put, { name: "f", content: "4" }, first);
    expect(await run(get, { name: "f" }, second)).toMatchObject({ content: "3" });
    expect(await run(get, { name: "f" }, first)).toMatchObject({ content: "4" });
  });

  it("the newer of two in one transaction is the newer one", async () => {
    const where = somewhere();
    await database.db.transaction().execute(async (db: Database) => {
      for (const content of ["a", "b", "c"]) await call(put, { name: "t", content }, { db, ...where });
    });
    expect(await run(get, { name: "t" }, where)).toMatchObject({ content: "c" });
  });

  it("shows nothing to another project, session, or task without one", async () => {
    const mine = somewhere("green");
    await run(put, { name: "secret", content: "s" }, mine);
    const strangers = [{ ...mine, projectId: newId() }, somewhere("red"), somewhere(null)];
    for (const stranger of strangers) {
      await expect(run(get, { name: "secret" }, stranger)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    }
  });

  it("refuses to read what is too large, without loading it", async () => {
    const where = somewhere();
    await sql`
      insert into artifacts (id, project_id, task_id, name, direction, size, content_type, sha256, content)
      values (${newId()}, ${where.projectId}, ${where.taskId}, 'huge', 'INPUT', ${MIB + 1}, 'text/plain', '', 'x')
    `.execute(database.db);
    await expect(run(get, { name: "huge" }, where)).rejects.toThrow(/1048577 bytes/);
  });
});

describe("refused before the database is asked", () => {
  it.each(["", "/etc/passwd", "../up", "a/../b", "a/..", ".", "a//b", "a/", "a\\b", "a\0b", "\ud800", "x".repeat(513)])(
    "the name %j",
    (name) => {
      expect(parseInput(put, { name, content: "" }).ok).toBe(false);
      expect(parseInput(get, { name }).ok).toBe(false);
    },
  );

  it.each([
    ["neither content nor base64", {}],
    ["both", { content: "a", base64: "YQ==" }],
    ["base64 with a stranger in it", { base64: "YQ=*" }],
    ["base64 without its padding", { base64: "YQ" }],
    ["too much text", { content: "x".repeat(MIB + 1) }],
    ["text that is too much in UTF-8", { content: "€".repeat(MIB / 2) }],
    ["too much base64", { base64: Buffer.alloc(MIB + 3).toString("base64") }],
    ["half a surrogate pair, which would come back as another character", { content: "\ud800" }],
  ])("%s", (_, content) => {
    expect(parseInput(put, { name: "f", ...content }).ok).toBe(false);
  });

  it("names with dots that lead nowhere else are fine", () => {
    for (const name of ["..a", "a..b/c.", ".env", "a/.../b"]) expect(parseInput(get, { name }).ok).toBe(true);
  });
});

describe("the content type", () => {
  it.each([
    ["a.html", "<p>", "text/html"],
    ["A.HTML", "<p>", "text/html"],
    ["a.json", "{}", "application/json"],
    ["a", "hello", "text/plain"],
    ["a.png", "<script>", "text/plain"],
    ["a.html", "\x89PNG\r\n\x1a\n", "image/png"],
    ["a.html", "\xff\xfe", "application/octet-stream"],
    ["a.txt", "%PDF-1.7", "application/pdf"],
    ["a", "RIFF\0\0\0\0WEBPVP8 ", "image/webp"],
    ["constructor", "x", "text/plain"],
  ])("of %s holding %j is %s", (name, content, expected) => {
    expect(contentTypeOf(name, Buffer.from(content, "latin1"))).toBe(expected);
  });
});
