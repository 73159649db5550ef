import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createLogger } from "@airlock/shared/runtime";
import { afterAll, describe, expect, it } from "vitest";
import { type Build, createLayerStore, type LayerStore } from "./layer-store.ts";

const root = mkdtempSync(path.join(tmpdir(), "airlock-store-"));
afterAll(() => rm(root, { recursive: true }));

let count = 0;
const newFolder = () => path.join(root, String((count += 1)));
const log = createLogger({ program: "test", level: "silent" });
const open = (folder = newFolder(), maxBytes = 1e9): LayerStore =>
  createLayerStore({ folder, log, maxBytes, bounds: { bytes: 1e6, entries: 100 } });
const { signal } = new AbortController();

let builds = 0;
const writes =
  (text: string): Build =>
  async (folder) => {
    builds += 1;
    const content = path.join(folder, "content");
    await mkdir(content);
    await writeFile(path.join(content, "file"), text);
    return content;
  };
const read = (layer: { path: string }) => readFile(path.join(layer.path, "file"), "utf8");

/** A worker of its own, which builds a layer as `body` says. */
async function otherWorker(folder: string, body: string): Promise<void> {
  const program = `
    import fs from "node:fs";
    import { createLayerStore } from ${JSON.stringify(path.join(import.meta.dirname, "layer-store.ts"))};
    const store = createLayerStore({ folder: ${JSON.stringify(folder)}, log: { warn() {}, info() {} }, maxBytes: 1e9,
      bounds: { bytes: 1e6, entries: 100 } });
    const build = async (own) => { const content = own + "/content"; fs.mkdirSync(content); ${body}; return content };
    await store.take("shared", build, new AbortController().signal);
    process.exit(0);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
  await once(child, "exit");
}

describe("a layer", () => {
  it("is built once, however many ask for it, and found by a store that is opened later", async () => {
    const folder = newFolder();
    const store = open(folder);
    builds = 0;
    const taken = await Promise.all([1, 2, 3].map((n) => store.take("a", writes(String(n)), signal)));
    expect(await Promise.all(taken.map(read))).toEqual(["1", "1", "1"]);
    expect(await read(await open(folder).take("a", writes("later"), signal))).toBe("1");
    expect(builds).toBe(1);
  });

  it("of which a worker was killed in the middle is not found in half; the next one makes it", async () => {
    const folder = newFolder();
    await otherWorker(folder, 'fs.writeFileSync(content + "/half", "x"); process.kill(process.pid, "SIGKILL")');
    expect(await readdir(path.join(folder, "layers"))).toEqual([]);
    expect(await readdir(path.join(folder, "building"))).toHaveLength(1);
    const layer = await open(folder).take("shared", writes("whole"), signal);
    expect([await read(layer), await readdir(layer.path)]).toEqual(["whole", ["file"]]);
  });

  it("that two workers of a machine make at once is one of the two, whole", async () => {
    const folder = newFolder();
    const both = [1, 2].map((n) => otherWorker(folder, `fs.writeFileSync(content + "/file", "worker ${n}")`));
    const own = await open(folder).take("shared", writes("worker 3"), signal);
    await Promise.all(both);
    expect(await read(own)).toMatch(/^worker [123]$/);
    expect(await readdir(path.join(folder, "layers"))).toEqual(["shared"]);
    expect(await readdir(path.join(folder, "building"))).toEqual([]);
  });

  it("that could not be built is tried again by the next one who asks", async () => {
    const store = open();
    await expect(store.take("a", () => Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    expect(await read(await store.take("a", writes("yes"), signal))).toBe("yes");
  });

  it("is built on when one of those who wait leaves, and not when the last one does", async () => {
    const store = open();
    const begun = Promise.withResolvers<AbortSignal>();
    const go = Promise.withResolvers<void>();
    const slow: Build = async (folder, stop) => {
      begun.resolve(stop);
      await go.promise;
      return writes("done")(folder, stop);
    };
    const [first, second] = [new AbortController(), new AbortController()];
    const left = store.take("a", slow, first.signal);
    const stays = store.take("a", slow, second.signal);
    const stop = await begun.promise;
    first.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    expect(stop.aborted).toBe(false);
    second.abort(new Error("left, too"));
    await expect(stays).rejects.toThrow("left, too");
    expect(stop.aborted).toBe(true);
    go.resolve();
    expect(await read(await store.take("a", writes("anew"), signal))).toBe("anew");
  });

  it("that has too much in it, or nothing but odd things, is no layer", async () => {
    const store = open();
    await expect(store.take("big", writes("x".repeat(1e6 + 1)), signal)).rejects.toThrow("more than 1000000 bytes");
    const many: Build = async (folder, stop) => {
      const content = await writes("")(folder, stop);
      await Promise.all(Array.from({ length: 100 }, (_, i) => writeFile(path.join(content, String(i)), "")));
      return content;
    };
    await expect(store.take("many", many, signal)).rejects.toThrow("more than 100 files");
  });
});

describe("where there is too much", () => {
  it("what was not used for longest goes, and never what is in use, here or by another worker", async () => {
    const folder = newFolder();
    const store = open(folder, 10);
    const age = (key: string, minutes: number) => {
      const then = new Date(Date.now() - minutes * 60_000);
      return utimes(path.join(folder, "uses", key), then, then);
    };
    const inUse = await store.take("in-use", writes("12345678"), signal);
    (await store.take("old", writes("12345678"), signal)).release();
    (await store.take("older", writes("12345678"), signal)).release();
    // Another worker has told of its use a minute ago.
    (await store.take("elsewhere", writes("12345678"), signal)).release();
    await age("in-use", 100);
    await age("old", 50);
    await age("older", 60);
    await age("elsewhere", 1);
    (await store.take("new", writes("1"), signal)).release();
    await store.close();
    expect((await readdir(path.join(folder, "layers"))).toSorted()).toEqual(["elsewhere", "in-use", "new"]);
    expect(await read(inUse)).toBe("12345678");
  });

  it("what nobody has used for a month goes, although there is room", async () => {
    const folder = newFolder();
    const store = open(folder);
    (await store.take("forgotten", writes("x"), signal)).release();
    const then = new Date(Date.now() - 31 * 24 * 3600_000);
    await utimes(path.join(folder, "uses", "forgotten"), then, then);
    (await store.take("new", writes("x"), signal)).release();
    await store.close();
    expect(await readdir(path.join(folder, "layers"))).toEqual(["new"]);
  });
});
