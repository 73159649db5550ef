import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { startGuest } from "../../../testing/driven-guest.ts";
import { RUNTIMES } from "./config.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };
const BOUNDS = { files: 100, fileBytes: 1024 * 1024, totalBytes: 4 * 1024 * 1024 };

describeNeeding(["docker", "runsc"], "a container's work area", () => {
  const provider = createDockerProvider({ ...engine, warm: 1 });
  afterAll(() => provider.close());

  const collect = async (code: string, lease: Parameters<typeof startGuest>[1]["lease"] = {}) => {
    const guest = await startGuest(provider, { code, lease });
    const outcome = await guest.running.outcome;
    const left: (readonly [string, string])[] = [];
    const files: Record<string, string> = {};
    const bounds = { ...BOUNDS, onLeft: (name: string, reason: string) => void left.push([name, reason]) };
    for await (const file of guest.lease.outputs(bounds)) {
      const pieces: Buffer[] = [];
      for await (const piece of file.content()) pieces.push(piece);
      const content = Buffer.concat(pieces);
      expect(content.length).toBe(file.size);
      files[file.path] = content.length > 1000 ? `${content.length} bytes` : content.toString();
    }
    await guest.lease.release();
    return { outcome, files, left };
  };

  it.each(RUNTIMES)("takes files in and gives back what was made or changed, under %s", async (runtime) => {
    const { outcome, files } = await collect(
      `const fs = require("fs");
       fs.mkdirSync("deep/er", { recursive: true });
       fs.writeFileSync("deep/er/new.txt", "new");
       fs.writeFileSync("changed.txt", fs.readFileSync("changed.txt", "utf8").toUpperCase());
       fs.writeFileSync("big.bin", Buffer.alloc(700_000, 1));
       fs.writeFileSync("with a \\n newline", "odd");
       return fs.readFileSync("kept.txt", "utf8") + process.cwd();`,
      {
        config: { runtime },
        files: [
          { path: "kept.txt", content: Buffer.from("kept") },
          { path: "changed.txt", content: Buffer.from("before") },
        ],
      },
    );
    expect(outcome).toEqual({ kind: "returned", output: '"kept/work"' });
    expect(files).toEqual({
      "deep/er/new.txt": "new",
      "changed.txt": "BEFORE",
      "big.bin": "700000 bytes",
      "with a \n newline": "odd",
    });
  });

  it("gives the files of a program that was killed with its daemons", async () => {
    const { outcome, files } = await collect(
      `require("fs").writeFileSync("a", "made");
       require("child_process").spawn("sh", ["-c", "trap '' TERM HUP INT; while :; do echo more >> b; done"],
         { detached: true, stdio: "ignore" }).unref();
       throw new Error("over");`,
    );
    expect(outcome).toMatchObject({ kind: "failed", failure: { code: "GUEST_ERROR" } });
    expect(files["a"]).toBe("made");
  });

  it("never follows a link, opens a FIFO, or reads a sparse file that is too large", async () => {
    const { files, left } = await collect(
      `const fs = require("fs"); const { execFileSync } = require("child_process");
       fs.symlinkSync("/etc/passwd", "link");
       fs.symlinkSync("/", "root");
       execFileSync("mkfifo", ["fifo"]);
       fs.truncateSync(fs.openSync("sparse", "w") && "sparse", 2 ** 40);
       fs.writeFileSync("closed", "x", { mode: 0 });
       fs.writeFileSync(Buffer.from([0x66, 0xff]), "x");
       fs.writeFileSync("honest", "yes");
       fs.writeFileSync("one", "x");
       fs.linkSync("one", "other");`,
    );
    expect(files).toEqual({ honest: "yes" });
    expect(Object.fromEntries(left)).toEqual({
      link: "it is a link",
      root: "it is a link",
      fifo: "it is a FIFO",
      sparse: "it has more than 1048576 bytes",
      closed: "it cannot be read",
      one: "it has other names",
      other: "it has other names",
      "f\uFFFD": "its name is not UTF-8",
    });
  });

  it("keeps its bounds of files and bytes, and names what is beyond them", async () => {
    const { files, left } = await collect(
      `const fs = require("fs");
       for (let i = 0; i < 6; i++) fs.writeFileSync("m" + i, Buffer.alloc(1024 * 1024 - 1));
       for (let i = 0; i < 120; i++) fs.writeFileSync("s" + i, "");`,
    );
    expect(Object.keys(files)).toHaveLength(100);
    expect(left.filter(([name]) => name.startsWith("m"))).toHaveLength(2);
    expect(left.filter(([name]) => name.startsWith("s"))).toHaveLength(24);
  });

  it("has a copy of each layer, which no other task sees changed, and gives none of it back", async () => {
    const source = await mkdtemp(path.join(tmpdir(), "airlock-layer-"));
    await mkdir(path.join(source, "lib"));
    await writeFile(path.join(source, "lib/index.js"), "module.exports = 7");
    await symlink("lib/index.js", path.join(source, "main.js"));
    try {
      const lease = { layers: [{ source, target: "/work/node_modules/dep" }] };
      const code = `const was = require("./node_modules/dep/main.js");
        require("fs").writeFileSync("node_modules/dep/lib/index.js", "module.exports = 8"); return was;`;
      for (let i = 0; i < 2; i++) {
        const { outcome, files } = await collect(code, lease);
        expect(outcome).toEqual({ kind: "returned", output: "7" });
        expect(Object.keys(files)).toEqual(["node_modules/dep/lib/index.js"]);
      }
    } finally {
      await rm(source, { recursive: true });
    }
  });

  it("ends a guest that fills it, and its inodes, with its own failure", async () => {
    const { outcome } = await runProgram(provider, {
      code: `const fs = require("fs"); try { for (let i = 0; ; i++) fs.writeFileSync("f" + i, ""); } catch (e) { return e.code }`,
    });
    expect(outcome).toEqual({ kind: "returned", output: '"ENOSPC"' });
  });
});
