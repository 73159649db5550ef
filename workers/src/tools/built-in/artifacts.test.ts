import { createHash } from "node:crypto";
import { newId } from "@airlock/shared/contracts";
import { type Database, insertArtifacts } from "@airlock/shared/db";
import { createDiskStore, createFiles } from "@airlock/shared/files";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call } from "../../../testing/tool-context.ts";
import { openToolDatabase, type ToolDatabase } from "../../../testing/tool-database.ts";
import { parseInput } from "../parse-input.ts";
import type { Tool } from "../tool.ts";
import { createGet, put } from "./artifacts.ts";

const folder = mkdtempSync(path.join(tmpdir(), "airlock-artifacts-"));
const store = createDiskStore(folder);
const get = createGet(store);
let database: ToolDatabase;
beforeAll(async () => {
  database = await openToolDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

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

  async function keep(where: ReturnType<typeof somewhere>, name: string, bytes: Buffer): Promise<void> {
    const content = await createFiles(database.db, store).keep(where.projectId, name, Readable.from([bytes]), 8 * MIB);
    await insertArtifacts(database.db, [{ ...where, name, direction: "INPUT", content }]);
  }

  it("reads what is not in the database, too", async () => {
    const where = somewhere();
    const content = "stored".repeat(50_000);
    await keep(where, "given.txt", Buffer.from(content));
    expect(await run(get, { name: "given.txt" }, where)).toMatchObject({ content, contentType: "text/plain" });
  });

  it("refuses to read what is too large, without loading it", async () => {
    const where = somewhere();
    await keep(where, "huge", Buffer.alloc(MIB + 1));
    rmSync(path.join(folder, where.projectId), { recursive: true });
    await expect(run(get, { name: "huge" }, where)).rejects.toThrow(/1048577 bytes/);
  });
});

describe("refused before the database is asked", () => {
  it.each([
    "",
    "/etc/passwd",
    "../up",
    "a/../b",
    "a/..",
    ".",
    "a//b",
    "a/",
    "a\\b",
    "a\0b",
    "a\nb",
    "\ud800",
    "x".repeat(513),
  ])("the name %j", (name) => {
    expect(parseInput(put, { name, content: "" }).ok).toBe(false);
    expect(parseInput(get, { name }).ok).toBe(false);
  });

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
