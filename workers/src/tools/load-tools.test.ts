import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call } from "../../testing/tool-context.ts";
import { createDiskStore } from "@airlock/shared/files";
import { loadTools } from "./load-tools.ts";
import { createRegistry } from "./registry.ts";

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), "airlock-tools-"));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

async function write(name: string, source: string): Promise<string> {
  const file = path.join(cwd, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, source);
  return file;
}

/** A plugin far from our node_modules, as an operator's is. */
const factory = (...paths: string[]): string => `
  export default ({ defineTool, z }) => ${JSON.stringify(paths)}.map((path) => defineTool({
    path, description: "From a plugin.", input: z.object({ n: z.number() }), policy: "required",
    run: async (_context, { n }) => n + 1,
  }));`;

const load = async (...specifiers: string[]) =>
  createRegistry(await loadTools(specifiers, { cwd, store: createDiskStore(cwd) }));

describe("a worker's tools", () => {
  it("are exactly the built-in ones of this list, with their modes: one that slips in is open to every guest", async () => {
    const registry = await load();
    const modes = Object.fromEntries(registry.manifests().map((one) => [one.path, one.mode]));
    expect(modes).toEqual({
      "util.echo": "AUTO",
      "util.sleep": "AUTO",
      "human.ask": "AUTO",
      "kv.get": "AUTO",
      "kv.put": "AUTO",
      "kv.increment": "AUTO",
      "http.request": "REQUIRED",
      "artifacts.put": "AUTO",
      "artifacts.get": "AUTO",
    });
    expect(registry.manifests().every((one) => one.source === "built-in")).toBe(true);
    expect(registry.get("toString")).toBeUndefined();
  });

  it("come from a file, relative or absolute, and work", async () => {
    const absolute = await write("absolute.mjs", factory("far.off"));
    await write("near/relative.ts", factory("near.by", "near.too"));
    const registry = await load(absolute, "./near/relative.ts");
    expect(registry.manifests().find((one) => one.path === "near.too")?.source).toBe("./near/relative.ts");
    const tool = registry.get("far.off");
    expect(tool && (await call(tool, { n: 1 }))).toBe(2);
  });

  it("come from a TypeScript file whose only import is the plugin types", async () => {
    const source = `import type { ToolPlugin } from "@airlock/workers/plugin";
      const plugin: ToolPlugin = ({ defineTool, z }) => defineTool({
        path: "typed.tool", description: "Typed.", input: z.object({}), policy: "auto", run: async () => "typed" });
      export default plugin;`;
    const tool = (await load(await write("typed.ts", source))).get("typed.tool");
    expect(tool && (await call(tool, {}))).toBe("typed");
  });

  it("come from a package of the operator", async () => {
    await write("node_modules/my-tools/package.json", '{"name":"my-tools","type":"module","exports":"./main.js"}');
    await write("node_modules/my-tools/main.js", factory("packaged.tool"));
    expect((await load("my-tools")).get("packaged.tool")).toBeDefined();
  });

  it("come from named exports, once each, beside exports that are no tools", async () => {
    const definition = `{ path: "plain.definition", description: "No import needed.", policy: "auto",
      input: z.object({}), run: async () => "plain" }`;
    const source = `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export const one = ${definition}; export default [one]; export const VERSION = 1; export const helper = () => 1;`;
    const registry = await load(await write("named.mjs", source));
    const tool = registry.get("plain.definition");
    expect(tool && (await call(tool, {}))).toBe("plain");
  });

  it("two of one path are refused, with both sources named", async () => {
    await write("one.mjs", factory("same.path"));
    await write("two.mjs", factory("same.path"));
    await expect(load("./one.mjs", "./two.mjs")).rejects.toThrow(/same\.path.*\.\/one\.mjs.*\.\/two\.mjs/);
    await write("shadow.mjs", factory("kv.get"));
    await expect(load("./shadow.mjs")).rejects.toThrow(/kv\.get.*built-in.*\.\/shadow\.mjs/);
  });

  it.each([
    ["is not there", "./missing.mjs", null],
    ["is no package", "no-such-package-anywhere", null],
    ["does not parse", "./broken.mjs", "export default ("],
    ["throws", "./throws.mjs", "throw new Error('no token')"],
    ["exports no tool", "./empty.mjs", "export const x = 1; export default () => [];"],
    ["exports a bad tool", "./bad.mjs", factory("bad.then")],
  ])("a module that %s is an error that names it", async (_, specifier, source) => {
    if (source !== null) await write(specifier, source);
    await expect(load(specifier)).rejects.toThrow(`the tool module ${JSON.stringify(specifier)} cannot be used`);
  });
});
