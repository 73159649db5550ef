import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { createDiskStore } from "@airlock/shared/files";
import { renderToolTypes } from "../../gateway/src/tool-types/index.ts";
import { loadTools } from "../../workers/src/tools/load-tools.ts";
import { createRegistry } from "../../workers/src/tools/registry.ts";

const TSC = path.resolve(import.meta.dirname, "../../node_modules/.bin/tsc");

/** Right calls of every built-in tool, and wrong ones that tsc must see. */
const PROGRAM = `
async function program() {
  await tools.util.echo({});
  await tools.util.echo({ value: input.any });
  await tools.util.sleep({ ms: 1 });
  await tools.human.ask({ question: "Ship it?", schema: { type: "boolean" } });
  await tools.kv.put({ key: "k", value: [1] });
  const n: number = await tools.kv.increment({ key: "k" });
  const { sha256 } = await tools.artifacts.put({ name: "a.txt", content: sha(n) });
  const { content } = await tools.artifacts.get({ name: "a.txt" });
  const { status, headers } = await tools.http.request({ method: "GET", url: "https://example.com" });
  // @ts-expect-error a misspelt tool
  await tools.kv.increase({ key: "k" });
  // @ts-expect-error a misspelt field
  await tools.kv.increment({ kye: "k" });
  // @ts-expect-error a method that there is not
  await tools.http.request({ method: "BREW", url: "https://example.com" });
  return [sha256, content?.length, status + 1, headers["content-type"]];
}
declare function sha(n: number): string;
`;

it("what the gateway renders from the workers' manifests is TypeScript, and right", async () => {
  const home = await mkdtemp(path.join(tmpdir(), "airlock-types-"));
  try {
    const manifests = createRegistry(await loadTools([], { store: createDiskStore(home) })).manifests();
    // As the gateway gets them: through JSON, in Postgres.
    const read = JSON.parse(JSON.stringify(manifests)) as typeof manifests;
    await writeFile(path.join(home, "tools.d.ts"), renderToolTypes(read));
    await writeFile(path.join(home, "program.ts"), PROGRAM);
    const flags = ["--strict", "--noEmit", "--target", "es2024", "--lib", "es2024", "--types", "", "--ignoreConfig"];
    const child = spawn(TSC, [...flags, "tools.d.ts", "program.ts"], {
      cwd: home,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let complaints = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      complaints += text;
    });
    const [code] = (await once(child, "close")) as [number];
    expect([complaints, code]).toEqual(["", 0]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
