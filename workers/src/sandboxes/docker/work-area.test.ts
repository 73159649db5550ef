import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DEFAULT_SANDBOX_LIMITS } from "@airlock/shared/domain";
import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, describe, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { leaseRequest } from "../../../testing/lease-request.ts";
import { startGuest } from "../../../testing/driven-guest.ts";
import { RUNTIMES } from "./config.ts";
import { hostileWorkArea } from "../conformance/hostile-work-area.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };
const MIB = 1024 * 1024;
const BOUNDS = { files: 100, fileBytes: 1024 * 1024, totalBytes: 4 * 1024 * 1024 };

describeNeeding(["docker", "runsc"], "a container's work area", () => {
  const provider = createDockerProvider({ ...engine, warm: 1 });
  afterAll(() => provider.close());

  describe("of hostile programs", () => hostileWorkArea(provider));

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

  it.each(RUNTIMES)("packages are read-only, no output, and take no room of it, under %s", async (runtime) => {
    const source = await mkdtemp(path.join(tmpdir(), "airlock-layer-"));
    await mkdir(path.join(source, "dep/lib"), { recursive: true });
    await writeFile(path.join(source, "dep/lib/index.js"), "module.exports = 7");
    await writeFile(path.join(source, "dep/large"), Buffer.alloc(3 * MIB));
    await symlink("lib/index.js", path.join(source, "dep/index.js"));
    const layers = [{ source, target: "/work/node_modules" }];
    const limits = { ...DEFAULT_SANDBOX_LIMITS, diskBytes: MIB };
    const code = `const fs = require("fs");
      const refused = ["writeFileSync", "rmSync", "unlinkSync", "chmodSync"].map((how) => {
        try { fs[how]("node_modules/dep/lib/index.js", how === "chmodSync" ? 0o777 : "8") } catch (e) { return e.code } });
      return [require("dep"), require.resolve("dep").includes("/node_modules/"), refused.every(Boolean)];`;
    try {
      const { outcome, files, left } = await collect(code, { layers, limits, config: { runtime } });
      expect(outcome).toEqual({ kind: "returned", output: "[7,true,true]" });
      expect([files, left]).toEqual([{}, []]);
    } finally {
      await rm(source, { recursive: true });
    }
  });

  it("packages that do not fit are a failure of their own, which no other try can mend", async () => {
    const source = await mkdtemp(path.join(tmpdir(), "airlock-layer-"));
    await writeFile(path.join(source, "large"), Buffer.alloc(80 * MIB));
    const limits = { ...DEFAULT_SANDBOX_LIMITS, memoryBytes: 128 * MIB };
    const asked = provider.acquire(leaseRequest({ layers: [{ source, target: "/work/node_modules" }], limits }));
    await expect(asked).rejects.toMatchObject({ name: "LeaseError", code: "PROVISION_FAILED" });
    await rm(source, { recursive: true });
  });

  it("a file whose path is too long to be opened is left, and those after it are whole", async () => {
    const { files, left } = await collect(
      `const fs = require("fs"); const top = process.cwd();
       for (let i = 0; i < 30; i++) { fs.mkdirSync("d".repeat(150)); process.chdir("d".repeat(150)); }
       fs.writeFileSync("bottom", "never seen"); process.chdir(top); fs.writeFileSync("e", "whole"); fs.writeFileSync("f", "too");`,
    );
    expect(files).toEqual({ e: "whole", f: "too" });
    expect(left.map(([name, reason]) => [name.length, reason])).toEqual([[4536, "its path is too long to be opened"]]);
  });

  it("ends a guest that fills it, and its inodes, with its own failure", async () => {
    const { outcome } = await runProgram(provider, {
      code: `const fs = require("fs"); try { for (let i = 0; ; i++) fs.writeFileSync("f" + i, ""); } catch (e) { return e.code }`,
    });
    expect(outcome).toEqual({ kind: "returned", output: '"ENOSPC"' });
  });
});
