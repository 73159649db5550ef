import { beforeAll, describe, expect, it } from "vitest";
import { evaluate, makeTestEngine, type TestEngine } from "../../../../testing/engine.ts";

const USES = [
  "globalThis.left = 'x'.repeat(1e5); Object.prototype.left = 1; 'done'",
  "new URL('http://a.b/c?d=1').searchParams.append('e', 'f'); 'done'",
  "structuredClone(new Map([[1, new Date(0)]])); new TextDecoder().decode(new TextEncoder().encode('é')); 'done'",
  "(function deep(n) { return n === 0 ? 'done' : deep(n - 1) })(1000)",
  "void Promise.reject(1); setTimeout(() => {}, 1); throw 'done'",
];

let engine: TestEngine;
beforeAll(() => {
  engine = makeTestEngine();
});

describe("a machine that was used", () => {
  it("is the boot image again after a reset, every byte and the stack pointer", () => {
    const machine = engine.newMachine();
    for (const source of USES) {
      machine.reset();
      expect(evaluate(machine, source)).toBe("done");
      expect(engine.bytes.equals(machine.bytes)).toBe(false);
      machine.engine.__stack_pointer.value -= 4096;
      machine.reset();
      expect(engine.bytes.equals(machine.bytes)).toBe(true);
      expect(machine.engine.__stack_pointer.value).toBe(engine.image.stackPointer);
    }
  });

  it("is the boot image again even where every single byte was overwritten", () => {
    const machine = engine.newMachine();
    machine.bytes.fill(0xa5);
    machine.reset();
    expect(engine.bytes.equals(machine.bytes)).toBe(true);
    expect(evaluate(machine, "1 + 1")).toBe("2");
  });

  it("has the function table that it had: nothing in it is reset, so nothing in it may change", () => {
    const machine = engine.newMachine();
    const table = machine.engine.__indirect_function_table as unknown as { length: number; get(at: number): unknown };
    const entries = () => Array.from({ length: table.length }, (_, at) => table.get(at));
    const before = entries();
    for (const source of USES) {
      machine.reset();
      evaluate(machine, source);
    }
    const after = entries();
    expect(after).toHaveLength(before.length);
    expect(after.filter((entry, at) => entry !== before[at])).toEqual([]);
  });

  it("gives every guest the same answers as a new one", () => {
    const [used, fresh] = [engine.newMachine(), engine.newMachine()];
    for (const source of USES) {
      used.reset();
      evaluate(used, source);
    }
    used.reset();
    fresh.reset();
    const source = "Reflect.ownKeys(globalThis).map(String).join() + typeof left + ({}).left";
    expect(evaluate(used, source)).toBe(evaluate(fresh, source));
    expect(Buffer.from(used.bytes).equals(fresh.bytes)).toBe(true);
  });

  it("tells nobody of what the engine still asks: between guests it has no ears", () => {
    const machine = engine.newMachine();
    machine.reset();
    expect(() => machine.hooks.interrupt()).toThrow("without a guest");
  });
});

describe("a machine that grew", () => {
  it("refuses a reset: its memory is larger than the image, and never shrinks", () => {
    const machine = engine.newMachine();
    machine.reset();
    expect(machine.grown).toBe(false);
    expect(evaluate(machine, "globalThis.held = new Uint8Array(64e6).fill(1); String(held.length)")).toBe("64000000");
    expect(machine.grown).toBe(true);
    expect(machine.memoryBytes).toBeGreaterThan(engine.bytes.length);
    expect(() => machine.reset()).toThrow("grew");
  });
});
