import { mkdtempSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { returned, type Start } from "./expectations.ts";
import { outputsOf } from "./work-area.ts";

/** What a program finds that was prepared for it: packages, and what its work area begins with. */
export function layers(start: Start): void {
  // Closed to everybody else, as a worker's own folders are.
  const root = mkdtempSync(path.join(tmpdir(), "airlock-layers-"));
  const [modules, files] = [path.join(root, "modules"), path.join(root, "files")];
  beforeAll(async () => {
    await mkdir(path.join(modules, "left"), { recursive: true });
    await writeFile(path.join(modules, "left/index.js"), "exports.is = 'left'");
    await mkdir(path.join(files, "src"), { recursive: true });
    await writeFile(path.join(files, "src/a"), "a");
    await writeFile(path.join(files, "same"), "same");
    await writeFile(path.join(files, "given"), "from the layer");
    await writeFile(path.join(files, "run"), "#!/bin/sh\necho ran");
    await chmod(path.join(files, "run"), 0o755);
    await symlink("src/a", path.join(files, "link"));
  });
  afterAll(() => rm(root, { recursive: true }));

  it("packages are imported, and are no output", async () => {
    const code = 'import { is } from "left"; return [is, require("left").is]';
    const guest = await start(code, { lease: { layers: [{ source: modules, target: "/work/node_modules" }] } });
    expect(await outputsOf(guest)).toEqual({ outcome: returned(["left", "left"]), files: {}, left: {} });
  });

  it("the work area begins with a copy: the program's to change, and only what it changed comes out", async () => {
    const code = `import fs from "node:fs"; import { execFileSync } from "node:child_process";
      fs.appendFileSync("src/a", "b"); fs.mkdirSync("new"); fs.writeFileSync("new/c", "c");
      return [fs.readFileSync("given", "utf8"), fs.readFileSync("link", "utf8"), execFileSync("./run").toString()]`;
    const given = [{ path: "given", content: Buffer.from("from the caller") }];
    const lease = { files: given, layers: [{ source: files, target: "/work" }] };
    const guest = await start(code, { lease });
    expect(await outputsOf(guest)).toEqual({
      outcome: returned(["from the caller", "ab", "ran\n"]),
      files: { "new/c": "c", "src/a": "ab" },
      left: {},
    });
    expect(await readFile(path.join(files, "src/a"), "utf8")).toBe("a");
    const again = await start('return require("fs").readdirSync(".").sort()', { lease });
    expect(await outputsOf(again)).toMatchObject({
      outcome: returned(["given", "link", "run", "same", "src"]),
      files: {},
    });
    expect((await readdir(files)).toSorted()).toEqual(["given", "link", "run", "same", "src"]);
  });
}
