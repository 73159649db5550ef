import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { describeNeeding } from "@airlock/shared/testing";
import { describe, expect, it } from "vitest";
import { echo, PythonAgent, pythonValue, runPython } from "../../../testing/python-agent.ts";

describeNeeding("python", "output of a Python program", () => {
  it("keeps its order over both streams and around calls", async () => {
    const code = `import sys
print("1"); print("2", file=sys.stderr); sys.stdout.write("3"); sys.stderr.write("4"); tools.x.y(); sys.stdout.buffer.write(b"5\\xff"); print("6")`;
    const { said } = await runPython(code, { answer: echo });
    const seen = said.filter(([kind]) => kind === "out" || kind === "call").map(([, a, b]) => [a, b]);
    expect(seen).toEqual([
      [1, "1\n"],
      [2, "2\n"],
      [1, "3"],
      [2, "4"],
      [1, "x.y"],
      [1, "5\ufffd6\n"],
    ]);
  });

  it("carries emoji, NUL and surrogates, alone and in pairs", async () => {
    const { stdout } = await runPython(`print("a\\0\u{1f600}\\ud800b\\ud83d\\ude00\\ufeff")`);
    expect(stdout).toBe("a\0\u{1f600}\ufffdb\u{1f600}\ufeff\n");
  });

  it("100 MB are there in full, in small pieces", async () => {
    const { said, stdout } = await runPython("for _ in range(100): print('é' * 500000)");
    expect(stdout.length).toBe(100 * 500_001);
    expect(Math.max(...said.map(([, , text]) => (typeof text === "string" ? text.length : 0)))).toBeLessThanOrEqual(
      65_536,
    );
  });

  it("is there when the program spins right after it", async () => {
    const guest = new PythonAgent("print('now')\nsum(range(10 ** 12))");
    expect(await guest.next("out")).toEqual(["out", 1, "now\n"]);
    guest.kill();
    expect(await guest.ended()).toMatchObject({ end: null, signal: "SIGKILL" });
  });

  it("of child processes and of descriptors comes past the agent; a fork has no channel and no tools", async () => {
    const code = `import os, subprocess
os.write(1, b"raw\\n"); subprocess.run(["echo", "child"])
if os.fork() == 0:
  try: tools.x.y()
  except RuntimeError: print("fork")
  os._exit(0)
os.wait(); print("parent")`;
    const ran = await runPython(code);
    expect(ran).toMatchObject({ raw: "raw\nchild\nfork\n", stdout: "parent\n", end: { kind: "returned" } });
  });
});

describeNeeding("python", "a hostile Python program", () => {
  describe("gets on with its calls and its end after it has", () => {
    it.each([
      ["closed small descriptors", "import os\nfor fd in range(11):\n  try: os.close(fd)\n  except OSError: pass"],
      [
        "replaced builtins",
        "import builtins\nfor n in list(vars(builtins)):\n  if not n.startswith('_') and n not in ('setattr', 'None', 'print'): setattr(builtins, n, None)",
      ],
      [
        "replaced json, time and os",
        "import json, time, os\nfor m in (json, time, os):\n  for n in list(vars(m)):\n    if not n.startswith('__'): setattr(m, n, None)",
      ],
      [
        "emptied sys.modules",
        "import sys\nfor n in list(sys.modules):\n  if n not in ('sys', 'builtins', 'encodings', 'encodings.utf_8'): del sys.modules[n]",
      ],
      ["taken its output away", "import sys\nsys.stdout.close(); sys.stderr = None"],
      [
        "caught a recursion at its limit",
        "def f():\n  try: tools.x.y()\n  except RecursionError: pass\n  f()\ntry: f()\nexcept RecursionError: pass",
      ],
      ["set a low limit", "import sys\nsys.setrecursionlimit(120)"],
      [
        "written to where its channel was",
        "import os\nfor fd in range(3, 12):\n  try: os.write(fd, b'[]')\n  except OSError: pass",
      ],
    ])("%s", async (_, code) => {
      expect(await pythonValue(`${code}\nreturn tools.x.y(a=1)`, { answer: echo })).toEqual({ a: 1 });
    });
  });

  it.each([
    ["kills itself", "import os\nos.kill(os.getpid(), 9)"],
    ["replaces itself", "import os\nos.execv('/bin/true', ['true'])"],
  ])("one that %s is seen to have ended without a word", async (_, code) => {
    const ran = await runPython(code);
    expect(ran.end).toBeNull();
  });

  it("finds nothing of the agent in its main module, its arguments or its search path", async () => {
    const code =
      "import sys, __main__\nreturn [sys.argv, hasattr(__main__, 'Channel'), any('guests' in p for p in sys.path)]";
    expect(await pythonValue(code)).toEqual([["task.py"], false, false]);
  });
});

describeNeeding("python", "a Python agent that is told by files", () => {
  it("takes them in the order of their numbers, as they come", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "airlock-in-"));
    const agent = path.join(import.meta.dirname, "agent.py");
    const child = spawn("python3", [agent, "--in-dir", folder, "--out", "3"], {
      env: { PATH: process.env["PATH"], PYTHONHASHSEED: "0" },
      stdio: ["ignore", "inherit", "inherit", "pipe"],
    });
    try {
      let number = 0;
      const put = (message: unknown) => {
        const name = path.join(folder, String(++number).padStart(6, "0"));
        writeFileSync(name, JSON.stringify(message));
        renameSync(name, `${name}.json`);
      };
      const code = "return [tools.x.a(), tools.x.b()]";
      put(["start", { code, input: null, seed: "00", clockStart: 0, live: true }]);
      let text = "";
      for await (const piece of child.stdio[3] as AsyncIterable<Buffer>) {
        const before = text.split('"call"').length;
        text += piece.toString();
        for (let id = before; id < text.split('"call"').length; id++) {
          put(["settle", id, 0, JSON.stringify({ id, ok: true, value: id, meta: {} })]);
        }
      }
      expect(text).toContain('"output":"[1,2]"');
    } finally {
      if (child.exitCode === null) await once(child, "close");
      rmSync(folder, { recursive: true });
    }
  });
});
