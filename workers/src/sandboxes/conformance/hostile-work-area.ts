import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { type Outputs, outputsOf } from "../../../testing/outputs.ts";
import type { OutputBounds, SandboxProvider } from "../port.ts";

type Given = Readonly<Record<string, string>>;

/** What a provider with a work area does with files, those of hostile programs among them. */
export function hostileWorkArea(provider: SandboxProvider): void {
  const run = (code: string, given?: Given, bounds?: Partial<OutputBounds>): Promise<Outputs> =>
    outputsOf(
      provider,
      `import fs from "node:fs"\nimport { execFileSync } from "node:child_process"\n${code}`,
      given,
      bounds,
    );
  const texts = ({ files }: Outputs): Given =>
    Object.fromEntries([...files].map(([name, content]) => [name, String(content)]));

  it("a program finds its files, and what it made or changed comes out; what it left alone does not", async () => {
    const given = { "in.txt": "in", "deep/er/same.txt": "same", "deep/changed.txt": "before" };
    const outputs = await run(
      `if (fs.readFileSync("in.txt", "utf8") + fs.readFileSync("deep/er/same.txt", "utf8") !== "insame") throw 0;
       fs.writeFileSync("deep/changed.txt", "after!");
       fs.unlinkSync("in.txt");
       fs.mkdirSync("made/here", { recursive: true });
       fs.writeFileSync("made/here/ü 😀.txt", "new");
       fs.writeFileSync("empty", "");`,
      given,
    );
    expect(texts(outputs)).toEqual({ "deep/changed.txt": "after!", "made/here/ü 😀.txt": "new", empty: "" });
    expect([...outputs.left]).toEqual([]);
  });

  it("bytes come out as they were written", async () => {
    const { files } = await run(
      'fs.writeFileSync("b", Buffer.from(Array.from({ length: 700_000 }, (_, i) => (i * 31) % 256)))',
    );
    expect(files.get("b")?.equals(Buffer.from(Array.from({ length: 700_000 }, (_, i) => (i * 31) % 256)))).toBe(true);
  });

  const outside = mkdtempSync(path.join(tmpdir(), "airlock-outside-"));
  const canary = path.join(outside, "canary");
  writeFileSync(canary, "the host's own");
  afterAll(() => rmSync(outside, { recursive: true, force: true }));

  it("links lead nowhere: to files, to folders, up, round in circles, or in place of what was given", async () => {
    const outputs = await run(
      `fs.symlinkSync(${JSON.stringify(canary)}, "file");
       fs.symlinkSync(${JSON.stringify(outside)}, "folder");
       fs.symlinkSync("/etc/passwd", "passwd");
       fs.symlinkSync("/proc/self/environ", "environ");
       fs.symlinkSync("../..", "up");
       fs.symlinkSync(".", "round");
       fs.symlinkSync("nowhere", "dangling");
       fs.rmSync("given", { recursive: true });
       fs.symlinkSync(${JSON.stringify(outside)}, "given");
       fs.writeFileSync("real", "real");`,
      { "given/canary": "x" },
    );
    expect(texts(outputs)).toEqual({ real: "real" });
    expect([...outputs.left.keys()].toSorted()).toEqual([
      "dangling",
      "environ",
      "file",
      "folder",
      "given",
      "passwd",
      "round",
      "up",
    ]);
    expect(readFileSync(canary, "utf8")).toBe("the host's own");
  });

  it("FIFOs and sockets are left and not waited for, and a file with a second name is left", async () => {
    const outputs = await run(
      `import net from "node:net"
       execFileSync("mkfifo", ["fifo"]);
       await new Promise((resolve) => net.createServer().listen("socket", resolve).unref());
       fs.writeFileSync("one", "twice"); fs.linkSync("one", "two");
       fs.writeFileSync("real", "real");`,
    );
    expect(texts(outputs)).toEqual({ real: "real" });
    expect([...outputs.left.keys()].filter((name) => name !== "socket").toSorted()).toEqual(["fifo", "one", "two"]);
  });

  it("a huge file that takes no room on the disk is left, unread", async () => {
    const outputs = await run(
      'fs.writeFileSync("huge", ""); try { fs.truncateSync("huge", 2 ** 33) } catch { fs.truncateSync("huge", 2 ** 22) }\nfs.writeFileSync("real", "real");',
    );
    expect(texts(outputs)).toEqual({ real: "real" });
    expect(outputs.left.get("huge")).toMatch(/bytes/);
  });

  it("names that are no text are left; what comes out has a name that text can hold", async () => {
    const outputs = await run(
      `fs.writeFileSync(Buffer.from([0x62, 0xff, 0xfe]), "bad");
       fs.writeFileSync("-rf", "dash"); fs.writeFileSync("a b'\\"$(x)\`", "shell"); fs.writeFileSync("..x", "dots");`,
    );
    expect(texts(outputs)).toEqual({ "-rf": "dash", "a b'\"$(x)`": "shell", "..x": "dots" });
    expect(outputs.left.size).toBe(1);
  });

  it("a tree deeper than any path may be is cut, and what is beside it comes out", async () => {
    const outputs = await run(
      `const top = process.cwd();
       for (let i = 0; i < 200; i++) { fs.mkdirSync("d".repeat(50)); process.chdir("d".repeat(50)); }
       fs.writeFileSync("bottom", "x"); process.chdir(top); fs.writeFileSync("real", "real");`,
    );
    expect(texts(outputs)).toEqual({ real: "real" });
    expect(outputs.left.size).toBeGreaterThan(0);
  });

  it("beyond its bounds a file is left and named, and the others still come", async () => {
    const code =
      'for (let i = 0; i < 12; i++) fs.writeFileSync(`f${10 + i}`, "x".repeat(100)); fs.writeFileSync("z", "y".repeat(600))';
    const few = await run(code, {}, { files: 5 });
    expect([few.files.size, few.left.size]).toEqual([5, 8]);
    const small = await run(code, {}, { fileBytes: 599 });
    expect([small.files.size, [...small.left.keys()]]).toEqual([12, ["z"]]);
    const total = await run(code, {}, { totalBytes: 1_000 });
    expect(total.files.size).toBe(10);
    expect(total.left.size).toBe(3);
  });

  it("more names than anybody wants to read do not hold it up", async () => {
    const outputs = await run(
      'for (let i = 0; i < 3_000; i++) fs.closeSync(fs.openSync(`n${i}`, "w"))',
      {},
      { files: 10 },
    );
    expect(outputs.files.size).toBe(10);
    expect(outputs.left.size).toBeGreaterThan(0);
  });
}
