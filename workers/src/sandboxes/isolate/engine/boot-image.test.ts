import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { evaluate, makeTestEngine } from "../../../../testing/engine.ts";

const PRINTER = path.resolve(import.meta.dirname, "../../../../testing/print-boot-image.ts");
const run = promisify(execFile);

async function hashIn(cwd: string, env: Record<string, string>): Promise<string> {
  return (await run(process.execPath, [PRINTER], { cwd, env })).stdout;
}

it("two builds of the boot image are the same, byte for byte", () => {
  const [one, two] = [makeTestEngine(), makeTestEngine()];
  expect(one.bytes.equals(two.bytes)).toBe(true);
  expect(two.image).toEqual({ ...one.image, bytes: expect.anything() as unknown });
});

it("neither the place nor the time zone nor the environment gets into the boot image", async () => {
  const here = await hashIn("/", { TZ: "UTC" });
  expect(here).toMatch(/^[0-9a-f]{64}$/);
  expect(await hashIn("/tmp", { TZ: "Asia/Tokyo", LANG: "tr_TR.UTF-8", AIRLOCK_ANY: "x".repeat(1000) })).toBe(here);
});

it("a machine made from the image begins where the image was taken, without running the glue again", () => {
  const engine = makeTestEngine();
  const machine = engine.newMachine();
  machine.reset();
  expect(engine.bytes.equals(machine.bytes)).toBe(true);
  expect(evaluate(machine, "[typeof console.log, typeof URL, typeof structuredClone].join()")).toBe(
    "function,function,function",
  );
});

it("tells a guest nothing of the glue's source", () => {
  const machine = makeTestEngine().newMachine();
  machine.reset();
  expect(evaluate(machine, "console.log.toString() + setTimeout.toString()")).not.toMatch(/emit|heap|floats/);
});
