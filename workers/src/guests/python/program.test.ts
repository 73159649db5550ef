import { describeNeeding } from "@airlock/shared/testing";
import { describe, expect, it } from "vitest";
import { pythonValue, runPython } from "../../../testing/python-agent.ts";

describeNeeding("python", "a Python program", () => {
  describe("is the body of a function with the names of a module", () => {
    it.each<[string, string, unknown]>([
      [
        "returns a value",
        "return [1, 'é😀', None, True, 1.5, {'b': 1, 'a': (2,)}]",
        [1, "é😀", null, true, 1.5, { b: 1, a: [2] }],
      ],
      ["returns nothing", "x = 1", undefined],
      ["a lone surrogate", "return 'a\\ud800b\\0'", "a\ud800b\0"],
      ["a nested function that recurses", "def f(n):\n  return 1 if n < 2 else n * f(n - 1)\nreturn f(5)", 120],
      ["global", "n: int = 0\ndef f():\n  global n\n  n += 1\nf(); f()\nreturn n", 2],
      ["nonlocal", "n = 0\ndef f():\n  nonlocal n\n  n += 1\nf(); f()\nreturn n", 2],
      [
        "a comprehension that sees top-level names",
        "k = 2\nclass A:\n  v = k\nreturn [[k * i for i in range(3)], A.v, k]",
        [[0, 2, 4], 2, 2],
      ],
      ["annotated names in blocks", "for i in range(2):\n  if i:\n    x: int = i\n  y: str\nreturn x", 1],
      [
        "imports of all kinds",
        "from __future__ import annotations\nimport os.path as p\nfrom math import *\ndef f(): return pi\nreturn [p.join('a', 'b'), f() > 3]",
        ["a/b", true],
      ],
      [
        "a text over lines, indented or not",
        'def f():\n  return """a\n b\nc"""\nreturn [f(), """\n  x"""]',
        ["a\n b\nc", "\n  x"],
      ],
      [
        "decorators and docstrings",
        '"""About."""\nimport functools\n@functools.lru_cache\ndef f(): \n  "doc"\n  return 1\nreturn [f(), f.__doc__]',
        [1, "doc"],
      ],
      ["pickled classes", "import pickle\nclass A:\n  pass\nreturn type(pickle.loads(pickle.dumps(A()))) is A", true],
      ["a script's own guard", "if __name__ == '__main__':\n  return 7", 7],
      ["a byte order mark and \\r\\n", "\ufeffx = 1\r\nreturn x", 1],
      [
        "named and typed data",
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import get_type_hints\n@dataclass\nclass A:\n  next: A | None = None\n  n: int = 1\nreturn [A().n, sorted(A.__dataclass_fields__)]",
        [1, ["n", "next"]],
      ],
      ["its own source", "import inspect\ndef f():\n  return 1\nreturn inspect.getsource(f)", "def f():\n  return 1\n"],
    ])("%s", async (_, code, value) => {
      expect(await pythonValue(code)).toEqual(value);
    });

    it("sees its input, also null and none", async () => {
      expect(await pythonValue("return input", { input: '{"a":[1,"\\ud800"],"__proto__":{}}' })).toEqual(
        JSON.parse('{"a":[1,"\\ud800"],"__proto__":{}}'),
      );
      expect(await pythonValue("return input is None", { input: null })).toBe(true);
      expect(await pythonValue("return input is None", { input: "null" })).toBe(true);
    });

    it("takes 10 MB of input", async () => {
      const input = JSON.stringify("é".repeat(1_700_000));
      expect(await pythonValue("return len(input)", { input })).toBe(1_700_000);
    });
  });

  describe("fails with a code", () => {
    it.each<[string, string, RegExp]>([
      ["an error", "def f():\n\n  raise KeyError('boom')\nf()", /^KeyError: 'boom'$/],
      [
        "an error in a coroutine",
        "import asyncio\nasync def f():\n  raise ValueError('late')\nawait asyncio.gather(f())",
        /^ValueError: late$/,
      ],
      ["a misspelt name", "x = 1\n\nmissing()", /^NameError: .*missing/],
      ["a syntax error", "x = 1\n\ny = = 2", /^SyntaxError: .*line 3/],
      ["yield", "x = 1\n\nyield 2", /^SyntaxError: 'yield' outside function/],
      [
        "a thread that dies",
        "import threading\ndef f():\n  raise OSError('gone')\nt = threading.Thread(target=f); t.start(); t.join()",
        /a thread died: OSError: gone/,
      ],
      ["endless recursion", "def f():\n\n  return f()\nf()", /^RecursionError/],
    ])("%s, at the author's own line", async (_, code, message) => {
      const { end } = await runPython(code);
      expect(end).toMatchObject({
        kind: "failed",
        code: "GUEST_ERROR",
        message: expect.stringMatching(message) as string,
      });
      expect(end?.kind === "failed" && end.stack).toMatch(/File "task\.py", line 3\b/);
      expect(end?.kind === "failed" && end.stack).not.toMatch(/agent\.py|File ".*asyncio/);
    });

    it.each<[string, string, string, RegExp]>([
      ["a set", "return {1}", "GUEST_ERROR", /type set is not JSON/],
      ["a date in a list", "import datetime\nreturn [datetime.date.today()]", "GUEST_ERROR", /type date is not JSON/],
      ["NaN", "return float('nan')", "GUEST_ERROR", /not JSON/],
      ["a cycle", "a = []\na.append(a)\nreturn a", "GUEST_ERROR", /Circular/],
      ["no memory", "raise MemoryError", "OUT_OF_MEMORY", /memory/],
      ["an interrupt", "raise KeyboardInterrupt", "GUEST_ERROR", /^KeyboardInterrupt$/],
      ["a null byte", "x = '\0'", "GUEST_ERROR", /null byte/],
      ["a surrogate in the code", "x = '\ud800'", "GUEST_ERROR", /surrogate/],
      [
        "an error that cannot be told",
        "class E(Exception):\n  def __str__(self): raise E\nraise E",
        "GUEST_ERROR",
        /cannot be told/,
      ],
      ["an event that nobody sets", "import threading\nthreading.Event().wait()", "GUEST_ERROR", /nothing can give it/],
      [
        "a future that nobody resolves",
        "import asyncio\nawait asyncio.get_running_loop().create_future()",
        "GUEST_ERROR",
        /nothing can give it/,
      ],
    ])("%s", async (_, code, error, message) => {
      const { end } = await runPython(code);
      expect(end).toMatchObject({ kind: "failed", code: error, message: expect.stringMatching(message) as string });
    });

    it.each<[string, string, number]>([
      ["sys.exit()", "import sys; sys.exit()", 0],
      ["sys.exit(3)", "import sys; sys.exit(3)", 3],
      ["sys.exit with words", "import sys; sys.exit('why')", 1],
      ["os._exit(4)", "import os; print('x', end=''); os._exit(4)", 4],
      ["exit in a coroutine", "import sys, asyncio\nawait asyncio.sleep(0)\nsys.exit(5)", 5],
    ])("%s has its exit code", async (_, code, exitCode) => {
      const ran = await runPython(code);
      expect(ran.end).toMatchObject({ kind: exitCode === 0 ? "returned" : "failed", exitCode });
      expect(ran.exitCode).toBe(exitCode);
    });
  });

  it("chained errors are told with their causes", async () => {
    const { end } = await runPython("try:\n  1 / 0\nexcept Exception as e:\n  raise ValueError('no') from e");
    expect(end?.kind === "failed" && end.stack).toMatch(/ZeroDivisionError[^]*direct cause[^]*ValueError: no$/);
  });

  it("waits for its threads, and runs what it left for its exit", async () => {
    const code = `import threading, time, atexit
atexit.register(print, "exit")
def f():
  time.sleep(0.01); print("thread")
threading.Thread(target=f).start()
return 1`;
    expect(await runPython(code)).toMatchObject({ end: { output: "1" }, stdout: "thread\nexit\n" });
  });
});
